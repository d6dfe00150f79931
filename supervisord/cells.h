/*
 * cells: which cell a run's worker gets: the living one of its session, a spare
 * that waits for a run, or a new one; and the cells of sessions that live on
 * without a worker.
 */
#ifndef SUPERVISORD_CELLS_H
#define SUPERVISORD_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ulid.h"
#include "supervisord/worker.h"

struct cells;
struct sup;

struct cell_want {
	struct ulid session;
	bool keep;        /* the session and its profile outlive the run */
	uint32_t flags;   /* of SPAWN; with SPAWN_DESCRIBE without a browser */
	const char *name; /* the run's, for log lines; copied */
};

struct cells *cells_new(struct sup *);
void cells_free(struct cells **);

/*
 * A worker for a run: in the living cell of that session (keep only; nobody
 * else may have a worker in it), else in a spare that fits (only without keep),
 * else in a new cell, for which an idle one goes when all slots are taken.
 * NULL when memory ran out or there is no room. The callbacks come later, never
 * from within this call. For a worker in a kept cell on_reaped means that the
 * worker is gone, or the whole cell is.
 */
struct worker *worker_start(struct sup *, const struct cell_want *,
    const struct worker_ops *, void *ctx);
/* Whether that session has a living cell, with a worker or without. */
bool cells_living(struct sup *, const struct ulid *session);
/* Living cells of sessions that have no worker now. */
size_t cells_idle(const struct sup *);
/*
 * Ends the cell of that session, and its worker with it. done is called when
 * nothing of it is left: at once, when none lives. It may be NULL. There is one
 * who waits for that at a time.
 */
void cells_close(struct sup *, const struct ulid *session,
    void (*done)(void *arg), void *arg);
/*
 * Who is told when the cell of a session has ended while it had no worker and
 * nobody closed it: its browser died, a run took it along, or a new cell
 * needed its slot.
 */
void cells_on_gone(
    struct sup *, void (*gone)(struct sup *, const struct ulid *session));

#endif
