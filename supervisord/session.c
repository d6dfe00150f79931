/*
 * Kept sessions while supervisord runs: who uses them, who waits, which have a
 * living browser. What is durable of them is their row; all of this is made
 * anew from runs and cells. Decides nothing that is not written.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/tree.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/panic.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/cells.h"
#include "supervisord/link.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"
#include "supervisord/waiters.h"

/* A session with live runs or a living browser. */
struct session_use {
	RB_ENTRY(session_use) entry;
	struct sup *sup;
	struct ulid id;
	char name[ID_CHARS + 1];
	TAILQ_HEAD(, task) tasks; /* all live runs, the user too */
	struct task *user;
	struct event *idle;
	int64_t idle_since_ms;
	bool closing; /* its cell is */
	bool ending;  /* and then its profile goes */
	struct waiters ended, emptied;
};

RB_HEAD(use_tree, session_use);

struct sessions {
	struct sup *sup;
	struct use_tree tree;
};

static int
use_cmp(const struct session_use *a, const struct session_use *b)
{
	return memcmp(&a->id, &b->id, sizeof(a->id));
}

RB_GENERATE_INTERNAL(
    use_tree, session_use, entry, use_cmp, static __attribute__((unused)))

static struct session_use *
use_find(struct sup *sup, const struct ulid *id)
{
	struct session_use key = { .id = *id };

	return RB_FIND(use_tree, &sup->sessions->tree, &key);
}

/* One that is in no tree. */
static void
use_discard(struct session_use *u)
{
	if (u != NULL)
		event_free(u->idle);
	free(u);
}

static void
use_free(struct session_use *u)
{
	ASSERT(TAILQ_EMPTY(&u->tasks));
	RB_REMOVE(use_tree, &u->sup->sessions->tree, u);
	waiters_clear(&u->ended);
	waiters_clear(&u->emptied);
	use_discard(u);
}

/* Goes when nothing is left that it is about. */
static void
use_tidy(struct session_use *u)
{
	if (TAILQ_EMPTY(&u->tasks) && !u->closing &&
	    !cells_living(u->sup, &u->id))
		use_free(u);
}

/* While one run uses the session the others wait, in their places. */
static void
use_hold(struct session_use *u)
{
	struct sched *queue = &u->sup->tasks->queue;
	bool held = u->user != NULL || u->closing;
	struct task *t;

	TAILQ_FOREACH(t, &u->tasks, by_session)
		if (t->queue.queued)
			sched_hold(queue, &t->queue, held);
	if (!held)
		tasks_pump(u->sup->tasks);
}

/* Closing a browser. */

static void
use_closed(void *arg)
{
	struct session_use *u = arg;

	u->closing = false;
	if (u->ending)
		link_forget(u->sup->link, &u->id);
	u->ending = false;
	waiters_call(&u->ended);
	use_hold(u);
	use_tidy(u);
}

/* May free it. */
static void
use_close(struct session_use *u)
{
	if (u->closing)
		return;
	u->closing = true;
	evtimer_del(u->idle);
	use_hold(u);
	cells_close(u->sup, &u->id, use_closed, u);
}

static void
use_on_idle(evutil_socket_t fd, short what, void *arg)
{
	struct session_use *u = arg;

	if (u->user != NULL)
		return;
	log_info("%s: its browser was idle: it is closed", u->name);
	use_close(u);
}

static bool
use_is_idle(const struct session_use *u)
{
	return u->user == NULL && !u->closing && cells_living(u->sup, &u->id);
}

/* Closes the browsers longest unused while too many wait. */
static void
sessions_trim(struct sessions *ss)
{
	struct session_use *u, *oldest;
	size_t tries = sessions_living(ss->sup);
	int64_t count;

	for (; tries > 0; tries--) {
		oldest = NULL;
		count = 0;
		RB_FOREACH(u, use_tree, &ss->tree) {
			if (!use_is_idle(u))
				continue;
			count++;
			if (oldest == NULL ||
			    u->idle_since_ms < oldest->idle_since_ms)
				oldest = u;
		}
		if (oldest == NULL ||
		    count <= ss->sup->settings.maxLivingSessions)
			return;
		log_info(
		    "%s: its browser makes room: it is closed", oldest->name);
		use_close(oldest);
	}
}

/* Its browser waits for the next run. */
static void
use_rest(struct session_use *u)
{
	int64_t ms = u->sup->settings.sessionIdleMs;
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	u->idle_since_ms = clock_mono_ms();
	evtimer_add(u->idle, &tv);
	sessions_trim(u->sup->sessions);
}

/* It died while nobody used it. */
static void
sessions_on_gone(struct sup *sup, const struct ulid *id)
{
	struct session_use *u = use_find(sup, id);

	if (u == NULL || u->closing)
		return;
	log_info("%s: its browser is gone", u->name);
	evtimer_del(u->idle);
	use_tidy(u);
}

/* Runs of a session. */

static struct session_use *
use_new(struct sup *sup, const struct ulid *id)
{
	struct session_use *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->sup = sup;
	u->id = *id;
	id_format("sess_", id, u->name);
	TAILQ_INIT(&u->tasks);
	STAILQ_INIT(&u->ended);
	STAILQ_INIT(&u->emptied);
	u->idle = evtimer_new(sup->base, use_on_idle, u);
	if (u->idle == NULL) {
		free(u);
		return NULL;
	}
	return u;
}

bool
session_prepare(struct task *t)
{
	t->new_use = use_new(t->sup, &t->rec.session);
	return t->new_use != NULL;
}

