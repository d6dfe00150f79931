/*
 * pulse: notices that a child of the launcher hangs, and kills it. Its owner
 * sees it end, and starts it anew.
 */
#ifndef LAUNCHER_PULSE_H
#define LAUNCHER_PULSE_H

#include <event2/event.h>

#include "launcher/child.h"

struct pulse;

/*
 * Has the child asked by ask(arg), from its start to its end, and kills it
 * when it has not answered for *hang_ms, which may change. All is borrowed as
 * long as the object lives. NULL without memory.
 */
struct pulse *pulse_new(struct event_base *, struct child *,
    const int64_t *hang_ms, void (*ask)(void *), void *arg);
void pulse_free(struct pulse **);
/* The child has answered. */
void pulse_answered(struct pulse *);

#endif
