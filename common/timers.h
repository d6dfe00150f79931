/*
 * timers: deadlines that hold when memory is short. libevent's list of timers
 * grows when it must and never shrinks; where it cannot grow a timer is lost,
 * and what waits for it waits for ever.
 */
#ifndef COMMON_TIMERS_H
#define COMMON_TIMERS_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;

/*
 * Room for so many timers at the same time: as long as there are no more,
 * adding one does not fail. False: no memory.
 */
bool timers_reserve(struct event_base *, size_t);

#endif
