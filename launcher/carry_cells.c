/*
 * carry_cells: the cells that are handed to the program that takes this one's
 * place, and back. Runs in the launcher, while there is no supervisord.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/panic.h"
#include "launcher/cells_int.h"

static uint32_t
flags_of(const struct cell *c)
{
	uint32_t flags = 0;

	flags |= c->forget ? CARRY_FORGET : 0;
	flags |= c->killed ? CARRY_KILLED : 0;
	flags |= c->worker_ended ? CARRY_WORKER_ENDED : 0;
	flags |= c->browser_ended ? CARRY_BROWSER_ENDED : 0;
	flags |= c->over ? CARRY_OVER : 0;
	return flags;
}

static void
carry_one(const struct cell *c, struct carry_cell *to)
{
	ASSERT(c->up && !c->orphan && c->hold == CELL_LEFT);
	to->id = c->id;
	to->flags = flags_of(c);
	to->spawn = c->spawn;
	to->pid = c->run.pid;
	to->pidfd = c->run.pidfd;
	to->sock = c->run.sock;
	to->ipc = c->run.ipc;
	to->log = c->run.log;
	to->listener = c->listener;
	to->browser = c->run.browser;
	to->untold = c->untold;
	to->offers = c->offers;
	to->worker_status = c->worker_status;
	to->browser_status = c->browser_status;
	to->offered_ms = c->offered_ms;
	to->sandbox = c->sandbox;
	to->usage = c->usage;
	to->breach = c->breach;
	to->group = c->run.group;
}

void
cells_carry(const struct cells *t, struct carry *to)
{
	const struct cell *c;

	LIST_FOREACH(c, &t->list, link) {
		ASSERT(to->ncells < LAUNCH_WORKER_SLOTS);
		carry_one(c, &to->cells[to->ncells++]);
	}
}

static void
restore_one(const struct carry_cell *from, struct cell *c)
{
	c->magic = CELL_MAGIC;
	c->id = from->id;
	c->spawn = from->spawn;
	c->run.pid = from->pid;
	c->run.pidfd = from->pidfd;
	c->run.sock = from->sock;
	c->run.ipc = from->ipc;
	c->run.log = from->log;
	c->run.browser = (enum launch_browser)from->browser;
	c->run.group = from->group;
	c->listener = from->listener;
	c->forget = (from->flags & CARRY_FORGET) != 0;
	c->up = true;
	c->killed = (from->flags & CARRY_KILLED) != 0;
	c->worker_ended = (from->flags & CARRY_WORKER_ENDED) != 0;
	c->browser_ended = (from->flags & CARRY_BROWSER_ENDED) != 0;
	c->over = (from->flags & CARRY_OVER) != 0;
	c->worker_status = from->worker_status;
	c->browser_status = from->browser_status;
	c->sandbox = from->sandbox;
	c->usage = from->usage;
	c->breach = from->breach;
	c->hold = CELL_LEFT;
	c->untold = from->untold;
	c->offers = from->offers;
	c->offered_ms = from->offered_ms;
}

int
cells_restore(struct cells *t, const struct carry *from)
{
	struct cell *c;
	int error;

	for (uint32_t i = 0; i < from->ncells; i++) {
		c = calloc(1, sizeof(*c));
		if (c == NULL)
			return ENOMEM;
		c->owner = t;
		restore_one(&from->cells[i], c);
		error = cells_add(t, c);
		if (error != 0) {
			cell_free(&c);
			return error;
		}
	}
	return 0;
}
