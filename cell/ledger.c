/*
 * ledger: processor time over looks. Runs in the cell. Pure.
 *
 * What a process used goes to the one that waits for it. Where nobody does, by
 * ignoring the signal, it is lost with its end; so that is kept here, as far as
 * it was seen. A process that was seen only once stands for all that came and
 * went unseen since the look before: when it was running it counts as if it had
 * run all that time, which is what they all used, on the average. Since looks
 * are not at regular times, none can keep out of their way.
 */
#include <stdlib.h>
#include <sys/param.h>

#include "cell/ledger.h"

#define ROOM_FIRST 256
#define ROOM_MAX   65536

struct ledger_row {
	uint32_t pid;
	bool fresh; /* it was not there at the look before */
	bool running;
	uint64_t started;
	uint64_t ticks, waited;
	uint64_t step, age; /* at the look at which it was fresh */
};

void
ledger_free(struct ledger *l)
{
	free(l->now);
	free(l->before);
	*l = (struct ledger){ 0 };
}

void
ledger_begin(struct ledger *l, uint64_t step, uint64_t machine)
{
	struct ledger_row *rows = l->before;
	size_t room = l->room_before;

	l->before = l->now;
	l->nbefore = l->nnow;
	l->room_before = l->room_now;
	l->now = rows;
	l->nnow = 0;
	l->room_now = room;
	l->step = step;
	l->machine = machine;
}

static bool
ledger_grow(struct ledger *l)
{
	size_t room = MAX(l->room_now * 2, ROOM_FIRST);
	struct ledger_row *rows;

	if (l->nnow < l->room_now)
		return true;
	if (room > ROOM_MAX)
		return false;
	rows = reallocarray(l->now, room, sizeof(*rows));
	if (rows == NULL)
		return false;
	l->now = rows;
	l->room_now = room;
	return true;
}

void
ledger_add(struct ledger *l, uint32_t pid, const struct proc_use *use)
{
	if (!ledger_grow(l))
		return;
	l->now[l->nnow++] = (struct ledger_row){
		.pid = pid,
		.running = use->running,
		.started = use->started,
		.ticks = use->ticks,
		.waited = use->waited,
		.step = l->step,
		.age = l->machine - MIN(use->started, l->machine),
	};
}

/* What one that has ended had used, or stood for. */
static uint64_t
row_worth(const struct ledger_row *r)
{
	uint64_t stands = r->ticks;

	if (r->fresh && r->running)
		stands = r->step;
	else if (r->fresh && r->age > 0)
		stands = r->ticks * r->step / r->age;
	return MAX(stands, r->ticks) + r->waited;
}

/* The row of the same process at the look before, and those that ended. */
static const struct ledger_row *
ledger_before(struct ledger *l, const struct ledger_row *r, size_t *at)
{
	for (; *at < l->nbefore; (*at)++) {
		const struct ledger_row *old = &l->before[*at];

		if (r != NULL && old->pid > r->pid)
			return NULL;
		if (r != NULL && old->pid == r->pid &&
		    old->started == r->started) {
			(*at)++;
			return old;
		}
		l->balance += (int64_t)row_worth(old);
		l->hidden = l->hidden || old->fresh;
	}
	return NULL;
}

uint64_t
ledger_end(struct ledger *l)
{
	uint64_t sum = 0;
	size_t at = 0;

	l->hidden = false;
	for (size_t i = 0; i < l->nnow; i++) {
		struct ledger_row *r = &l->now[i];
		const struct ledger_row *old = ledger_before(l, r, &at);
		uint64_t known = old == NULL ? 0 : MIN(old->waited, r->waited);

		r->fresh = old == NULL;
		l->balance -= (int64_t)(r->waited - known);
		sum += r->ticks + r->waited;
	}
	ledger_before(l, NULL, &at);
	if (l->balance > 0)
		l->lost = MAX(l->lost, (uint64_t)l->balance);
	return sum + l->lost;
}
