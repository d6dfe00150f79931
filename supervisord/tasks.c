/*
 * All live runs of supervisord: found by id, queued, counted.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/panic.h"
#include "launch/launch.h"
#include "supervisord/idle.h"
#include "supervisord/intake.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"
#include "supervisord/worker.h"

static int
task_cmp(const struct task *a, const struct task *b)
{
	return memcmp(&a->rec.id, &b->rec.id, sizeof(a->rec.id));
}

RB_GENERATE_INTERNAL(
    task_tree, task, entry, task_cmp, static __attribute__((unused)))

void
tasks_insert(struct tasks *ts, struct task *t)
{
	RB_INSERT(task_tree, &ts->tree, t);
}

void
tasks_remove(struct tasks *ts, struct task *t)
{
	RB_REMOVE(task_tree, &ts->tree, t);
	idle_look(ts->sup->idle);
}

bool
tasks_none(const struct tasks *ts)
{
	return RB_EMPTY(&ts->tree) && ts->reserved == 0;
}

void
tasks_check_idle(struct tasks *ts)
{
	void (*on_idle)(struct sup *) = ts->on_idle;

	if (on_idle == NULL || ts->settling != 0 ||
	    (ts->active != 0 && !ts->may_be_active))
		return;
	ts->on_idle = NULL;
	on_idle(ts->sup);
}

static bool
tasks_may_start(const struct tasks *ts)
{
	const struct sup *sup = ts->sup;

	return !sup->stopping && sup->serving && sup->drained_ms == 0 &&
	    ts->active < (size_t)sup->settings.maxConcurrentRuns &&
	    ts->active + sup->checks < LAUNCH_WORKER_SLOTS;
}

/* The slots one user may have. */
static size_t
tasks_share(const struct tasks *ts)
{
	const struct settings *s = &ts->sup->settings;

	if (s->maxActiveRunsPerUid > 0)
		return (size_t)s->maxActiveRunsPerUid;
	return s->maxConcurrentRuns > 1 ? (size_t)s->maxConcurrentRuns - 1 : 1;
}

bool
tasks_full(const struct tasks *ts, uint32_t uid)
{
	return ts->active >= (size_t)ts->sup->settings.maxConcurrentRuns ||
	    sched_is_full(&ts->queue, uid, tasks_share(ts));
}

static void
tasks_on_pump(evutil_socket_t fd, short what, void *arg)
{
	struct tasks *ts = arg;
	struct sched_entry *e;

	while (tasks_may_start(ts)) {
		e = sched_first(&ts->queue, tasks_share(ts), clock_mono_ms());
		if (e == NULL)
			break;
		task_start((struct task *)(void *)((char *)e -
		    offsetof(struct task, queue)));
	}
}

struct tasks *
tasks_new(struct sup *sup)
{
	struct tasks *ts = calloc(1, sizeof(*ts));

	if (ts == NULL)
		return NULL;
	ts->sup = sup;
	RB_INIT(&ts->tree);
	sched_init(&ts->queue);
	ts->pump = event_new(sup->base, -1, 0, tasks_on_pump, ts);
	if (ts->pump == NULL)
		tasks_free(&ts);
	return ts;
}

void
tasks_free(struct tasks **tasks)
{
	struct tasks *ts = *tasks;
	struct task *t;

	if (ts == NULL)
		return;
	while ((t = RB_MIN(task_tree, &ts->tree)) != NULL) {
		RB_REMOVE(task_tree, &ts->tree, t);
		task_free(&t);
	}
	if (ts->pump != NULL)
		event_free(ts->pump);
	free(ts);
	*tasks = NULL;
}

struct task *
tasks_find(struct tasks *ts, const struct ulid *id)
{
	struct task key;

	key.rec.id = *id;
	return RB_FIND(task_tree, &ts->tree, &key);
}

size_t
tasks_active(const struct tasks *ts)
{
	return ts->active;
}

void
tasks_count(const struct tasks *ts, uint32_t uid, size_t *ret_active,
    size_t *ret_queued)
{
	size_t active = 0, queued = 0;
	struct task *t;

	RB_FOREACH(t, task_tree, (struct task_tree *)(uintptr_t)&ts->tree) {
		active += t->rec.uid == uid && t->active;
		queued += t->rec.uid == uid && t->queue.queued;
	}
	*ret_active = active;
	*ret_queued = queued;
}

size_t
tasks_queued(const struct tasks *ts)
{
	return ts->queue.count;
}

void
tasks_reserve(struct tasks *ts)
{
	ts->reserved++;
}

void
tasks_release(struct tasks *ts)
{
	ASSERT(ts->reserved > 0);
	ts->reserved--;
}

size_t
tasks_places_taken(const struct tasks *ts)
{
	return ts->queue.count + ts->reserved;
}

size_t
tasks_position(const struct tasks *ts, const struct task *t, bool among_own)
{
	return t->queue.queued
	    ? sched_position(&ts->queue, &t->queue, among_own, clock_mono_ms())
	    : 0;
}

void
tasks_pump(struct tasks *ts)
{
	event_active(ts->pump, EV_TIMEOUT, 0);
}

void
tasks_on_idle(struct tasks *ts, void (*on_idle)(struct sup *))
{
	ts->on_idle = on_idle;
	ts->may_be_active = false;
	tasks_check_idle(ts);
}

void
tasks_on_settled(struct tasks *ts, void (*on_settled)(struct sup *))
{
	ts->on_idle = on_settled;
	ts->may_be_active = true;
	tasks_check_idle(ts);
}

void
tasks_stop(struct tasks *ts)
{
	struct task *t;

	RB_FOREACH(t, task_tree, &ts->tree) {
		if (t->stage != TASK_STARTING && t->stage != TASK_RUNNING)
			continue;
		/* What its worker says from here on is due to the stop. */
		t->abandoned = !intake_end(t->intake)->given;
		evtimer_del(t->deadline);
		if (t->worker != NULL)
			worker_stop(t->worker, "shutdown");
		else
			task_set_active(t, false);
	}
}
