/*
 * Turns method names into numbers, for the worker. A walk over lengths with one
 * comparison at the end: with some twenty names no hash is faster.
 */
#include <string.h>

#include "cdp/route.h"

static const struct {
	const char *name;
	size_t len;
} route_table[CDP_EV__MAX] = {
#define EVENT(name, method) [CDP_EV_##name] = { method, sizeof(method) - 1 },
#include "cdp/events.def"
#undef EVENT
};

enum cdp_event_kind
cdp_route_event(const char *method, size_t len)
{
	for (int i = 0; i < CDP_EV__MAX; i++) {
		if (route_table[i].len == len &&
		    memcmp(route_table[i].name, method, len) == 0)
			return (enum cdp_event_kind)i;
	}
	return CDP_EV__MAX;
}

const char *
cdp_event_name(enum cdp_event_kind kind)
{
	return kind < CDP_EV__MAX ? route_table[kind].name : "";
}
