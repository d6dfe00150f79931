/*
 * worker: one cell with its worker, from SPAWN to REAPED: the start protocol,
 * the proof of the sandbox, liveness, and the ways it can end.
 */
#ifndef SUPERVISORD_WORKER_H
#define SUPERVISORD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ulid.h"
#include "ipc/msg.h"
#include "model/errors.h"

struct sup;
struct worker;

/* Why nothing is left of the cell. */
struct worker_end {
	enum err_code code; /* ERR_NONE: ended by itself after run.end */
	char text[128];     /* for people */
};

struct worker_ops {
	/* The sandbox was seen; run.begin (or describe) may be sent. */
	void (*on_ready)(void *ctx);
	/* A permitted message that is not about the worker itself. */
	void (*on_msg)(void *ctx, const struct ipc_params *);
	/*
	 * Last call: nothing of the cell is left. The owner frees; the end
	 * goes with the worker.
	 */
	void (*on_reaped)(void *ctx, const struct worker_end *);
};

/*
 * Orders a cell. flags are those of SPAWN; with SPAWN_DESCRIBE there is no
 * browser to wait for. name is the run's, for log lines; it is copied.
 * NULL when no slot is free or memory ran out.
 */
struct worker *worker_new(struct sup *, const struct ulid *session,
    uint32_t flags, const char *name, const struct worker_ops *, void *ctx);
/*
 * Whether its browser lived before it, so that pages are open; known from
 * on_ready on.
 */
bool worker_is_takeover(const struct worker *);
/* Only after on_reaped, or when the launcher is gone. */
void worker_free(struct worker **);

/* Queues one message; false when the worker cannot be reached any more. */
bool worker_send(struct worker *, const struct ipc_params *);
/* After run.begin was sent: messages of a run are permitted from here on. */
void worker_set_running(struct worker *);
/*
 * Tells the worker to end its run and kills the cell after the grace period.
 * reason: "cancel", "timeout" or "shutdown".
 */
void worker_stop(struct worker *, const char *reason);
/* Kills the cell now; code and text become its end unless it had one. */
void worker_kill(struct worker *, enum err_code, const char *text);

#endif
