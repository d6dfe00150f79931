/*
 * Spares, in supervisord: how many there are to be, and when one is made. A new
 * one never competes with a run that is just starting, and one that dies by
 * itself is made again ever more slowly.
 */
#include <stdlib.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "launch/launch.h"
#include "supervisord/link.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker_int.h"

#define FILL_BUSY_MS 250 /* a run that took one is over its start by then */
#define FILL_IDLE_MS 20  /* the result of one that ended is out by then */
#define DAMP_MIN_MS  1000
#define DAMP_MAX_MS  60000

struct spare {
	TAILQ_ENTRY(spare) entry;
	struct spares *owner;
	struct worker *worker;
	uint32_t flags;
	bool ready;
	bool ending; /* by our will */
};

struct spares {
	struct sup *sup;
	TAILQ_HEAD(, spare) list;
	struct event *timer;
	int64_t due_ms;  /* when it fires */
	uint32_t flags;  /* what runs wanted last */
	int64_t damp_ms; /* one died: so long until the next is made */
};

static const struct worker_ops spare_ops;

static size_t
spares_count(const struct spares *t)
{
	const struct spare *s;
	size_t n = 0;

	TAILQ_FOREACH(s, &t->list, entry)
		n += !s->ending;
	return n;
}

static void
spare_end(struct spare *s, const char *why)
{
	if (s->ending)
		return;
	s->ending = true;
	worker_kill(s->worker, ERR_WORKER_LOST, why);
}

static void
spare_free(struct spare **spare)
{
	struct spare *s = *spare;

	TAILQ_REMOVE(&s->owner->list, s, entry);
	worker_free(&s->worker);
	free(s);
	*spare = NULL;
}

static void
spares_arm(struct spares *t, int64_t ms)
{
	t->due_ms = clock_mono_ms() + ms;
	worker_arm(t->timer, ms);
}

static void
spare_on_ready(void *ctx)
{
	struct spare *s = ctx;

	s->ready = true;
	log_debug("cell %u: a spare is ready", s->worker->cell_id);
}

/* Without a run there is nothing to say. */
static void
spare_on_msg(void *ctx, const struct ipc_params *p)
{
	struct spare *s = ctx;

	worker_kill(s->worker, ERR_WORKER_PROTOCOL, "it has no run");
}

static void
spare_on_reaped(void *ctx, const struct worker_end *end)
{
	struct spare *s = ctx;
	struct spares *t = s->owner;

	if (!s->ending) {
		t->damp_ms = t->damp_ms == 0 ? DAMP_MIN_MS : t->damp_ms * 2;
		if (t->damp_ms > DAMP_MAX_MS)
			t->damp_ms = DAMP_MAX_MS;
		log_warn("a spare was lost: %s; the next one is made in %lld s",
		    end->text, (long long)t->damp_ms / 1000);
	}
	if (s->ending)
		spares_pump(t->sup);
	else
		spares_arm(t, t->damp_ms);
	spare_free(&s);
}

static const struct worker_ops spare_ops = {
	.on_ready = spare_on_ready,
	.on_msg = spare_on_msg,
	.on_reaped = spare_on_reaped,
};

static bool
spare_order(struct spares *t)
{
	struct ulid session = ulid_new(clock_stamp_ms());
	struct spare *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return false;
	s->owner = t;
	s->flags = t->flags;
	s->worker = cells_order_spare(
	    t->sup, &session, t->flags, "spare", &spare_ops, s);
	if (s->worker == NULL) {
		free(s);
		return false;
	}
	TAILQ_INSERT_TAIL(&t->list, s, entry);
	return true;
}

static bool
spares_may_be(const struct sup *sup)
{
	return sup->serving && !sup->stopping && sup->drained_ms == 0;
}

/* Runs come first: they take what slots and processors there are. */
static bool
spares_may_grow(const struct spares *t)
{
	const struct sup *sup = t->sup;

	return spares_may_be(sup) && tasks_queued(sup->tasks) == 0 &&
	    tasks_active(sup->tasks) + spares_count(t) <
	    (size_t)sup->settings.maxConcurrentRuns &&
	    spares_count(t) < (size_t)sup->settings.warmCells &&
	    link_has_room(sup->link, t->flags);
}

static void
spares_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct spares *t = arg;
	size_t most =
	    spares_may_be(t->sup) ? (size_t)t->sup->settings.warmCells : 0;
	struct spare *s, *next;

	TAILQ_FOREACH_SAFE(s, &t->list, entry, next) {
		if (spares_count(t) > most)
			spare_end(s, "not needed");
		else if (s->flags != t->flags)
			spare_end(s, "runs want other cells");
	}
	while (spares_may_grow(t) && spare_order(t))
		continue;
}

void
spares_pump(struct sup *sup)
{
	struct spares *t = sup->spares;
	int64_t ms = t->damp_ms;

	if (ms == 0)
		ms = tasks_active(sup->tasks) > 0 ? FILL_BUSY_MS : FILL_IDLE_MS;
	if (!spares_may_be(sup))
		ms = 0;
	/* Else runs that end all the time would put it off for ever. */
	if (!evtimer_pending(t->timer, NULL) ||
	    clock_mono_ms() + ms < t->due_ms)
		spares_arm(t, ms);
}

struct worker *
spares_claim(struct sup *sup, uint32_t flags)
{
	struct spares *t = sup->spares;
	struct spare *s, *best = NULL;
	struct worker *w;

	t->flags = flags;
	TAILQ_FOREACH(s, &t->list, entry)
		if (!s->ending && s->flags == flags &&
		    (best == NULL || (s->ready && !best->ready)))
			best = s;
	spares_arm(t, t->damp_ms > 0 ? t->damp_ms : FILL_BUSY_MS);
	if (best == NULL || !worker_is_sound(best->worker))
		return NULL;
	if (best->ready)
		t->damp_ms = 0;
	w = best->worker;
	best->worker = NULL;
	spare_free(&best);
	return w;
}

bool
spares_give_up_one(struct sup *sup)
{
	struct spare *s;

	TAILQ_FOREACH(s, &sup->spares->list, entry)
		if (!s->ending) {
			spare_end(s, "its slot is needed");
			return true;
		}
	return false;
}

size_t
spares_ready(const struct sup *sup)
{
	const struct spare *s;
	size_t n = 0;

	TAILQ_FOREACH(s, &sup->spares->list, entry)
		n += s->ready && !s->ending;
	return n;
}

struct spares *
spares_new(struct sup *sup)
{
	struct spares *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->sup = sup;
	t->flags = SPAWN_BROWSER | SPAWN_TEXT_ONLY;
	TAILQ_INIT(&t->list);
	t->timer = evtimer_new(sup->base, spares_on_timer, t);
	if (t->timer == NULL)
		spares_free(&t);
	return t;
}

void
spares_free(struct spares **spares)
{
	struct spares *t = *spares;
	struct spare *s;

	if (t == NULL)
		return;
	while ((s = TAILQ_FIRST(&t->list)) != NULL)
		spare_free(&s);
	if (t->timer != NULL)
		event_free(t->timer);
	free(t);
	*spares = NULL;
}
