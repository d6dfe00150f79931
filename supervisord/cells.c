/*
 * The cells of supervisord: each belongs to one session and has at most one
 * worker. What the launcher tells about a cell comes in here and goes on to its
 * worker; a kept cell without one waits for the next run of its session.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "supervisord/adopt.h"
#include "supervisord/celllog.h"
#include "supervisord/cells.h"
#include "supervisord/limits.h"
#include "supervisord/link.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

bool
cell_lives(const struct cell *c)
{
	return !c->doomed && !c->browser_gone;
}

static bool
cell_is_idle(const struct cell *c)
{
	return c->keep && c->worker == NULL && c->offer == NULL &&
	    cell_lives(c);
}

/* That session's cell, also when it is about to end. */
static struct cell *
cells_find(struct cells *t, const struct ulid *session)
{
	struct cell *c;

	TAILQ_FOREACH(c, &t->list, entry)
		if (c->keep &&
		    memcmp(&c->session, session, sizeof(*session)) == 0)
			return c;
	return NULL;
}

static void
cell_free(struct cell **cell)
{
	struct cell *c = *cell;

	celllog_free(&c->log);
	cell_drop_offer(c);
	free(c);
	*cell = NULL;
}

void
cell_kill(struct cell *c)
{
	if (c->doomed)
		return;
	c->doomed = true;
	c->sup->cells->doomed++;
	link_kill(c->sup->link, c->id);
}

/* A kept cell outlives its worker when its browser was seen to work. */
void
cell_end_worker(struct worker *w)
{
	struct cell *c = w->cell;

	if (w->waits) {
		TAILQ_REMOVE(&w->sup->cells->waiting, w, waiting);
		w->waits = false;
	}
	if (c == NULL) {
		worker_arm(w->timer, 0);
	} else if (c->keep && c->up && cell_lives(c)) {
		link_kill_worker(w->sup->link, c->id);
		worker_arm(w->timer, KILL_WORKER_MS);
	} else {
		cell_kill(c);
	}
}

void
cell_let_go(struct worker *w)
{
	if (w->waits)
		TAILQ_REMOVE(&w->sup->cells->waiting, w, waiting);
	if (w->cell != NULL)
		w->cell->worker = NULL;
	w->waits = false;
	w->cell = NULL;
}

/* What the launcher tells. */

/* One that gets another cell hears no more of this one. */
static struct worker *
cell_hearer(const struct cell *c)
{
	return c->worker == NULL || c->worker->again ? NULL : c->worker;
}

static void
cell_on_worker_ready(void *ctx, int ipc_fd)
{
	struct input in = { .ipc_fd = ipc_fd };
	struct cell *c = ctx;
	struct worker *w = cell_hearer(c);

	if (w == NULL)
		fd_close(&ipc_fd);
	else if (ipc_fd == -1)
		worker_kill(w, ERR_SPAWN_FAILED, "no descriptors are left");
	else
		worker_input(w, WI_READY, &in);
}

static void
cell_on_ready(void *ctx, int ipc_fd, int log_fd)
{
	struct cell *c = ctx;

	if (log_fd != -1)
		c->log = celllog_new(c->sup->base, log_fd,
		    c->worker == NULL ? "cell" : c->worker->name);
	cell_on_worker_ready(c, ipc_fd);
}

static void
cell_on_sandbox(void *ctx, const struct launch_sandbox *sandbox)
{
	struct input in = { .sandbox = sandbox };
	struct worker *w = cell_hearer(ctx);

	if (w != NULL)
		worker_input(w, WI_SANDBOX, &in);
}

static void
cell_on_browser_exited(void *ctx, int status)
{
	struct input in = { 0 };
	struct cell *c = ctx;

	c->browser_gone = true;
	log_info("%s%scell %u: browser ended, status %d",
	    c->worker == NULL ? "" : c->worker->name,
	    c->worker == NULL ? "" : ": ", c->id, status);
	if (cell_hearer(c) != NULL)
		worker_input(c->worker, WI_BROWSER_GONE, &in);
}

static void
cell_on_worker_exited(void *ctx, int status)
{
	struct cell *c = ctx;
	struct worker *w = cell_hearer(c);
	struct cells *t = c->sup->cells;

	if (c->offer != NULL)
		adopt_worker_ended(c);
	if (w == NULL)
		return;
	log_info(
	    "%s: cell %u: its worker ended, status %d", w->name, c->id, status);
	worker_status(w, status);
	if (worker_is_early(w)) {
		cell_kill(c);
		worker_again(w);
		return;
	}
	TAILQ_REMOVE(&t->list, c, entry);
	TAILQ_INSERT_TAIL(&t->list, c, entry);
	c->worker = NULL;
	/* One whose browser was never seen to work is no use to anybody. */
	if (!c->up)
		cell_kill(c);
	worker_gone(w);
}

