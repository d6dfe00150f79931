/*
 * committer: a thread that waits for the disk, so that the loop does not. It
 * does one job at a time. LMDB ties a write transaction to the thread that
 * begins it, so the same thread begins, commits and aborts all of them.
 */
#ifndef STORAGE_COMMITTER_H
#define STORAGE_COMMITTER_H

#include <stdbool.h>

struct committer;

/* What a job touches is its own until the job is over. */
typedef void committer_fn(void *arg);

/*
 * Starts the thread; it runs when this returns. To be called before the filter
 * of system calls is loaded. 0 or an errno value.
 */
int committer_new(struct committer **ret_committer);
/* None may be under way. */
void committer_start(struct committer *, committer_fn *fn, void *arg);
/* True once for each job, when it is over. */
bool committer_is_over(struct committer *);
/* Blocks until the job is over; committer_is_over() is true then. */
void committer_wait(struct committer *);
/* Readable when a job is over, until committer_is_over() says so. */
int committer_fd(const struct committer *);
/* No job may be under way. */
void committer_free(struct committer **);

#endif
