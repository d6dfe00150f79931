/*
 * turn: one commit per turn of the event loop, behind everything that was
 * ready in it, so that all writes of the turn share one transaction.
 */
#ifndef SUPERVISORD_TURN_H
#define SUPERVISORD_TURN_H

#define TURN_LATER_MS 200

struct event_base;
struct store;
struct turn;

/*
 * on_broken is called when a commit returned STORE_BROKEN: the process must
 * end, so that the launcher starts one that reads what the disk holds. NULL
 * when memory ran out.
 */
struct turn *
turn_new(struct event_base *, void (*on_broken)(void *arg), void *arg);
/* The store to commit; borrowed. */
void turn_set_store(struct turn *, struct store *);
/* store_options.on_pending: the turn has something to commit. */
void turn_on_pending(void *turn);
/* store_options.on_deferred: something that can wait TURN_LATER_MS. */
void turn_on_deferred(void *turn);
void turn_free(struct turn **);

#endif
