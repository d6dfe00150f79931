/* cells: the table of living cells. */
#ifndef LAUNCHER_CELLS_H
#define LAUNCHER_CELLS_H

#include <event2/event.h>

#include "launcher/carry.h"
#include "launcher/spawn.h"

struct cells;

struct cells_callbacks {
	/* A message for supervisord; descriptors stay the table's. */
	void (*send)(void *, const struct launch_msg *, const int *fds);
	/* The listener of a cell's network; it stays the table's. */
	void (*listener)(void *, uint32_t cell_id, int fd);
	/* A cell is gone for good; before the message that says so. */
	void (*gone)(void *, uint32_t cell_id);
	/* And after it; and when nothing is removed any more. */
	void (*reaped)(void *);
	void *arg;
};

/* env, base and callbacks are borrowed as long as the table lives. */
struct cells *cells_new(struct event_base *, const struct spawn_env *,
    const struct cells_callbacks *);
/* Only when empty. */
void cells_free(struct cells **);
/*
 * Obeys what is about cells and their profiles. 0, or EPROTO for what
 * supervisord must never ask: a cell_id that is in use, a worker beside one
 * that lives. An unknown id is one that has just ended.
 */
int cells_obey(struct cells *, const struct launch_msg *);
/*
 * Has fd (borrowed; -1: it could not be opened, which ends the cell) copied
 * to the worker of a cell.
 */
void cells_feed(struct cells *, uint32_t cell_id, int fd);
/*
 * Kills all of them; their ends are reported to nobody, since those who asked
 * for them are gone.
 */
void cells_kill_all(struct cells *);
/*
 * Their supervisord has ended: keeps those that are up, without telling anybody
 * of them, and kills the others, whose ends are reported to nobody.
 */
void cells_leave(struct cells *);
/* How many are still being killed since, or since cells_kill_all(). */
size_t cells_dying(const struct cells *);
/*
 * Offers those that are left to the next supervisord, and kills what it has not
 * taken within adopt_ms. Returns how many were offered.
 */
uint32_t cells_offer(struct cells *, int64_t adopt_ms);
/* For the program that follows this one; and what one before has left. */
void cells_carry(const struct cells *, struct carry *);
/* 0 or an errno value. */
int cells_restore(struct cells *, const struct carry *);
/* Calls back with the listener of each cell that has one. */
void cells_tell_listeners(struct cells *);
size_t cells_count(const struct cells *);
/* Whether profiles are being removed. */
bool cells_removing(const struct cells *);
/* Not any more: the next purge goes on with it. */
void cells_stop_removing(struct cells *);

#endif
