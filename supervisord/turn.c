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
	struct event *gather;
	struct event *committer; /* a job of it is over; NULL: there is none */
	struct event_base *base;
	struct store *store;
	void (*on_broken)(void *arg);
	void (*on_commit)(void *arg);
	void *arg;
	uint64_t serial;         /* of the last commit */
	size_t away;             /* it answered and have not been heard since */
	int64_t began_us;        /* when the commit under way did */
	int64_t ended_us;        /* when the last commit did */
	int64_t gather_until_us; /* how long those are waited for */
};

/* The disk has it: all that waited for it is told, in one piece of the log. */
static void
turn_tell(struct turn *t)
{
	enum store_err err;
	int64_t took_us;

	t->serial++;
	t->away = 0;
	log_hold();
	err = store_commit_tell(t->store);
	log_release();
	if (err == STORE_OK && t->on_commit != NULL)
		t->on_commit(t->arg);
	t->ended_us = clock_mono_us();
	took_us = (t->ended_us - t->began_us) / 2;
	t->gather_until_us = t->ended_us +
	    (took_us < TURN_GATHER_MAX_US ? took_us : TURN_GATHER_MAX_US);
	if (err != STORE_OK)
		log_err("commit failed: %s", store_strerror(err));
	if (err == STORE_BROKEN)
		t->on_broken(t->arg);
	else if (store_hurried(t->store))
		turn_on_pending(t);
}

static void
turn_on_committer(evutil_socket_t fd, short what, void *arg)
{
	struct turn *t = arg;

	if (store_commit_go_on(t->store))
		turn_tell(t);
}

static void
turn_end(evutil_socket_t fd, short what, void *arg)
{
	struct turn *t = arg;

	if (t->store == NULL)
		return;
	if (store_committing(t->store)) {
		/* It follows the commit that is under way. */
		if (!store_crowded(t->store))
			return;
		store_commit_wait(t->store);
		turn_tell(t);
	}
	event_del(t->later);
	event_del(t->gather);
	t->began_us = clock_mono_us();
	store_commit_start(t->store, clock_stamp_ms());
	if (store_commit_go_on(t->store))
		turn_tell(t);
}

static void
turn_later(evutil_socket_t fd, short what, void *arg)
{
	struct turn *t = arg;

	if (t->store != NULL)
		store_hurry(t->store);
}

void
turn_break(struct turn *t, const char *name, const char *why)
{
	log_err("%s: %s: starting anew from what is stored", name, why);
	t->on_broken(t->arg);
}

struct turn *
turn_new(struct event_base *base, void (*on_broken)(void *arg),
    void (*on_commit)(void *arg), void *arg)
{
	struct turn *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->base = base;
	t->on_broken = on_broken;
	t->on_commit = on_commit;
	t->arg = arg;
	t->end = event_new(base, -1, 0, turn_end, t);
	t->later = evtimer_new(base, turn_later, t);
	t->gather = evtimer_new(base, turn_later, t);
	if (t->end == NULL || t->later == NULL || t->gather == NULL)
		turn_free(&t);
	return t;
}

void
turn_set_store(struct turn *t, struct store *store)
{
	t->store = store;
}

bool
turn_watch_committer(struct turn *t)
{
	t->committer = event_new(t->base, store_committer_fd(t->store),
	    EV_READ | EV_PERSIST, turn_on_committer, t);
	return t->committer != NULL && event_add(t->committer, NULL) == 0;
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
	struct turn *t = arg;
	int64_t now_us = clock_mono_us();
	int64_t from_us = t->store != NULL && store_committing(t->store)
	    ? now_us
	    : t->ended_us;
	int64_t left_us = from_us + TURN_LATER_MS * 1000 - now_us;
	struct timeval tv = { .tv_usec = (suseconds_t)left_us };

	if (t->store == NULL || left_us <= 0 ||
	    evtimer_add(t->later, &tv) == -1)
		turn_later(-1, 0, t);
}

void
turn_answered(struct turn *t, uint64_t *mark)
{
	if (*mark == t->serial)
		return;
	*mark = t->serial;
	t->away++;
}

void
turn_heard(struct turn *t, uint64_t *mark)
{
	if (*mark == t->serial && t->away > 0 && --t->away == 0 &&
	    t->store != NULL)
		store_hurry(t->store);
	*mark = 0;
}

bool
turn_gathers(struct turn *t)
{
	int64_t left_us = t->gather_until_us - clock_mono_us();
	struct timeval tv = { .tv_usec = (suseconds_t)left_us };

	if (t->away == 0 || left_us <= 0)
		return false;
	return evtimer_pending(t->gather, NULL) ||
	    evtimer_add(t->gather, &tv) == 0;
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
	if (t->gather != NULL)
		event_free(t->gather);
	if (t->committer != NULL)
		event_free(t->committer);
	free(t);
	*turn = NULL;
}
