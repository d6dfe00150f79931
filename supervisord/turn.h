/*
 * turn: at most one commit per turn of the event loop, behind everything that
 * was ready in it, so that all writes of the turn share one transaction. While
 * the store's committer waits for the disk the loop goes on, and what is written
 * meanwhile shares the next commit.
 */
#ifndef SUPERVISORD_TURN_H
#define SUPERVISORD_TURN_H

#include <stdbool.h>
#include <stdint.h>

#define TURN_LATER_MS 400

struct event_base;
struct store;
struct turn;

/*
 * on_broken is called when a commit returned STORE_BROKEN: the process must
 * end, so that the launcher starts one that reads what the disk holds. on_commit,
 * which may be NULL, after each that is well. NULL when memory ran out.
 */
struct turn *turn_new(struct event_base *, void (*on_broken)(void *arg),
    void (*on_commit)(void *arg), void *arg);
/*
 * What is in memory does not agree any more with what is stored: on_broken,
 * too, once it is logged. name says what it was about.
 */
void turn_break(struct turn *, const char *name, const char *why);
/* The store to commit; borrowed. */
void turn_set_store(struct turn *, struct store *);
/* Its committer was started: no turn waits for the disk from now on. */
bool turn_watch_committer(struct turn *);
/* store_options.on_pending: the turn has something to commit. */
void turn_on_pending(void *arg);
/*
 * store_options.on_deferred: something that can wait until the last commit is
 * TURN_LATER_MS old. After a quiet time it does not wait at all.
 */
void turn_on_deferred(void *arg);

/*
 * Company for submissions: clients that submit again as soon as they are
 * answered would split into two halves, each waiting for the other's commit.
 * So a submission waits for those whom the last commit answered, for at most
 * half of the time that commit took; no other write waits, and the first one
 * takes all along.
 *
 * A client's mark starts as 0. Answered: within a commit, what it waited for
 * was done. Heard: it has sent something, or is gone.
 */
void turn_answered(struct turn *, uint64_t *mark);
void turn_heard(struct turn *, uint64_t *mark);
/* May a write be queued by store_write_soon()? The turn then hurries it. */
bool turn_gathers(struct turn *);
#define TURN_GATHER_MAX_US 5000

void turn_free(struct turn **);

#endif
