/*
 * worker_int: what the files of worker share.
 */
#ifndef SUPERVISORD_WORKER_INT_H
#define SUPERVISORD_WORKER_INT_H

#include <sys/queue.h>

#include "ipc/chan.h"
#include "launch/launch.h"
#include "supervisord/worker.h"

struct celllog;
struct event;

#define WORKER_MAGIC       0x574f524bU
#define WORKER_QUEUE_BYTES (16u << 20)
#define WORKER_EXIT_MS     2000 /* from run.end to its exit */
#define BROWSER_GRACE_MS   300  /* for the worker to say what it knows */
#define TAKEOVER_MS        12000 /* for a browser that lived before it, and its tab */
#define KILL_WORKER_MS     1000 /* for a kept cell to end its worker */
#define WENT_MS            200  /* for a worker that let go of us to end */

enum worker_state {
	WS_SPAWNING, /* SPAWN or WORKER ordered, or waits for a slot */
	WS_HELLO,    /* our hello sent, its hello awaited */
	WS_STARTING, /* the browser is starting */
	WS_CHECKING, /* CHECK ordered */
	WS_SPARE,    /* all is up; waits for a run */
	WS_CLAIMED,  /* has its run, which is not told yet */
	WS_RUNNING,  /* owner was told */
	WS_RESUMING, /* of a supervisord before: run.resumed is awaited */
	WS_ENDED,    /* run.end or describe.done received, exit awaited */
	WS_DOOMED,   /* KILL or KILL_WORKER ordered */
	WS__MAX
};

enum worker_input {
	WI_READY, /* of the launcher: descriptors */
	WI_HELLO,
	WI_BROWSER_UP, /* message ready */
	WI_SANDBOX,
	WI_MSG, /* message for the owner */
	WI_END,
	WI_BROWSER_GONE,
	WI_LOST, /* connection is over */
	WI_TIMER,
	WI_RESUMED, /* message run.resumed */
	WI__MAX
};

/*
 * A cell of a supervisord before, whose worker, if it has one, was not taken up
 * yet: it waits for that, or for its worker's end.
 */
struct offer {
	int ipc_fd;
	bool worker;                  /* it has one */
	bool wanted;                  /* that is to be taken up */
	struct ulid run;              /* the worker's, when it is wanted */
	char name[LAUNCH_NAME_BYTES]; /* of its run */
	struct launch_usage usage;
};

/* One compartment of the launcher's, from SPAWN or ADOPT to REAPED. */
struct cell {
	TAILQ_ENTRY(cell) entry;
	struct sup *sup;
	uint32_t id;
	struct ulid session;
	bool keep;
	struct worker *worker; /* NULL: idle, or: */
	struct offer *offer;   /* NULL: it is ours */
	struct celllog *log;
	bool up; /* a sandbox was seen: its browser works */
	struct launch_sandbox sandbox; /* that was it, then */
	bool browser_gone;             /* no worker can follow */
	bool doomed;                   /* KILL ordered */
	bool closed;                   /* somebody asked for its end */
	void (*on_closed)(void *arg);  /* of cells_close(), or NULL */
	void *on_closed_arg;
};

TAILQ_HEAD(cell_list, cell);
TAILQ_HEAD(worker_list, worker);

struct cells {
	struct sup *sup;
	struct cell_list list; /* idle ones by the time they became so */
	struct worker_list
	    waiting;   /* for a slot, or the end of a former cell */
	size_t doomed; /* cells whose slots become free */
	void (*gone)(struct sup *, const struct ulid *session);
};

struct worker {
	uint32_t magic;
	uint32_t cell_id;  /* of its cell, now or last; for log lines */
	struct cell *cell; /* NULL: not yet, or not any more */
	TAILQ_ENTRY(worker) waiting; /* for a slot, while without a cell */
	struct sup *sup;
	const struct worker_ops *ops;
	void *ctx;
	enum worker_state state;
	struct ulid session;
	uint32_t flags;
	char name[LAUNCH_NAME_BYTES];
	struct chan *chan;
	struct event *timer;        /* of the state: start, exit, grace */
	struct event *pulse;        /* liveness */
	struct event *acks;         /* once for all of a commit */
	struct event *rest;         /* nothing is read until then */
	int64_t heard_ms, pulse_ms; /* a sign of life; a question for one */
	int64_t pings;
	uint64_t count;  /* number of its run's last message */
	uint64_t stored; /* those that a supervisord before has stored */
	uint64_t acked, ack_due;
	bool waits;    /* is in the list of those that wait for a slot */
	bool spare;    /* has no run yet */
	bool claimed;  /* was a spare when its run got it */
	bool begun;    /* the worker was told its run */
	bool takeover; /* its browser lived before it */
	bool again;    /* gets another cell when this one is gone */
	bool browser_gone;
	bool went;     /* its connection was closed at its end */
	bool reaped;   /* nothing of it is left; only its last words are read */
	bool stopping; /* the grace timer must not be put off */
	struct worker_end end;
};

/* What an input carries; one of them, the rest is zero. */
struct input {
	const struct ipc_params *params;
	const struct launch_sandbox *sandbox;
	const char *reason;
	int ipc_fd;
};

/* Made without a cell; what it wants of one is in it. */
struct worker *worker_new(struct sup *, const struct ulid *session,
    uint32_t flags, const char *name, const struct worker_ops *, void *ctx);
/* Nothing of it, or of its whole cell, is left: tells its owner, once. */
void worker_gone(struct worker *);
/* How it ended, as wait(2) has it: its filter may have ended it. */
void worker_status(struct worker *, int status);
/* As worker_gone(), of a cell whose start failed. */
void worker_gone_failed(struct worker *, const struct launch_reaped *);
/* As a spare, in a new cell; NULL when there is no room. */
struct worker *cells_order_spare(struct sup *, const struct ulid *session,
    uint32_t flags, const char *name, const struct worker_ops *, void *ctx);
/* Whether nothing has happened to it that a run must not begin with. */
bool worker_is_sound(const struct worker *);
/* A spare gets its run, which is told a little later. */
void worker_claim(
    struct worker *, const char *name, const struct worker_ops *, void *ctx);
/*
 * Whether its run can have another cell: it lost one that had lived before it,
 * and nothing of it has begun.
 */
bool worker_is_early(const struct worker *);
/* Back to the start: it gets another cell when the one it has is gone. */
void worker_again(struct worker *);

/* The worker's cell, in cells.c. */

/* Orders what kills the worker: itself in a kept cell, else the whole cell. */
void cell_end_worker(struct worker *);
void cell_kill(struct cell *);
/* It is as one of ours from here on. */
void cell_drop_offer(struct cell *);
/* A slot became free, or a session's former cell or worker is gone. */
void cells_next(struct cells *);
/* ctx is a cell. */
extern const struct link_ops cell_link_ops;
bool cell_lives(const struct cell *);
/* Of the link; ctx is a cell. */
void worker_on_secret_missing(void *ctx, const struct launch_missing *);
/* The worker is being freed: neither its cell nor a list knows it then. */
void cell_let_go(struct worker *);

/* The one way in for everything that happens to a worker. */
void worker_input(struct worker *, enum worker_input, const struct input *);
void worker_arm(struct event *, int64_t ms);

extern const struct chan_ops worker_chan_ops;

#endif
