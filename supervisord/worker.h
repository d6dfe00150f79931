/*
 * worker: one worker in its cell, from its order to its end: the start protocol,
 * the proof of the sandbox, liveness, and the ways it can end. Which cell it
 * gets is decided in cells.
 */
#ifndef SUPERVISORD_WORKER_H
#define SUPERVISORD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ulid.h"
#include "ipc/msg.h"
#include "launch/launch.h"
#include "model/errors.h"
#include "storage/run.h"

struct sup;
struct worker;

/* Why nothing is left of the worker. */
struct worker_end {
	enum err_code code;        /* ERR_NONE: ended by itself after run.end */
	bool over;                 /* its cell wanted more than it may use */
	bool unanswered;           /* adopted, and ended before it answered */
	char text[128];            /* for people */
	struct launch_usage usage; /* as far as it is known */
};

/* What a worker of a supervisord before can do with its run. */
enum worker_resumed {
	RESUMED_WHOLE,     /* it goes on: all that was not stored follows */
	RESUMED_UNTOUCHED, /* it was not told all: nothing was done yet */
	RESUMED_GAP,       /* it does not have all any more */
	RESUMED__MAX
};

struct worker_ops {
	/* The sandbox was seen; run.begin (or describe) may be sent. */
	void (*on_ready)(void *ctx);
	/* A permitted message that is not about the worker itself. */
	void (*on_msg)(void *ctx, const struct ipc_params *);
	/*
	 * Last call: nothing of the cell is left, or of the worker, when the
	 * cell is a kept one. The owner frees; the end goes with the worker.
	 */
	void (*on_reaped)(void *ctx, const struct worker_end *);
	/* Only of a worker that was adopted. */
	void (*on_resumed)(void *ctx, enum worker_resumed);
};

/*
 * Whether its browser lived before it, so that pages are open; known from
 * on_ready on.
 */
bool worker_is_takeover(const struct worker *);
/*
 * Whether on_ready is still to come: also again, after a run's spare was lost
 * before the run was told to it.
 */
bool worker_is_starting(const struct worker *);
/* What was seen of its browser's sandbox; from on_ready on. */
const struct launch_sandbox *worker_sandbox(const struct worker *);
/* Its cell, 0 while it has none. */
uint32_t worker_cell(const struct worker *);
/* Only after on_reaped, or when the launcher is gone. */
void worker_free(struct worker **);

/* Queues one message; false when the worker cannot be reached any more. */
bool worker_send(struct worker *, const struct ipc_params *);
/*
 * The audit log has which stored secrets the run will get, with the next commit:
 * to be called before what that commit permits.
 */
void worker_tell_secrets(struct sup *, const struct run_record *);
/*
 * After run.begin, which announced them: has the secrets of the run given,
 * those its caller sent and the stored ones of these names, a NUL behind each.
 * One that cannot be had ends the run.
 */
void worker_give_secrets(
    struct worker *, const struct run_record *, const struct buf *names);
/* After run.begin was sent: messages of a run are permitted from here on. */
void worker_set_running(struct worker *);
/*
 * Number of the message that on_msg is called with: those of a run are counted
 * from 1, by both sides.
 */
uint64_t worker_count(const struct worker *);
/* Reads nothing of it for so long. */
void worker_rest(struct worker *, int ms);
/* All up to n is stored; the worker is told a little later. */
void worker_ack(struct worker *, uint64_t n);
/*
 * After its run.end, when what it said is stored or cannot be: it need not stay.
 */
void worker_release(struct worker *);
/*
 * Tells the worker to end its run and kills the cell after the grace period.
 * reason: "cancel", "timeout" or "shutdown".
 */
void worker_stop(struct worker *, const char *reason);
/*
 * Kills the cell now, of a kept one the worker alone; code and text become its
 * end unless it had one.
 */
void worker_kill(struct worker *, enum err_code, const char *text);

#endif
