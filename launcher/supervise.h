/* supervise: keeps one supervisord running. */
#ifndef LAUNCHER_SUPERVISE_H
#define LAUNCHER_SUPERVISE_H

#include <event2/event.h>

#include "launch/launch.h"
#include "launcher/options.h"
#include "launcher/sockets.h"
#include "launcher/spawn.h"

struct supervise;

#define SUPERVISE_END_MS 5000

struct supervise_callbacks {
	/*
	 * A message of supervisord's; an errno value breaks the link. fd, the
	 * receiver's, is what came with it, or -1.
	 */
	int (*message)(void *, const struct launch_msg *, int fd);
	/* It was started, and may be told things. */
	void (*started)(void *);
	/*
	 * It ended: nobody is left who knows the cells. With restart it was
	 * to, and is to be started anew, at once.
	 */
	void (*ended)(void *, bool restart);
	/* It will not be started again; the launcher's exit code. */
	void (*given_up)(void *, int exit_code);
	void *arg;
};

/* Arguments are borrowed as long as the object lives. */
struct supervise *supervise_new(struct event_base *, const struct spawn_env *,
    const struct options *, const struct sockets *,
    const struct supervise_callbacks *);
/* Only when it does not run. */
void supervise_free(struct supervise **);
/*
 * Starts it as soon as damping allows; does nothing when it runs or is to
 * stop. To be called again when the last cell of its predecessor is gone.
 */
void supervise_start(struct supervise *);
/*
 * Whether its next start, which is due, is the last one: if it ends as soon as
 * those before, all is given up.
 */
bool supervise_is_last(const struct supervise *);
/* Sends what it is to know; without it the message is dropped. */
void
supervise_send(struct supervise *, const struct launch_msg *, const int *fds);
/*
 * Asks it, which runs, to end and to be started anew; does so to it when it does
 * not within SUPERVISE_END_MS.
 */
void supervise_restart(struct supervise *);
/* The same, but that it ends is its own word. */
void supervise_leaves(struct supervise *);
/* Asks it to end and never starts it again. */
void supervise_stop(struct supervise *);
/* PONG: it is alive. One that is not for too long is killed. */
void supervise_answered(struct supervise *);
void supervise_kill(struct supervise *);
bool supervise_runs(const struct supervise *);

#endif
