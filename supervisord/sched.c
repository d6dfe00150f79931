/*
 * The order of waiting, in supervisord. Pure: time is passed in.
 */
#include "common/panic.h"
#include "supervisord/sched.h"

void
sched_init(struct sched *s)
{
	for (int i = 0; i < PRIORITY__MAX; i++)
		TAILQ_INIT(&s->classes[i]);
	s->arrivals = 0;
	s->count = 0;
}

void
sched_add(struct sched *s, struct sched_entry *e, enum run_priority priority,
    int64_t now_ms)
{
	ASSERT(!e->queued && priority < PRIORITY__MAX);
	e->priority = priority;
	e->order = ++s->arrivals;
	e->since_ms = now_ms;
	e->queued = true;
	e->held = false;
	TAILQ_INSERT_TAIL(&s->classes[priority], e, entry);
	s->count++;
}

void
sched_remove(struct sched *s, struct sched_entry *e)
{
	ASSERT(e->queued);
	TAILQ_REMOVE(&s->classes[e->priority], e, entry);
	e->queued = false;
	s->count--;
}

void
sched_hold(struct sched *s, struct sched_entry *e, bool held)
{
	ASSERT(e->queued && s->count > 0);
	e->held = held;
}

static int64_t
sched_rank(const struct sched_entry *e, int64_t now_ms)
{
	int64_t rank = (int64_t)e->priority;

	if (now_ms > e->since_ms)
		rank += (now_ms - e->since_ms) / SCHED_AGE_MS;
	return rank < PRIORITY__MAX - 1 ? rank : PRIORITY__MAX - 1;
}

/* Does a come before b? */
static bool
sched_before(
    const struct sched_entry *a, const struct sched_entry *b, int64_t now_ms)
{
	int64_t rank_a = sched_rank(a, now_ms), rank_b = sched_rank(b, now_ms);

	return rank_a != rank_b ? rank_a > rank_b : a->order < b->order;
}

struct sched_entry *
sched_first(const struct sched *s, int64_t now_ms)
{
	struct sched_entry *best = NULL, *e;

	for (int i = 0; i < PRIORITY__MAX; i++) {
		e = TAILQ_FIRST(&s->classes[i]);
		while (e != NULL && e->held)
			e = TAILQ_NEXT(e, entry);
		if (e != NULL &&
		    (best == NULL || sched_before(e, best, now_ms)))
			best = e;
	}
	return best;
}

size_t
sched_position(const struct sched *s, const struct sched_entry *entry,
    bool among_own, int64_t now_ms)
{
	const struct sched_entry *e;
	size_t position = 1;

	for (int i = 0; i < PRIORITY__MAX; i++)
		TAILQ_FOREACH(e, &s->classes[i], entry)
			if (e != entry &&
			    (!among_own || e->owner == entry->owner) &&
			    sched_before(e, entry, now_ms))
				position++;
	return position;
}
