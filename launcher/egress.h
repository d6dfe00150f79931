/* egress: keeps one egressd running. */
#ifndef LAUNCHER_EGRESS_H
#define LAUNCHER_EGRESS_H

#include <event2/event.h>

#include "launch/launch.h"
#include "launcher/carry.h"
#include "launcher/options.h"
#include "launcher/spawn.h"

struct egress;

struct egress_callbacks {
	/* A message for supervisord; the descriptor stays the caller's. */
	void (*send)(void *, const struct launch_msg *, const int *fd);
	/* It was started: calls egress_listen() for each listener there is. */
	void (*started)(void *);
	void *arg;
};

/* Arguments are borrowed as long as the object lives. */
struct egress *egress_new(struct event_base *, const struct spawn_env *,
    const struct options *, const struct egress_callbacks *);
/* Kills it and waits for it. */
void egress_free(struct egress **);
/*
 * Starts it, and again whenever it ends, as damping allows. When that is too
 * often supervisord is told and it rests before it is tried again.
 */
void egress_start(struct egress *);
/*
 * For the program that follows this one: nothing when it is not to go on. Takes
 * what one before has left, which knows all settings, or starts it; 0 or ENOMEM.
 */
void egress_carry(const struct egress *, struct carry *);
int egress_resume(struct egress *, const struct carry *);
/* Kills it and waits for it; egress_start() starts another. */
void egress_end(struct egress *);
/* Its end is none to speak of any more, and it is not started again. */
void egress_stop(struct egress *);
/* Supervisord was started: connects both, now or when there is an egressd. */
void egress_connect(struct egress *);
/* The listener of a cell (borrowed), and its end. */
void egress_listen(struct egress *, uint32_t cell_id, int fd);
void egress_gone(struct egress *, uint32_t cell_id);
/* A setting was changed. */
void egress_setting(struct egress *, const char *name, const char *value);

#endif