/* What was to end is no news to those who look for faults. */
static void
cell_log_end(const struct cell *c, const struct launch_reaped *r)
{
	const char *name = c->worker == NULL ? "" : c->worker->name;
	const char *colon = c->worker == NULL ? "" : ": ";

	if (c->doomed && r->cause == LAUNCH_KILLED)
		log_info(
		    "%s%scell %u: is gone, as it was told", name, colon, c->id);
	else
		log_info("%s%scell %u: reaped: %s, status %d", name, colon,
		    c->id, launch_cause_name((enum launch_cause)r->cause),
		    r->status);
}

static void
cell_on_reaped(void *ctx, const struct launch_reaped *r)
{
	struct cell *c = ctx;
	struct worker *w = c->worker;
	struct cells *t = c->sup->cells;
	bool gone = c->keep && w == NULL && !c->closed;

	cell_log_end(c, r);
	TAILQ_REMOVE(&t->list, c, entry);
	if (c->doomed)
		t->doomed--;
	c->worker = NULL;
	celllog_free(&c->log);
	if (w != NULL && r->cause == LAUNCH_WORKER_ENDED)
		worker_status(w, r->status);
	if (w != NULL && worker_is_early(w))
		worker_again(w);
	if (w != NULL && w->again && w->state != WS_DOOMED) {
		w->again = false;
		w->cell = NULL;
		w->waits = true;
		TAILQ_INSERT_HEAD(&t->waiting, w, waiting);
	} else if (w != NULL && r->cause == LAUNCH_SPAWN_FAILED) {
		worker_gone_failed(w, r);
	} else if (w != NULL) {
		worker_gone(w);
	}
	if (gone && t->gone != NULL)
		t->gone(t->sup, &c->session);
	if (c->on_closed != NULL)
		c->on_closed(c->on_closed_arg);
	cell_free(&c);
	cells_next(t);
	spares_pump(t->sup);
}

const struct link_ops cell_link_ops = {
	.on_ready = cell_on_ready,
	.on_worker_ready = cell_on_worker_ready,
	.on_sandbox = cell_on_sandbox,
	.on_browser_exited = cell_on_browser_exited,
	.on_worker_exited = cell_on_worker_exited,
	.on_limit = limits_on_breach,
	.on_secret_missing = worker_on_secret_missing,
	.on_usage = limits_on_usage,
	.on_reaped = cell_on_reaped,
};

/* Which cell a worker gets. */

static bool
cell_order(struct cells *t, struct worker *w)
{
	struct cell *c = calloc(1, sizeof(*c));
	struct launch_limits limits;

	if (c == NULL)
		return false;
	limits_of_settings(&t->sup->settings, &limits);
	c->sup = t->sup;
	c->session = w->session;
	c->keep = (w->flags & SPAWN_KEEP) != 0;
	c->id = link_spawn(t->sup->link, &w->session, w->flags, &limits,
	    w->name, &cell_link_ops, c);
	if (c->id == 0) {
		cell_free(&c);
		return false;
	}
	c->worker = w;
	w->cell = c;
	w->cell_id = c->id;
	TAILQ_INSERT_TAIL(&t->list, c, entry);
	return true;
}

static void
cell_give(struct cell *c, struct worker *w)
{
	log_info("%s: cell %u: goes on in the browser of its session", w->name,
	    c->id);
	c->worker = w;
	w->cell = c;
	w->cell_id = c->id;
	w->takeover = true;
	if (c->log != NULL)
		celllog_rename(c->log, w->name);
	link_worker(c->sup->link, c->id, w->name);
}

/* Makes room: a spare goes first, then who has been idle longest. */
static bool
cells_evict(struct cells *t)
{
	struct cell *c;

	if (t->doomed > 0 || spares_give_up_one(t->sup))
		return true;
	TAILQ_FOREACH(c, &t->list, entry)
		if (cell_is_idle(c) ||
		    (c->offer != NULL && !c->offer->wanted && cell_lives(c))) {
			log_info("cell %u: ends, its slot is needed", c->id);
			cell_kill(c);
			return true;
		}
	return false;
}

