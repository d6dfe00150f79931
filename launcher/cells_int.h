/*
 * cells_int: what the files of the table of cells share.
 */
#ifndef LAUNCHER_CELLS_INT_H
#define LAUNCHER_CELLS_INT_H

#include <sys/queue.h>

#include "launcher/cells.h"
#include "launcher/kept.h"

#define CELL_MAGIC 0x63656c6cU
#define NO_SLOT    UINT16_MAX

struct cell {
	uint32_t magic;
	LIST_ENTRY(cell) link;
	struct cells *owner;
	uint32_t id;
	uint16_t worker_slot;
	uint16_t browser_slot;
	struct spawned run;
	int listener; /* of its network namespace; -1: no way out */
	struct event *on_sock;
	struct event *on_pidfd;
	char name[LAUNCH_NAME_BYTES];       /* of its run, or "" */
	char profile[LAUNCH_PROFILE_BYTES]; /* kept one, or "" */
	bool keep;                          /* outlives its workers */
	bool forget;                        /* its profile goes with it */
	bool up;
	bool killed;
	bool orphan; /* nobody wants to hear of it */
	bool worker_ended;
	bool browser_ended;
	bool over; /* supervisord was told that it wanted too much */
	int worker_status;
	int browser_status;
	struct launch_failed failed; /* stage "" if it did not */
};

struct cells {
	struct event_base *base;
	const struct spawn_env *env;
	const struct cells_callbacks *cb;
	struct kept *kept;
	struct event *on_groups;
	LIST_HEAD(, cell) list;
	size_t count;
};

/* "run_...: cell 7: what: why", the run first, as in all lines about one. */
void cell_log(const char *name, uint32_t id, const char *what, int error);
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

#endif
