/* remover: removes profiles that were dropped, beside the launcher. */
#ifndef LAUNCHER_REMOVER_H
#define LAUNCHER_REMOVER_H

#include <stdbool.h>

#include <event2/event.h>

#include "launcher/spawn.h"

struct remover;

/*
 * base and env are borrowed as long as it lives; ended is called when nothing
 * more is removed. NULL when memory ran out.
 */
struct remover *remover_new(struct event_base *, const struct spawn_env *,
    void (*ended)(void *arg), void *arg);
void remover_free(struct remover **);
/* Has all removed that is dropped by now, by one process at a time. */
void remover_run(struct remover *);
bool remover_runs(const struct remover *);
/* Ends it; what it leaves is for the next one. */
void remover_stop(struct remover *);

#endif
