/*
 * The order of waiting, in supervisord. Pure: time is passed in.
 */
#include <stdlib.h>

#include "common/panic.h"
#include "supervisord/sched.h"

static int
sched_owner_compare(const struct sched_owner *a, const struct sched_owner *b)
{
	return a->uid < b->uid ? -1 : a->uid > b->uid;
}

RB_GENERATE_INTERNAL(sched_owners, sched_owner, entry, sched_owner_compare,
    static __attribute__((unused)))

static struct sched_owner *
sched_owner_find(const struct sched *s, uint32_t uid)
{
	struct sched_owner key = { .uid = uid };

	return RB_FIND(
	    sched_owners, (struct sched_owners *)(uintptr_t)&s->owners, &key);
}

void
sched_init(struct sched *s)
{
	RB_INIT(&s->owners);
	s->arrivals = 0;
	s->starts = 0;
	s->count = 0;
}

struct sched_owner *
sched_owner_take(struct sched *s, uint32_t uid, bool unlimited)
{
	struct sched_owner *o = sched_owner_find(s, uid);

	if (o == NULL) {
		o = calloc(1, sizeof(*o));
		if (o == NULL)
			return NULL;
		o->uid = uid;
		o->unlimited = unlimited;
		for (int i = 0; i < PRIORITY__MAX; i++)
			TAILQ_INIT(&o->classes[i]);
		RB_INSERT(sched_owners, &s->owners, o);
	}
	o->refs++;
	return o;
}

void
sched_owner_give(struct sched *s, struct sched_owner **owner)
{
	struct sched_owner *o = *owner;

	*owner = NULL;
	if (o == NULL)
		return;
	ASSERT(o->refs > 0);
	if (--o->refs > 0)
		return;
	ASSERT(o->queued == 0 && o->active == 0);
	RB_REMOVE(sched_owners, &s->owners, o);
	free(o);
}

void
sched_start(struct sched *s, struct sched_owner *o)
{
	o->active++;
	o->started = ++s->starts;
}

void
sched_stop(struct sched_owner *o)
{
	ASSERT(o->active > 0);
	o->active--;
}

static bool
sched_owner_is_full(const struct sched_owner *o, size_t most)
{
	return !o->unlimited && o->active >= most;
}

bool
sched_is_full(const struct sched *s, uint32_t uid, size_t most)
{
	const struct sched_owner *o = sched_owner_find(s, uid);

	return o != NULL && sched_owner_is_full(o, most);
}

void
sched_add(struct sched *s, struct sched_entry *e, enum run_priority priority,
    int64_t now_ms)
{
	ASSERT(!e->queued && e->owner != NULL && priority < PRIORITY__MAX);
	e->priority = priority;
	e->order = ++s->arrivals;
	e->since_ms = now_ms;
	e->queued = true;
	e->held = false;
	TAILQ_INSERT_TAIL(&e->owner->classes[priority], e, entry);
	e->owner->queued++;
	s->count++;
}

void
sched_remove(struct sched *s, struct sched_entry *e)
{
	ASSERT(e->queued);
	TAILQ_REMOVE(&e->owner->classes[e->priority], e, entry);
	e->queued = false;
	e->owner->queued--;
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

/* Does a come before b, of the same owner? */
static bool
sched_before(
    const struct sched_entry *a, const struct sched_entry *b, int64_t now_ms)
{
	int64_t rank_a = sched_rank(a, now_ms), rank_b = sched_rank(b, now_ms);

	return rank_a != rank_b ? rank_a > rank_b : a->order < b->order;
}

static struct sched_entry *
sched_owner_first(const struct sched_owner *o, int64_t now_ms)
{
	struct sched_entry *best = NULL, *e;

	for (int i = 0; i < PRIORITY__MAX; i++) {
		e = TAILQ_FIRST(&o->classes[i]);
		while (e != NULL && e->held)
			e = TAILQ_NEXT(e, entry);
		if (e != NULL &&
		    (best == NULL || sched_before(e, best, now_ms)))
			best = e;
	}
	return best;
}

/*
 * With as many slots, is a's turn before b's? The first entries decide between
 * those who never had a slot.
 */
static bool
sched_turn_before(const struct sched_entry *a, const struct sched_entry *b)
{
	return a->owner->started != b->owner->started
	    ? a->owner->started < b->owner->started
	    : a->order < b->order;
}

struct sched_entry *
sched_first(const struct sched *s, size_t most, int64_t now_ms)
{
	struct sched_entry *best = NULL, *e;
	struct sched_owner *o;

	RB_FOREACH(
	    o, sched_owners, (struct sched_owners *)(uintptr_t)&s->owners) {
		if (o->queued == 0 || sched_owner_is_full(o, most))
			continue;
		e = sched_owner_first(o, now_ms);
		if (e != NULL &&
		    (best == NULL || o->active < best->owner->active ||
			(o->active == best->owner->active &&
			    sched_turn_before(e, best))))
			best = e;
	}
	return best;
}

/* How many entries of another owner start before one with that many before. */
static size_t
sched_others_before(const struct sched_owner *o,
    const struct sched_entry *entry, size_t level, int64_t now_ms)
{
	size_t rounds = level > o->active ? level - o->active : 0;
	const struct sched_entry *first;

	if (o->queued <= rounds)
		return o->queued;
	if (o->active > level)
		return 0;
	first = sched_owner_first(o, now_ms);
	return rounds + (first != NULL && sched_turn_before(first, entry));
}

size_t
sched_position(const struct sched *s, const struct sched_entry *entry,
    bool among_own, int64_t now_ms)
{
	const struct sched_owner *own = entry->owner;
	const struct sched_entry *e;
	size_t before = 0, others = 0;
	struct sched_owner *o;

	for (int i = 0; i < PRIORITY__MAX; i++)
		TAILQ_FOREACH(e, &own->classes[i], entry)
			before += e != entry && sched_before(e, entry, now_ms);
	if (!among_own)
		RB_FOREACH(o, sched_owners,
		    (struct sched_owners *)(uintptr_t)&s->owners)
			if (o != own)
				others += sched_others_before(
				    o, entry, own->active + before, now_ms);
	return before + others + 1;
}
