/* inspect: the one process at a time that reads the store for a person. */
#ifndef LAUNCHER_INSPECT_H
#define LAUNCHER_INSPECT_H

#include <stdbool.h>

#include <event2/event.h>

#include "launch/launch.h"
#include "launcher/carry.h"
#include "launcher/spawn.h"

struct inspect;

/* env is borrowed; ended (with arg) is called when a process is gone. NULL when
 * memory ran out. */
struct inspect *inspect_new(struct event_base *, const struct spawn_env *,
    void (*ended)(void *arg, int status), void *arg);
/* Ends the process, if there is one, and waits for it. */
void inspect_free(struct inspect **);
/*
 * Starts it on the client's connection, which stays the caller's; while one
 * runs, or when it cannot be started, the client just sees the connection end.
 */
void inspect_start(struct inspect *, enum launch_inspection, int client);
/* Ends it, if there is one, and waits for it: nobody is told. */
void inspect_stop(struct inspect *);
/* Whether there is one. */
bool inspect_runs(const struct inspect *);
/* It goes on under the program that takes this one's place. */
void inspect_carry(const struct inspect *, struct carry *);
/* The other side of that. 0, or ENOMEM. */
int inspect_resume(struct inspect *, const struct carry *);

#endif