/* False when there is no cell for it, and none to wait for. */
static bool
cells_place(struct cells *t, struct worker *w)
{
	struct cell *c = NULL;

	if ((w->flags & SPAWN_KEEP) != 0)
		c = cells_find(t, &w->session);
	if (c != NULL && cell_is_idle(c)) {
		cell_give(c, w);
		return true;
	}
	if (c != NULL && c->worker != NULL && cell_lives(c))
		return false;
	if (c == NULL && link_has_room(t->sup->link, w->flags))
		return cell_order(t, w);
	/* Else its session's former cell is on its way out. */
	if (c == NULL && !cells_evict(t))
		return false;
	w->waits = true;
	TAILQ_INSERT_TAIL(&t->waiting, w, waiting);
	return true;
}

/* A slot became free, or a session's former cell is gone. */
void
cells_next(struct cells *t)
{
	struct worker_list list = TAILQ_HEAD_INITIALIZER(list);
	struct worker *w;

	TAILQ_CONCAT(&list, &t->waiting, waiting);
	while ((w = TAILQ_FIRST(&list)) != NULL) {
		TAILQ_REMOVE(&list, w, waiting);
		w->waits = false;
		if (!cells_place(t, w))
			worker_kill(
			    w, ERR_SPAWN_FAILED, "no cell could be ordered");
	}
}

struct worker *
worker_start(struct sup *sup, const struct cell_want *want,
    const struct worker_ops *ops, void *ctx)
{
	uint32_t flags = want->flags | (want->keep ? SPAWN_KEEP : 0);
	struct worker *w;

	if ((flags & (SPAWN_KEEP | SPAWN_DESCRIBE)) == 0) {
		w = spares_claim(sup, flags);
		if (w != NULL) {
			if (w->cell != NULL && w->cell->log != NULL)
				celllog_rename(w->cell->log, want->name);
			log_info("%s: cell %u: takes a spare", want->name,
			    w->cell_id);
			worker_claim(w, want->name, ops, ctx);
			link_name(sup->link, w->cell_id, want->name);
			return w;
		}
	}
	w = worker_new(sup, &want->session, flags, want->name, ops, ctx);
	if (w != NULL && !cells_place(sup->cells, w))
		worker_free(&w);
	return w;
}

struct worker *
cells_order_spare(struct sup *sup, const struct ulid *session, uint32_t flags,
    const char *name, const struct worker_ops *ops, void *ctx)
{
	struct worker *w = worker_new(sup, session, flags, name, ops, ctx);

	if (w == NULL)
		return NULL;
	w->spare = true;
	if (!cell_order(sup->cells, w))
		worker_free(&w);
	return w;
}

/* The cells of sessions. */

bool
cells_living(struct sup *sup, const struct ulid *session)
{
	const struct cell *c = cells_find(sup->cells, session);

	return c != NULL && cell_lives(c);
}

size_t
cells_idle(const struct sup *sup)
{
	const struct cell *c;
	size_t n = 0;

	TAILQ_FOREACH(c, &sup->cells->list, entry)
		n += cell_is_idle(c);
	return n;
}

void
cells_close(struct sup *sup, const struct ulid *session,
    void (*done)(void *arg), void *arg)
{
	struct cell *c = cells_find(sup->cells, session);

	if (c == NULL) {
		if (done != NULL)
			done(arg);
		return;
	}
	c->closed = true;
	if (done != NULL) {
		ASSERT(c->on_closed == NULL);
		c->on_closed = done;
		c->on_closed_arg = arg;
	}
	if (c->worker != NULL)
		worker_kill(
		    c->worker, ERR_WORKER_LOST, "its session is closed");
	cell_kill(c);
}

void
cells_on_gone(
    struct sup *sup, void (*gone)(struct sup *, const struct ulid *session))
{
	sup->cells->gone = gone;
}

struct cells *
cells_new(struct sup *sup)
{
	struct cells *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->sup = sup;
	TAILQ_INIT(&t->list);
	TAILQ_INIT(&t->waiting);
	return t;
}

void
cells_free(struct cells **cells)
{
	struct cells *t = *cells;
	struct cell *c;

	if (t == NULL)
		return;
	while ((c = TAILQ_FIRST(&t->list)) != NULL) {
		TAILQ_REMOVE(&t->list, c, entry);
		cell_free(&c);
	}
	free(t);
	*cells = NULL;
}
