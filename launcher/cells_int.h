/*
 * cells_int: what the files of the table of cells share.
 */
#ifndef LAUNCHER_CELLS_INT_H
#define LAUNCHER_CELLS_INT_H

#include <sys/queue.h>

#include "launcher/cells.h"
#include "launcher/kept.h"
#include "launcher/remover.h"

#define CELL_MAGIC 0x63656c6cU

/* Whose it is. */
enum cell_hold {
	CELL_OWNED,   /* supervisord's, which ordered or adopted it */
	CELL_LEFT,    /* that one has ended: nobody is to be told */
	CELL_OFFERED, /* to the next one, which has not answered */
};

/* What happened to it while it was nobody's. */
enum cell_untold {
	UNTOLD_WORKER_EXITED = 1 << 0,
	UNTOLD_BROWSER_EXITED = 1 << 1,
	UNTOLD_LIMIT = 1 << 2,
};

struct cell {
	uint32_t magic;
	LIST_ENTRY(cell) link;
	struct cells *owner;
	uint32_t id;
	/* As ordered, but for the name: it is that of its last worker. */
	struct launch_spawn spawn;
	struct spawned run;
	int listener; /* of its network namespace; -1: no way out */
	struct event *on_sock;
	struct event *on_pidfd;
	bool forget; /* its profile goes with it */
	bool up;
	bool killed;
	bool orphan; /* nobody wants to hear of it */
	bool worker_ended;
	bool browser_ended;
	bool over; /* supervisord was told that it wanted too much */
	int worker_status;
	int browser_status;
	struct launch_failed failed; /* stage "" if it did not */
	struct launch_sandbox sandbox;
	struct launch_usage usage;
	struct launch_breach breach;
	enum cell_hold hold;
	unsigned int untold; /* bits of enum cell_untold */
	unsigned int offers; /* of late */
	int64_t offered_ms;  /* when it was, last */
};

struct cells {
	struct event_base *base;
	const struct spawn_env *env;
	const struct cells_callbacks *cb;
	struct kept *kept;
	struct remover *remover;
	struct event *on_groups;
	struct event *on_adopt; /* what was offered had its time */
	int64_t adopt_ms;       /* which is that long */
	LIST_HEAD(, cell) list;
	size_t count;
};

/* "run_...: cell 7: what: why", the run first, as in all lines about one. */
void cell_log(const char *name, uint32_t id, const char *what, int error);
bool cell_is_kept(const struct cell *);
/* Passes it on with the cell's id, or notes what of it has to be told later. */
void cell_say(struct cell *, struct launch_msg *, const int *fds);
/* Closes what is open of it; it must be waited for, or never have been. */
void cell_free(struct cell **);
void cell_kill(struct cell *);
/* Takes all that it has said; a cell says little. */
void cell_read(struct cell *);
/* Ends it if the kernel refused it more than it may use. */
void cell_look(struct cell *);
/* It was waited for, with that status. */
void cell_say_reaped(struct cell *, int status);
/*
 * Has it do what it does by itself: check, kill its worker, feed it with fd
 * (NULL for the others), which stays open.
 */
void cell_order(struct cell *, enum launch_type, const int *fd);
/* Only when the former worker has ended. */
void cell_next_worker(struct cell *, const struct launch_worker *);
/*
 * Takes it into the table and watches it; on failure it was killed and waited
 * for, and stays the caller's.
 */
int cells_add(struct cells *, struct cell *);
/* supervisord keeps it; EPROTO when it was not asked. */
int cell_adopted(struct cell *);
/* The time to answer is over. */
void cells_on_adopt(evutil_socket_t fd, short what, void *arg);

#endif
