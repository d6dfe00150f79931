/*
 * commands: the tables of browsertaskctl's commands and options, for parsing,
 * help and completion.
 */
#ifndef CTL_COMMANDS_H
#define CTL_COMMANDS_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/ctl.h"

#define BIT(id)        (UINT64_C(1) << OPT_##id)
#define COMMON_OPTIONS (BIT(HELP) | BIT(VERSION) | BIT(SOCKET) | BIT(JSON))

struct command {
	const char *name;
	enum ctl_exit (*run)(struct ctl *);
	int least, most;
	uint64_t options; /* besides the common ones */
	const char *args;
	const char *help;
};

struct option_row {
	int letter; /* 0: none */
	const char *name;
	const char *value; /* NULL: a flag */
	const char *help;
};

/* NULL behind the last one. */
const struct command *command_row(size_t i);
/*
 * By its name, or the beginning of one that no other command has. NULL when
 * there is none; after telling which when there are several.
 */
const struct command *command_find(const char *name);
const struct option_row *option_row(enum ctl_option);
/*
 * Which of the words is meant by text, likewise: the number, -1 after telling
 * that it is none of them. words ends with NULL.
 */
int
command_word(const char *command, const char *text, const char *const *words);

/* Says what is wrong with a long option that is none of the set's. */
void option_tell_unknown(const struct command *, uint64_t set, const char *arg);

/* The name of the command among the arguments; NULL when there is none. */
const char *options_command(int argc, char **argv);
/*
 * Fills in the options, those of any command when it is NULL, and the arguments
 * behind its name; false after saying what is wrong.
 */
bool options_parse(struct ctl *, const struct command *, int argc, char **argv);

/* Usage of the command, or of all (NULL). */
void help_print(const struct command *);

#endif
