/*
 * The end of a loop turn, in supervisord. libevent 2.1 has no hook there, but
 * an event activated by hand goes to the tail of the queue of active events:
 * behind all that was ready when this turn began, and before the next poll. A
 * lower priority would not do: under steady traffic it might never run.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "storage/store.h"
#include "supervisord/turn.h"

struct turn {
	struct event *end;
	struct event *later;
	struct store *store;
	void (*on_broken)(void *arg);
	void *arg;
};

static void
turn_end(evutil_socket_t fd, short what, void *arg)
{
	struct turn *t = arg;
	enum store_err err;

	event_del(t->later);
	if (t->store == NULL)
		return;
	err = store_commit(t->store, clock_stamp_ms());
	if (err != STORE_OK)
		log_err("commit failed: %s", store_strerror(err));
	if (err == STORE_BROKEN)
		t->on_broken(t->arg);
}

static void
turn_later(evutil_socket_t fd, short what, void *arg)
{
	struct turn *t = arg;

	if (t->store != NULL)
		store_hurry(t->store);
}

struct turn *
turn_new(struct event_base *base, void (*on_broken)(void *arg), void *arg)
{
	struct turn *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->on_broken = on_broken;
	t->arg = arg;
	t->end = event_new(base, -1, 0, turn_end, t);
	t->later = evtimer_new(base, turn_later, t);
	if (t->end == NULL || t->later == NULL)
		turn_free(&t);
	return t;
}

void
turn_set_store(struct turn *t, struct store *store)
{
	t->store = store;
}

void
turn_on_pending(void *arg)
{
	struct turn *t = arg;

	event_active(t->end, EV_TIMEOUT, 0);
}

void
turn_on_deferred(void *arg)
{
	struct timeval tv = { .tv_usec = TURN_LATER_MS * 1000 };
	struct turn *t = arg;

	evtimer_add(t->later, &tv);
}

void
turn_free(struct turn **turn)
{
	struct turn *t = *turn;

	if (t == NULL)
		return;
	if (t->end != NULL)
		event_free(t->end);
	if (t->later != NULL)
		event_free(t->later);
	free(t);
	*turn = NULL;
}
