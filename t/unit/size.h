/*
 * size: how much a test tries, and what it measured. `make check` takes the fast
 * sizes, `make check-full` sets CHECK_SIZE=full. BrowserTask::Size is the same
 * for Perl; t/promises.pl collects what both say.
 */
#ifndef T_UNIT_SIZE_H
#define T_UNIT_SIZE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of two counts, noted so that a reader sees what was tried. */
static inline long
sized(const char *what, long fast, long full)
{
	const char *size = getenv("CHECK_SIZE");
	long count = size != NULL && strcmp(size, "full") == 0 ? full : fast;

	printf("# size: %s: %ld\n", what, count);
	return count;
}

/* What was measured or counted, in words: printf's arguments. */
#define figure(...) (printf("# figure: " __VA_ARGS__), putchar('\n'))

#endif