void
session_join(struct task *t)
{
	struct session_use *u = use_find(t->sup, &t->rec.session);

	if (u == NULL) {
		u = t->new_use;
		RB_INSERT(use_tree, &t->sup->sessions->tree, u);
	} else
		use_discard(t->new_use);
	t->new_use = NULL;
	t->use = u;
	TAILQ_INSERT_TAIL(&u->tasks, t, by_session);
	if (t->queue.queued && (u->user != NULL || u->closing))
		sched_hold(&t->sup->tasks->queue, &t->queue, true);
}

void
session_enter(struct task *t)
{
	struct session_use *u = t->use;

	if (u == NULL)
		return;
	ASSERT(u->user == NULL && !u->closing);
	u->user = t;
	evtimer_del(u->idle);
	use_hold(u);
}

void
session_yield(struct task *t)
{
	struct session_use *u = t->use;

	if (u == NULL || u->user != t)
		return;
	u->user = NULL;
	use_hold(u);
	/* Others may come, or nobody: it may end in the queue. */
	if (use_is_idle(u))
		use_rest(u);
}

void
session_rest(struct sup *sup, const struct ulid *id)
{
	struct session_use *u = use_find(sup, id);

	if (u == NULL && (u = use_new(sup, id)) != NULL)
		RB_INSERT(use_tree, &sup->sessions->tree, u);
	if (u == NULL)
		cells_close(sup, id, NULL, NULL);
	else if (u->user == NULL && !u->closing)
		use_rest(u);
}

void
session_drop(struct task *t)
{
	struct session_use *u = t->use;

	use_discard(t->new_use);
	t->new_use = NULL;
	if (u == NULL)
		return;
	TAILQ_REMOVE(&u->tasks, t, by_session);
	t->use = NULL;
	if (u->user == t)
		u->user = NULL;
}

void
session_leave(struct task *t)
{
	struct session_use *u = t->use;
	bool kept = !t->rec.owns_session || t->rec.status == RUN_SUCCEEDED ||
	    t->rec.status == RUN_PARTIAL_SUCCESS;
	bool used;

	if (u == NULL)
		return;
	used = u->user == t;
	session_drop(t);
	if (!kept) {
		session_end(u->sup, &t->rec.session, NULL, NULL);
		return;
	}
	use_hold(u);
	if (TAILQ_EMPTY(&u->tasks))
		waiters_call(&u->emptied);
	if (used && use_is_idle(u))
		use_rest(u);
	else
		use_tidy(u);
	if (t->rec.owns_session)
		session_bound(t->sup, t->rec.uid, &t->rec.session);
}

void
session_look(struct sup *sup, const struct ulid *id, struct session_view *ret)
{
	struct session_use *u = use_find(sup, id);
	struct task *t;

	memset(ret, 0, sizeof(*ret));
	ret->living = cells_living(sup, id);
	if (u == NULL)
		return;
	ret->busy = u->user != NULL;
	TAILQ_FOREACH(t, &u->tasks, by_session)
		ret->waiting += t != u->user;
}

/* Ends. */

void
session_end(
    struct sup *sup, const struct ulid *id, void (*done)(void *), void *arg)
{
	struct session_use *u = use_find(sup, id);

	session_state_remove(sup->store, id);
	if (u == NULL) {
		link_forget(sup->link, id);
		if (done != NULL)
			done(arg);
		return;
	}
	if (done != NULL && !waiters_add(&u->ended, done, arg))
		done(arg);
	u->ending = true;
	use_close(u);
}

void
session_empty(struct sup *sup, const struct ulid *id, int64_t actor,
    void (*emptied)(void *), void *arg)
{
	struct session_use *u = use_find(sup, id);
	struct task *t, *next;

	if (u == NULL || TAILQ_EMPTY(&u->tasks) ||
	    !waiters_add(&u->emptied, emptied, arg)) {
		emptied(arg);
		return;
	}
	TAILQ_FOREACH_SAFE(t, &u->tasks, by_session, next)
		task_cancel(t, actor);
}

/* All of them. */

struct sessions *
sessions_new(struct sup *sup)
{
	struct sessions *ss = calloc(1, sizeof(*ss));

	if (ss == NULL)
		return NULL;
	ss->sup = sup;
	RB_INIT(&ss->tree);
	cells_on_gone(sup, sessions_on_gone);
	return ss;
}

void
sessions_free(struct sessions **sessions)
{
	struct sessions *ss = *sessions;
	struct session_use *u;

	if (ss == NULL)
		return;
	while ((u = RB_MIN(use_tree, &ss->tree)) != NULL)
		use_free(u);
	free(ss);
	*sessions = NULL;
}

static bool
name_profile(
    const struct ulid *id, const struct session_record *rec, int err, void *arg)
{
	struct sup *sup = arg;

	link_known(sup->link, id);
	return true;
}

void
sessions_load(struct sup *sup)
{
	struct store_txn *txn;
	int err = store_read_begin(sup->store, &txn);

	if (err == STORE_OK) {
		err = session_list(txn, false, 0, NULL, name_profile, sup);
		store_read_end(sup->store);
	}
	if (err == STORE_OK)
		link_purge(sup->link);
	else
		log_err("sessions cannot be read: %s", store_strerror(err));
}

void
sessions_reload(struct sup *sup)
{
	sessions_trim(sup->sessions);
}

size_t
sessions_living(const struct sup *sup)
{
	struct session_use *u;
	size_t n = 0;

	RB_FOREACH(u, use_tree, &sup->sessions->tree)
		n += cells_living(u->sup, &u->id);
	return n;
}
