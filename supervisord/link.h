/*
 * link: supervisord's end of the launch protocol: cells by id, the slots they
 * take, and who wants to hear of them.
 */
#ifndef SUPERVISORD_LINK_H
#define SUPERVISORD_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/launch.h"

struct event_base;
struct link;

struct link_ops {
	/* The descriptors become the receiver's. */
	void (*on_ready)(void *ctx, int ipc_fd, int log_fd);
	void (*on_sandbox)(void *ctx, const struct launch_sandbox *);
	void (*on_browser_exited)(void *ctx, int status);
	/* Of a kept cell: the next worker, and the end of one. */
	void (*on_worker_ready)(void *ctx, int ipc_fd);
	void (*on_worker_exited)(void *ctx, int status);
	/* It wanted more than it may use; its end follows. */
	void (*on_limit)(void *ctx, const struct launch_breach *);
	/* A stored secret that its worker was to get cannot be had. */
	void (*on_secret_missing)(void *ctx, const struct launch_missing *);
	/* What its worker and its browser used, so far. */
	void (*on_usage)(void *ctx, const struct launch_usage *);
	/* Last call: nothing of the cell is left and its id is forgotten. */
	void (*on_reaped)(void *ctx, const struct launch_reaped *);
};

/* Each gets the arg of link_new(). */
struct link_service {
	/* It was changed. */
	void (*on_setting)(void *arg, const char *name, const char *value);
	/*
	 * A socket towards egressd, the receiver's, after each start; -1: it
	 * does not keep running.
	 */
	void (*on_egress)(void *arg, int fd);
	void (*on_protection)(void *arg, const struct launch_protection *);
	/* The process of link_inspect() is gone. */
	void (*on_inspected)(void *arg);
	/*
	 * A cell that outlived a supervisord before, to be answered by
	 * link_adopt() and then link_adopted() or link_kill(); the descriptors
	 * become the receiver's.
	 */
	void (*on_adopt)(void *arg, uint32_t cell_id,
	    const struct launch_adopt *, int fds[LAUNCH_MAX_FDS]);
	/* Runs whose secrets the launcher has still. */
	void (*on_kept)(void *arg, const struct launch_kept *);
	/* There are no more of both, and whether a reader of the store lives. */
	void (*on_adopt_end)(void *arg, const struct launch_adopt_end *);
	/* The launcher wants it to end, and to be started anew. */
	void (*on_restart)(void *arg);
};

/*
 * Takes the socket. on_broken is called once when the launcher is gone or
 * broke the protocol; nothing else follows it. NULL when memory ran out.
 */
struct link *
link_new(struct event_base *, int fd, void (*on_broken)(void *arg), void *arg);
void link_free(struct link **);
/* Who is told what is about no cell; borrowed. */
void link_on_service(struct link *, const struct link_service *);

/* Whether there are slots for a cell with these flags of SPAWN. */
bool link_has_room(const struct link *, uint32_t flags);
/*
 * Orders a cell and keeps its slots until REAPED. With SPAWN_KEEP its profile
 * is that of the session. name is for log lines. Returns its id, 0 when all
 * slots are taken or the link is broken.
 */
uint32_t link_spawn(struct link *, const struct ulid *session, uint32_t flags,
    const struct launch_limits *, const char *name, const struct link_ops *,
    void *ctx);
/*
 * Takes up a cell that was offered, with its slots; ops as of link_spawn().
 * False when memory ran out: then the link is broken.
 */
bool link_adopt(struct link *, uint32_t cell_id, const struct launch_spawn *,
    const struct link_ops *, void *ctx);
/* It is kept. */
void link_adopted(struct link *, uint32_t cell_id);
/* Its worker has this run from now on. */
void link_name(struct link *, uint32_t cell_id, const char *name);
/* Unknown ids are ignored: the cell may just have been reaped. */
void link_kill(struct link *, uint32_t cell_id);
void link_check(struct link *, uint32_t cell_id);
/* The next worker of a kept cell, and the end of the one it has. */
void link_worker(struct link *, uint32_t cell_id, const char *name);
void link_kill_worker(struct link *, uint32_t cell_id);
/*
 * Removes the profile of a kept session, once no cell uses it any more. At the
 * start: names those to keep, then removes all others.
 */
void link_forget(struct link *, const struct ulid *session);
void link_known(struct link *, const struct ulid *session);
void link_purge(struct link *);
/*
 * Hands the launcher what only the worker of that run may read; takes *fd and
 * sets it to -1. If it gets lost on the way, that worker will say so.
 */
void link_secret(struct link *, const struct ulid *run, int *fd);
/*
 * Adds a stored one, as a run of uid may use it, to what is given next; the
 * name is a good one.
 */
void link_secret_ref(
    struct link *, const struct ulid *run, uint32_t uid, const char *name);
/* Has them fed to the worker of a cell. */
void link_secret_give(struct link *, uint32_t cell_id, const struct ulid *run);
void link_secret_drop(struct link *, const struct ulid *run);
/*
 * Has a process of its own read the store, for the client at *fd; takes *fd and
 * sets it to -1.
 */
void link_inspect(struct link *, enum launch_inspection, int *fd);
/* Tells the launcher that clients are being served. */
void link_serving(struct link *);
/*
 * This process is about to end, to be started anew: whatever ends it now, the
 * launcher knows. Sent at once.
 */
void link_leaves(struct link *);
/* The audit log ends with this row, which is stored; sent at once. */
void link_record(struct link *, const struct launch_row_told *);
/* Nobody needs this service: the launcher is to end it. */
void link_unneeded(struct link *);

#endif
