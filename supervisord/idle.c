/*
 * Idleness of supervisord: a timer that runs while no client is connected and
 * no run is alive, told by those who count both.
 */
#include <stdbool.h>
#include <stdlib.h>

#include <event2/event.h>

#include "common/log.h"
#include "supervisord/client.h"
#include "supervisord/idle.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

struct idle {
	struct sup *sup;
	struct event *timer;
	void (*on_over)(struct sup *);
};

static bool
idle_now(const struct sup *sup)
{
	return sup->settings.idleExitMs > 0 && sup->serving && !sup->stopping &&
	    !sup->inspecting && clients_count(sup->clients) == 0 &&
	    tasks_none(sup->tasks);
}

static void
idle_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct idle *i = arg;

	if (!idle_now(i->sup))
		return;
	log_info("nobody has needed this service for %lld ms: it ends",
	    (long long)i->sup->settings.idleExitMs);
	i->on_over(i->sup);
}

struct idle *
idle_new(struct sup *sup, void (*on_over)(struct sup *))
{
	struct idle *i = calloc(1, sizeof(*i));

	if (i == NULL)
		return NULL;
	i->sup = sup;
	i->on_over = on_over;
	i->timer = evtimer_new(sup->base, idle_on_timer, i);
	if (i->timer == NULL)
		idle_free(&i);
	return i;
}

void
idle_free(struct idle **idle)
{
	struct idle *i = *idle;

	if (i == NULL)
		return;
	if (i->timer != NULL)
		event_free(i->timer);
	free(i);
	*idle = NULL;
}

void
idle_look(struct idle *i)
{
	struct timeval tv;

	if (i == NULL)
		return;
	if (!idle_now(i->sup)) {
		event_del(i->timer);
		return;
	}
	tv.tv_sec = i->sup->settings.idleExitMs / 1000;
	tv.tv_usec = i->sup->settings.idleExitMs % 1000 * 1000;
	event_add(i->timer, &tv);
}
