/* watchdog: signs of life to systemd, as long as the launcher's loop runs. */
#ifndef LAUNCHER_WATCHDOG_H
#define LAUNCHER_WATCHDOG_H

#include <event2/event.h>

struct watchdog;

/*
 * Takes over what systemd asks for in the environment and gives a sign of life
 * twice within that time; without, never. NULL when memory ran out.
 */
struct watchdog *watchdog_new(struct event_base *);
void watchdog_free(struct watchdog **);
/* Puts it back into the environment, for the program that follows this one. */
void watchdog_hand_on(const struct watchdog *);

#endif
