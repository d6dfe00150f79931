/*
 * child: a process that the launcher keeps running and talks to over one link,
 * as supervisord and egressd are.
 */
#ifndef LAUNCHER_CHILD_H
#define LAUNCHER_CHILD_H

#include <stdbool.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <event2/event.h>

#include "launch/launch.h"

struct child_ops {
	/* Between clone and exec, with the child's end; returns on failure. */
	int (*become)(void *arg, int link);
	/* The link can be read, or has ended. */
	void (*readable)(void *arg);
	/*
	 * It was waited for, with that status. What it said last may still be
	 * read from the link; then child_forget() is to be called.
	 */
	void (*ended)(void *arg, int status);
};

struct child {
	const char *name;
	struct event_base *base;
	const struct child_ops *ops;
	void *arg;
	pid_t pid; /* 0: not running */
	int pidfd;
	int sock; /* non-blocking; -1: link closed, or not running */
	struct event *on_sock;
	struct event *on_pidfd;
	struct event *on_again;
	STAILQ_HEAD(, unsent) unsent; /* for want of the system's memory */
	size_t nunsent;
};

/* All is borrowed as long as the object is used. */
void child_init(struct child *, struct event_base *, const char *name,
    const struct child_ops *, void *arg);
/*
 * Starts it, which must not run. 0, or an errno value that was logged; nothing
 * is left then.
 */
int child_start(struct child *);
/*
 * Takes one that runs already, of an earlier program in this process, with its
 * descriptors; sock may be -1. 0 or ENOMEM.
 */
int child_take(struct child *, pid_t, int pidfd, int sock);
/*
 * Sends one message over its link, which is there, as launch_send() does. What
 * the system has no memory for follows later, in its order: then, too, it is 0.
 * Should that fail the child is killed.
 */
int child_send(struct child *, enum launch_link, const struct launch_msg *,
    const int *fds);
/* Closes the link: it will be seen to end. */
void child_unlink(struct child *);
/* Sends it a signal, if it runs. */
void child_signal(struct child *, int sig);
/* Of one that was waited for: closes all that belonged to it. */
void child_forget(struct child *);
/* Kills it and waits for it; ended() is not called. */
void child_end(struct child *);

#endif
