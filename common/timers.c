/*
 * timers: room for deadlines, made while there is memory. Runs in every program
 * with an event loop, at its start. Never leaves a timer behind.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "common/timers.h"

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
}

bool
timers_reserve(struct event_base *base, size_t n)
{
	static const struct timeval never = { .tv_sec = 3600 };
	struct event **timers = calloc(n, sizeof(struct event *));
	bool good = timers != NULL;

	for (size_t i = 0; i < n && good; i++) {
		timers[i] = evtimer_new(base, on_time, NULL);
		good = timers[i] != NULL && evtimer_add(timers[i], &never) == 0;
	}
	for (size_t i = 0; i < n && timers != NULL && timers[i] != NULL; i++)
		event_free(timers[i]);
	free(timers);
	return good;
}
