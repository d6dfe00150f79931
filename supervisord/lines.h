/*
 * lines: a bounded list of short texts of one run: its warnings, its trace.
 */
#ifndef SUPERVISORD_LINES_H
#define SUPERVISORD_LINES_H

#include <stddef.h>

#include "json/writer.h"

#define LINES_MAX   200
#define LINES_CHARS 500 /* of one line; longer ones are cut */

struct lines {
	char **list; /* LINES_MAX of them, from the first one on */
	size_t count;
};

void lines_clear(struct lines *);
/* Beyond LINES_MAX, or without memory, the line is passed over. */
void lines_add(struct lines *, const char *text);
void lines_addf(struct lines *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* An array of strings. */
void lines_write(const struct lines *, struct json_writer *);
/* Adds the strings of an array that lines_write() wrote. */
void lines_read(struct lines *, const void *json, size_t len);

#endif
