/* meter: what the processes of this cell use, held against its limits. */
#ifndef CELL_METER_H
#define CELL_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "cell/ledger.h"
#include "cell/relief.h"
#include "launch/launch.h"

struct meter {
	const struct launch_start *start;
	struct launch_usage now;  /* of the last look */
	struct launch_usage peak; /* since the worker began */
	struct launch_usage told; /* of peak, as usage_news() gave it */
	uint64_t cpu_before_ms;   /* of the cell's time: before this worker */
	uint64_t cpu_ms;          /* of the cell, never less than it was */
	uint64_t stored;          /* bytes of the profile */
	struct relief relief;
	int group_time;       /* cpu.stat of the cell's own control group; -1 */
	struct ledger ledger; /* without such a group */
	int64_t looked_ms;    /* the last look, or the begin */
	int64_t due_ms;       /* the next look; 0: none */
	unsigned int looks;
};

/*
 * A cell without a browser is not looked at. START stays the caller's. Opens
 * what is read later.
 */
void meter_init(struct meter *, const struct launch_start *, int64_t now_ms);
/* Another worker begins, with its own time. */
void meter_begin(struct meter *);
/* Milliseconds until the next look, 0 when it is due, -1: never. */
int meter_wait(const struct meter *, int64_t now_ms);
/*
 * Looks, and sets the time of the next. Close to the limit on memory it ends the
 * renderer that holds most. True when a limit is passed all the same: it is the
 * first of them in ret_breach.
 */
bool
meter_look(struct meter *, int64_t now_ms, struct launch_breach *ret_breach);
/* Whether what was used has become notably more since this last said so. */
bool meter_news(struct meter *, struct launch_usage *ret_usage);

#endif
