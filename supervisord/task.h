/*
 * task: a live run: one that is queued, running or being settled. What is
 * durable of it is its record; a task is made from the record and may be lost.
 */
#ifndef SUPERVISORD_TASK_H
#define SUPERVISORD_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/tree.h>

#include "storage/run.h"
#include "supervisord/egress.h"
#include "supervisord/lines.h"
#include "supervisord/outcome.h"
#include "supervisord/reply.h"
#include "supervisord/sched.h"
#include "supervisord/share.h"
#include "supervisord/steps.h"
#include "supervisord/watch.h"

struct assembly;
struct cell;
struct change;
struct event;
struct intake;
struct session_use;
struct sup;
struct tasks;
struct worker;

enum task_stage {
	TASK_QUEUED,
	TASK_STARTING, /* has a slot: its cell and browser are coming up */
	TASK_RUNNING,  /* the worker was told to go */
	TASK_SETTLING, /* no process is left; results are put together */
	TASK_STAGE__MAX
};

struct task {
	RB_ENTRY(task) entry;
	struct sup *sup;
	char name[ID_CHARS + 1]; /* run_ULID */
	/* As the last queued write will have it; the store lags behind. */
	struct run_record rec;
	enum task_stage stage;
	struct sched_entry queue;
	TAILQ_ENTRY(task) by_session;
	struct session_use *use;     /* when the session outlives the run */
	struct session_use *new_use; /* memory for that, until it is joined */
	struct worker *worker;
	struct intake *intake;
	struct assembly *assembly;
	struct event *deadline;
	int64_t canceler; /* who asked for the cancel */
	bool cancel_told; /* to the audit log */
	struct egress_binding *egress;
	char *allowed, *forbidden, *kept,
	    *named;       /* as egress_rules has them; or NULL */
	bool public_only; /* whatever its trust is */
	struct egress_sums network;
	uint32_t refusals; /* told one by one, as events */
	uint32_t unnamed;  /* hosts near this machine, told as warnings */
	uint32_t fills;    /* uses of stored secrets, in the audit log */
	struct steps steps;
	struct lines warnings, trace;
	enum err_code lost; /* why it ended without run.end */
	char lost_text[128];
	enum err_code abort; /* whatever its run.end says */
	char abort_text[128];
	int64_t began_mono_ms; /* when this attempt took its slot; 0: not yet */
	int64_t spent_before_ms; /* by earlier attempts */
	uint32_t failed;         /* items */
	bool active;             /* holds a slot */
	bool secrets;            /* the launcher keeps some for it */
	bool keep;               /* the session outlives it, or may */
	bool text_only;          /* nothing but text is loaded */
	bool bound;              /* egressd knows where it may go */
	bool acting;             /* and it is written that it may begin */
	bool again;              /* to the queue, when its processes are gone */
	bool abandoned; /* shutdown: left as it is for the next start */
	struct watch_list watches;
	struct share *share;       /* its user's */
	uint64_t held[SHARE__MAX]; /* of that */
};

struct tasks *tasks_new(struct sup *);
void tasks_free(struct tasks **);
struct task *tasks_find(struct tasks *, const struct ulid *);
/* Those that hold a slot. */
size_t tasks_active(const struct tasks *);
/* Is there no slot for a run of that user now? */
bool tasks_full(const struct tasks *, uint32_t uid);
size_t tasks_queued(const struct tasks *);
/*
 * A place in the queue for a run that is being committed, until tasks_release.
 */
void tasks_reserve(struct tasks *);
void tasks_release(struct tasks *);
/* Those queued and the places held. */
size_t tasks_places_taken(const struct tasks *);
/* Both, of one user's. */
void tasks_count(
    const struct tasks *, uint32_t uid, size_t *ret_active, size_t *ret_queued);
/*
 * 1 for the next one to start, of all or of its user's; 0 when it is not
 * queued.
 */
size_t
tasks_position(const struct tasks *, const struct task *, bool among_own);
/* Starts what may start, a little later. */
void tasks_pump(struct tasks *);
/* Neither queued nor active, nor being submitted. */
bool tasks_none(const struct tasks *);
/* Calls once when no run has processes and none is being settled: maybe now. */
void tasks_on_idle(struct tasks *, void (*on_idle)(struct sup *));
/* The same, but runs may have processes. */
void tasks_on_settled(struct tasks *, void (*on_settled)(struct sup *));
/* Shutdown: tells every worker; runs without a result are left to recovery. */
void tasks_stop(struct tasks *);

/*
 * The memory of a task, before its record is written: what is committed can be
 * begun then, however short memory is. Nobody finds it yet, and task_free() is
 * its end when it does not come to that. NULL: no memory.
 */
struct task *task_prepare(struct sup *, const struct run_record *);
/* The record is committed, and the task queued if it is. */
void task_enter(struct task *);
void task_free(struct task **);
/* Both, for a record that is there. NULL: no memory. */
struct task *task_new(struct sup *, const struct run_record *);
/*
 * At once to be settled as failed with this code: one that was running, or
 * cannot run again.
 */
void task_fail(struct task *, enum err_code, const char *text);
/*
 * One that is running goes on with the worker in that cell, which lives; if it
 * cannot, that ends, and the run is settled as after any crash. False: no
 * memory, and another start may do it.
 */
bool task_adopt(struct task *, struct cell *);
/* Settles one by what its worker said at its end; false when it did not. */
bool task_settle_stored(struct task *);
/*
 * Persists the intent and ends the run. Does nothing when it was ended
 * already or its outcome is decided. actor: whose wish it is, for the audit
 * log.
 */
void task_cancel(struct task *, int64_t actor);
/* Its terminal state is committed: tells all who wait, and frees it. */
void task_over(struct task **);

/* For the parts of a task: */

/* Its terminal state, as rec has it, for the audit log. */
void task_audit_end(const struct task *, struct change *);

/* Takes of its user's share what it has until it ends, or gives it back. */
void task_hold(struct task *, enum share_kind, uint64_t n);
void task_unhold(struct task *, enum share_kind);
/* Notes a trace line, with the time since the run was created. */
void task_trace(struct task *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Brings rec up to date before it is written. */
void task_touch(struct task *);
/* What is left of its limit, 0 at least; waiting in the queue is free. */
int64_t task_left_ms(const struct task *);
/* A breach or a failed write: the run ends as failed with this code. */
void task_abort(struct task *, enum err_code, const char *text);
/*
 * No process is left: it gives up its place in the queue or its slot, whichever
 * it has, and its stage becomes TASK_SETTLING. Once.
 */
void task_settle(struct task *);

#endif
