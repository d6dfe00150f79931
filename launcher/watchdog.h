/* watchdog: signs of life to systemd, as long as supervisord gives them. */
#ifndef LAUNCHER_WATCHDOG_H
#define LAUNCHER_WATCHDOG_H

#include <event2/event.h>

#include "launcher/supervise.h"

struct watchdog;

/*
 * Takes over what systemd asks for in the environment: supervisord is asked
 * twice within that time, and its answer is passed on. Without, nothing is
 * ever asked. NULL when memory ran out.
 */
struct watchdog *watchdog_new(struct event_base *, struct supervise *);
void watchdog_free(struct watchdog **);
/* Puts it back into the environment, for the program that follows this one. */
void watchdog_hand_on(const struct watchdog *);
/* supervisord has answered. */
void watchdog_answered(struct watchdog *);

#endif
