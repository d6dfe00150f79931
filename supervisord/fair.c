/*
 * Whose turn it is, in supervisord: the loop serves the connections that have
 * something in any order, so that a user with many of them, each with a request
 * that takes long, had nearly all of its time.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "common/clock.h"
#include "supervisord/client.h"
#include "supervisord/fair.h"
#include "supervisord/sup.h"

#define FAIR_US        4000  /* of one user in a turn of the loop */
#define FAIR_WINDOW_US 10000 /* what was used longer ago does not count */

struct fair {
	struct sup *sup;
	/*
	 * A timer that is due at once: it runs when the loop has looked at all
	 * connections again, and behind those that have something.
	 */
	struct event *turn;
};

static void
fair_arm(struct fair *f)
{
	static const struct timeval at_once = { 0, 0 };

	if (!evtimer_pending(f->turn, NULL))
		evtimer_add(f->turn, &at_once);
}

static void
fair_hold(struct fair *f, struct share *s, bool hold)
{
	if (s->fair.held == hold)
		return;
	s->fair.held = hold;
	clients_hold(f->sup->clients, s, hold);
}

void
fair_spend(struct fair *f, struct share *s, int64_t us)
{
	int64_t now = clock_mono_us();

	if (now - s->fair.since_us > FAIR_WINDOW_US) {
		s->fair.since_us = now;
		s->fair.spent_us = 0;
	}
	s->fair.spent_us += us;
	if (s->fair.spent_us < FAIR_US || s->fair.held ||
	    share_is_alone(&f->sup->shares))
		return;
	fair_hold(f, s, true);
	fair_arm(f);
}

/* True: it is over. */
static bool
fair_step(struct fair *f, struct fair_work *w)
{
	int64_t began = clock_mono_us();
	struct share *s = w->share;
	bool over;

	TAILQ_REMOVE(&s->fair.works, w, entry);
	over = w->step(w);
	if (!over)
		TAILQ_INSERT_HEAD(&s->fair.works, w, entry);
	fair_spend(f, s, clock_mono_us() - began);
	if (over)
		share_give(&f->sup->shares, &s);
	return over;
}

void
fair_start(struct fair *f, struct share *s, struct fair_work *w)
{
	bool first = TAILQ_EMPTY(&s->fair.works);

	w->share = share_again(s);
	TAILQ_INSERT_TAIL(&s->fair.works, w, entry);
	/* What is begun holds memory: one of a user at a time. */
	if (!first || !fair_step(f, w))
		fair_arm(f);
}

/* The works of a user for this turn; its share may be gone then. */
static bool
fair_serve(struct fair *f, struct share *s)
{
	struct share *kept = share_again(s);
	struct fair_work *w;
	bool more;

	s->fair.since_us = clock_mono_us();
	s->fair.spent_us = 0;
	fair_hold(f, s, false);
	while ((w = TAILQ_FIRST(&s->fair.works)) != NULL &&
	    s->fair.spent_us < FAIR_US)
		(void)fair_step(f, w);
	more = w != NULL || s->fair.held;
	share_give(&f->sup->shares, &kept);
	return more;
}

static void
fair_on_turn(evutil_socket_t fd, short what, void *arg)
{
	struct fair *f = arg;
	struct share *s, *next;
	bool more = false;

	for (s = share_first(&f->sup->shares); s != NULL; s = next) {
		next = share_next(s);
		more |= fair_serve(f, s);
	}
	if (more)
		fair_arm(f);
}

struct fair *
fair_new(struct sup *sup)
{
	struct fair *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return NULL;
	f->sup = sup;
	f->turn = evtimer_new(sup->base, fair_on_turn, f);
	if (f->turn == NULL)
		fair_free(&f);
	return f;
}

void
fair_free(struct fair **fair)
{
	struct fair *f = *fair;
	struct fair_work *w;
	struct share *s, *next;

	if (f == NULL)
		return;
	for (s = share_first(&f->sup->shares); s != NULL; s = next) {
		struct share *kept = share_again(s);

		next = share_next(s);
		while ((w = TAILQ_FIRST(&kept->fair.works)) != NULL) {
			s = w->share;
			TAILQ_REMOVE(&kept->fair.works, w, entry);
			(void)w->step(w);
			share_give(&f->sup->shares, &s);
		}
		share_give(&f->sup->shares, &kept);
	}
	if (f->turn != NULL)
		event_free(f->turn);
	free(f);
	*fair = NULL;
}
