/*
 * completion: what may stand where on the command line of browsertaskctl, as
 * its tables say, for the scripts of shells.
 */
#ifndef CTL_COMPLETION_H
#define CTL_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "ctl/commands.h"

#define PLACE_WORDS 8
#define VALUE_BYTES 512

/* The arguments of a command. */
struct place {
	char words[PLACE_WORDS][24]; /* to be written as they are */
	char below[PLACE_WORDS][24]; /* the kinds that follow each word */
	size_t nwords;
	char kind[24]; /* RUN, TEMPLATE, SESSION, FILE, DIR or "" */
};

void place_read(struct place *, const struct command *);
/* The words an option's value may be, parted by spaces; "" when any will do. */
void value_words(const struct option_row *, char ret_words[VALUE_BYTES]);
/* RUN, TEMPLATE, SESSION, FILE, DIR, or ANY. */
const char *value_kind(const struct option_row *);

/* Print the scripts. */
void completion_bash(void);
void completion_zsh(void);

#endif
