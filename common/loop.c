/*
 * loop: makes the event loop of programs that load a filter of system calls.
 */
#include <stddef.h>

#include <event2/event.h>

#include "common/loop.h"

struct event_base *
loop_new(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base = NULL;

	if (config == NULL)
		return NULL;
	if (event_config_avoid_method(config, "poll") == 0 &&
	    event_config_avoid_method(config, "select") == 0)
		base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}
