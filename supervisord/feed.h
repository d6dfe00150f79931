/*
 * feed: event logs on their way to clients: pushed, polled, followed.
 */
#ifndef SUPERVISORD_FEED_H
#define SUPERVISORD_FEED_H

#include <stdint.h>

#include "ipc/msg.h"

struct change;
struct client;
struct sup;
struct task;

/* After a commit: its events, to everybody who waits for some of that run. */
void feed_push(struct sup *, const struct change *);
/* Fine progress that is not stored: to followers that keep up. */
void feed_progress(struct task *, const char *message);
/* The run is terminal: sends followers the rest and lets go of them. */
void feed_end(struct task *);
/* The client's queue has room again. */
void feed_resume(struct client *);

/* run.events, run.follow, run.unfollow */
void feed_poll(struct client *, uint32_t seq, const struct ipc_params *);
void feed_follow(struct client *, uint32_t seq, const struct ipc_params *);
void feed_unfollow(struct client *, uint32_t seq, const struct ipc_params *);

#endif
