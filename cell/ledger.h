/*
 * ledger: the processor time of processes that are looked at from time to time,
 * with that of those that end in between and that nobody waits for.
 */
#ifndef CELL_LEDGER_H
#define CELL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cell/proc.h"

struct ledger_row;

struct ledger {
	struct ledger_row *now, *before; /* by pid */
	size_t nnow, nbefore, room_now, room_before;
	uint64_t step;    /* ticks since the look before */
	uint64_t machine; /* ticks since the machine started */
	int64_t balance;  /* what has ended without being waited for */
	uint64_t lost;    /* the most that it ever was */
	bool hidden;      /* short-lived ones have ended since the last look */
};

void ledger_free(struct ledger *);
/* A look begins: ticks since the look before, and since the machine started. */
void ledger_begin(struct ledger *, uint64_t step, uint64_t machine);
/*
 * A process that is there; pids must rise. Without memory it is not counted
 * when it has ended.
 */
void ledger_add(struct ledger *, uint32_t pid, const struct proc_use *);
/* The look ends: ticks of all that are and were there, as far as is known. */
uint64_t ledger_end(struct ledger *);

#endif
