/* damping: how often a program that ends may be started again. */
#ifndef LAUNCHER_DAMPING_H
#define LAUNCHER_DAMPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAMPING_STARTS 5     /* at most, */
#define DAMPING_MS     10000 /* in that time, */
#define DAMPING_GAP_MS 1000  /* and that long after the one before */

/* All zero at first. */
struct damping {
	int64_t starts_ms[DAMPING_STARTS]; /* ring of the last ones */
	size_t n;
};

/* When the next start may be, 0 for at once; -1: it ends too often. */
int64_t damping_due_ms(const struct damping *, int64_t now_ms);
/*
 * Whether a start at that time is the last one there can be: after it the
 * program may not end soon.
 */
bool damping_is_last(const struct damping *, int64_t now_ms);
void damping_started(struct damping *, int64_t now_ms);

#endif
