/*
 * progress: how far a run is, on standard error: one line that is drawn anew
 * on a terminal, a line per finished item elsewhere.
 */
#ifndef CTL_PROGRESS_H
#define CTL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/tape.h"

struct progress {
	bool live;   /* a terminal that may be drawn on */
	bool silent; /* where it is none, nothing is printed */
	bool color;
	bool unicode;
	bool drawn;
	int64_t begun_ms; /* monotonic, of the first sight */
	int64_t base;     /* done at first sight: not ours to time */
	int64_t done, total, failed;
	char status[32];
	char now[512]; /* what was finished last, clean */
};

void progress_init(struct progress *, bool live, bool color, bool unicode);
/* The run object: where things stand. */
void progress_take_run(struct progress *, struct json_val run, int64_t mono_ms);
/* An event of the run. */
void
progress_take_event(struct progress *, struct json_val event, int64_t mono_ms);
/* Draws the line (live), as wide as the terminal. */
void progress_draw(struct progress *, int64_t mono_ms);
/* Takes the line away, so that something else can be printed. */
void progress_erase(struct progress *);
/* The line without escapes, for tests of it and for drawing. */
void progress_line(const struct progress *, int64_t mono_ms, size_t columns,
    char *ret_line, size_t size);

#endif
