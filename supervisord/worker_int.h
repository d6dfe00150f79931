/*
 * worker_int: what the files of worker share.
 */
#ifndef SUPERVISORD_WORKER_INT_H
#define SUPERVISORD_WORKER_INT_H

#include "ipc/chan.h"
#include "launch/launch.h"
#include "supervisord/worker.h"

struct celllog;
struct event;

#define WORKER_MAGIC       0x574f524bU
#define WORKER_QUEUE_BYTES (16u << 20)
#define WORKER_EXIT_MS     2000 /* from run.end to its exit */
#define BROWSER_GRACE_MS   300  /* for the worker to say what it knows */

enum worker_state {
	WS_SPAWNING, /* SPAWN ordered */
	WS_HELLO,    /* our hello sent, its hello awaited */
	WS_STARTING, /* the browser is starting */
	WS_CHECKING, /* CHECK ordered */
	WS_RUNNING,  /* owner was told */
	WS_ENDED,    /* run.end or describe.done received, exit awaited */
	WS_DOOMED,   /* KILL ordered */
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
	WI__MAX
};

struct worker {
	uint32_t magic;
	uint32_t cell_id;
	struct sup *sup;
	const struct worker_ops *ops;
	void *ctx;
	enum worker_state state;
	uint32_t flags;
	char name[40];
	struct chan *chan;
	struct celllog *log;
	struct event *timer; /* of the state: start, exit, grace */
	struct event *pulse; /* liveness */
	int64_t heard_ms;
	int64_t pings;
	bool browser_gone;
	bool reaped;   /* nothing of it is left; only its last words are read */
	bool stopping; /* the grace timer must not be put off */
	struct worker_end end;
};

/* What an input carries; one of them, the rest is zero. */
struct input {
	const struct ipc_params *params;
	const struct launch_sandbox *sandbox;
	const char *reason;
	int ipc_fd, log_fd;
};

/* The one way in for everything that happens to a worker. */
void worker_input(struct worker *, enum worker_input, const struct input *);
void worker_arm(struct event *, int64_t ms);
/* Descriptors of a cell that is being killed or has its own already. */
void worker_drop_fds(const struct input *);

extern const struct chan_ops worker_chan_ops;

#endif
