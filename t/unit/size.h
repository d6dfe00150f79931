/*
 * size: how much a test tries, and what it measured. `make check` takes the fast
 * sizes, `make check-full` sets CHECK_SIZE=full. BrowserTask::Size is the same
 * for Perl; t/promises.pl collects what both say.
 */
#ifndef T_UNIT_SIZE_H
#define T_UNIT_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static inline bool
size_is_full(void)
{
	const char *size = getenv("CHECK_SIZE");

	return size != NULL && strcmp(size, "full") == 0;
}

/*
 * What a sequence begins with, above 0, noted: SEED, to repeat one; else the
 * same at each fast run and another at each full one.
 */
static inline uint64_t
seeded(void)
{
	const char *text = getenv("SEED");
	uint32_t drawn = 0;
	uint64_t seed = 1;

	if (text != NULL)
		seed = strtoull(text, NULL, 10);
	else if (size_is_full())
		seed += getrandom(&drawn, sizeof(drawn), 0) == -1 ? 0 : drawn;
	if (seed == 0) {
		fputs("SEED is a number above 0\n", stderr);
		exit(1);
	}
	printf("# SEED=%llu\n", (unsigned long long)seed);
	return seed;
}

/* One of two counts, noted so that a reader sees what was tried. */
static inline long
sized(const char *what, long fast, long full)
{
	long count = size_is_full() ? full : fast;

	printf("# size: %s: %ld\n", what, count);
	return count;
}

/* What was measured or counted, in words: printf's arguments. */
#define figure(...) (printf("# figure: " __VA_ARGS__), putchar('\n'))

#endif
