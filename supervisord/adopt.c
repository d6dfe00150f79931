/*
 * What outlived the supervisord before, in supervisord. A worker is taken up
 * only for a run that was told to begin; of everything else the browser of a
 * session is all that is kept. What cannot be taken up ends, and the run is
 * settled as after any crash.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/adopt.h"
#include "supervisord/celllog.h"
#include "supervisord/cells.h"
#include "supervisord/link.h"
#include "supervisord/protected.h"
#include "supervisord/reply.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

/* Secrets that are kept, and nobody has claimed yet. */
struct adopted {
	struct ulid runs[LAUNCH_SECRETS_MAX];
	size_t count;
};

void
cell_drop_offer(struct cell *c)
{
	if (c->offer == NULL)
		return;
	fd_close(&c->offer->ipc_fd);
	free(c->offer);
	c->offer = NULL;
}

static struct cell *
cell_offered(struct sup *sup, uint32_t id, const struct launch_adopt *a,
    int fds[LAUNCH_MAX_FDS])
{
	struct cell *c = calloc(1, sizeof(*c));
	struct offer *o = calloc(1, sizeof(*o));

	if (c == NULL || o == NULL ||
	    !link_adopt(sup->link, id, &a->spawn, &cell_link_ops, c)) {
		free(c);
		free(o);
		return NULL;
	}
	c->sup = sup;
	c->session = a->spawn.session;
	c->keep = (a->spawn.flags & SPAWN_KEEP) != 0;
	c->id = id;
	c->sandbox = a->sandbox;
	c->up = launch_sandbox_is_tight(
	    &a->sandbox, !protected_is_waived(sup, PROTECTION_CALL_FILTERS));
	c->offer = o;
	o->worker = a->has_worker != 0;
	o->ipc_fd = fds[LAUNCH_FD_IPC];
	o->usage = a->usage;
	strlcpy(o->name, a->spawn.name, sizeof(o->name));
	if (fds[LAUNCH_FD_LOG] != -1)
		c->log = celllog_new(sup->base, fds[LAUNCH_FD_LOG],
		    o->name[0] == '\0' ? "cell" : o->name);
	TAILQ_INSERT_TAIL(&sup->cells->list, c, entry);
	CRASH_POINT(adopt_offered);
	return c;
}

void
adopt_offer(struct sup *sup, uint32_t cell_id, const struct launch_adopt *a,
    int fds[LAUNCH_MAX_FDS])
{
	if (cell_offered(sup, cell_id, a, fds) != NULL)
		return;
	for (int i = 0; i < LAUNCH_MAX_FDS; i++)
		fd_close(&fds[i]);
}

void
adopt_secrets(struct sup *sup, const struct launch_kept *kept)
{
	struct adopted *a = sup->adopted;

	if (a == NULL)
		a = sup->adopted = calloc(1, sizeof(*a));
	for (uint32_t i = 0; i < kept->count; i++)
		if (a != NULL && a->count < LAUNCH_SECRETS_MAX)
			a->runs[a->count++] = kept->runs[i];
		else
			link_secret_drop(sup->link, &kept->runs[i]);
}

bool
adopt_claim_secrets(struct sup *sup, const struct ulid *run)
{
	struct adopted *a = sup->adopted;

	for (size_t i = 0; a != NULL && i < a->count; i++)
		if (memcmp(&a->runs[i], run, sizeof(*run)) == 0) {
			a->runs[i] = a->runs[--a->count];
			return true;
		}
	return false;
}

/*
 * A run that was not said to be acting had not begun; whether one that was
 * knows all that it needs, its worker will say.
 */
static bool
run_goes_on(struct store_txn *txn, struct offer *o)
{
	struct run_record rec;

	return o->worker && o->ipc_fd != -1 &&
	    id_parse("run_", o->name, &o->run) &&
	    run_get(txn, &o->run, &rec) == STORE_OK &&
	    rec.status == RUN_RUNNING && strcmp(rec.phase, "preparing") != 0;
}

/* Its row is written when the run that makes it has ended. */
static bool
session_goes_on(struct store_txn *txn, const struct cell *c)
{
	struct run_filter f = {
		.by_status = true, .status = RUN_RUNNING, .session = &c->session
	};
	struct session_record rec;
	uint64_t running = 0;

	if (!c->keep || !c->up)
		return false;
	return session_get(txn, &c->session, &rec) == STORE_OK ||
	    (run_total(txn, &f, &running) == STORE_OK && running > 0);
}

static void
refuse_cell(struct cell *c)
{
	log_info("%s%scell %u: is left from before: it ends", c->offer->name,
	    c->offer->name[0] == '\0' ? "" : ": ", c->id);
	cell_kill(c);
}

static void
decide_cell(struct store_txn *txn, struct cell *c)
{
	struct offer *o = c->offer;
	bool session = txn != NULL && session_goes_on(txn, c);

	o->wanted = txn != NULL && run_goes_on(txn, o);
	if (!o->wanted && !session) {
		refuse_cell(c);
		/* A purge passes over profiles that are in use. */
		if (c->keep && txn != NULL)
			link_forget(c->sup->link, &c->session);
		return;
	}
	link_adopted(c->sup->link, c->id);
	if (o->worker && !o->wanted)
		link_kill_worker(c->sup->link, c->id);
}

void
adopt_decide(struct sup *sup)
{
	struct store_txn *txn = NULL;
	struct cell *c, *last = NULL;

	if (TAILQ_EMPTY(&sup->cells->list))
		return;
	if (store_read_begin(sup->store, &txn) != STORE_OK)
		txn = NULL;
	TAILQ_FOREACH(c, &sup->cells->list, entry) {
		if (c->offer == NULL || c->doomed)
			continue;
		if (c->browser_gone)
			refuse_cell(c);
		else
			decide_cell(txn, c);
		if (cell_lives(c) && (last == NULL || last->offer->wanted))
			last = c;
	}
	if (txn != NULL)
		store_read_end(sup->store);
	CRASH_POINT(adopt_decided);
	/* Templates are described in a cell, too. */
	if (last != NULL && sup->cells->doomed == 0 &&
	    !link_has_room(sup->link, SPAWN_DESCRIBE))
		refuse_cell(last);
}

struct cell *
adopt_find(struct sup *sup, const struct ulid *run)
{
	struct cell *c;

	TAILQ_FOREACH(c, &sup->cells->list, entry)
		if (c->offer != NULL && c->offer->wanted && !c->doomed &&
		    memcmp(&c->offer->run, run, sizeof(*run)) == 0)
			return c;
	return NULL;
}

static void
cell_take_up(struct cell *c)
{
	cell_drop_offer(c);
	if (c->worker == NULL && !c->up)
		cell_kill(c);
	cells_next(c->sup->cells);
}

static void
say_resume(struct worker *w)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_RUN_RESUME);
	ipc_set_int(&p, F_EPOCH, store_epoch(w->sup->store));
	ipc_set_int(&p, F_N, (int64_t)w->stored);
	worker_send(w, &p);
}

static bool
take_channel(struct worker *w, struct offer *o)
{
	int fd = o->ipc_fd;

	o->ipc_fd = -1;
	w->chan = chan_new(w->sup->base, fd, IPC_UP, &worker_chan_ops, w);
	if (w->chan == NULL)
		return false;
	chan_set_queue_limit(w->chan, WORKER_QUEUE_BYTES);
	chan_set_phase(w->chan, PEER_RUN);
	return true;
}

struct worker *
adopt_worker(struct cell *c, uint64_t stored, const char *name,
    const struct worker_ops *ops, void *ctx)
{
	uint32_t flags = SPAWN_BROWSER | (c->keep ? SPAWN_KEEP : 0);
	struct worker *w =
	    worker_new(c->sup, &c->session, flags, name, ops, ctx);

	if (w == NULL || !take_channel(w, c->offer)) {
		worker_free(&w);
		return NULL;
	}
	event_del(w->timer);
	w->state = WS_RESUMING;
	w->begun = true;
	w->stored = stored;
	w->end.usage = c->offer->usage;
	w->cell = c;
	w->cell_id = c->id;
	c->worker = w;
	cell_take_up(c);
	w->heard_ms = w->pulse_ms = clock_mono_ms();
	worker_arm(w->pulse, c->sup->settings.pingMs);
	say_resume(w);
	CRASH_POINT(adopt_told);
	if (c->browser_gone) {
		w->browser_gone = true;
		worker_arm(w->timer, BROWSER_GRACE_MS);
	}
	return w;
}

/* It waits for the next run of its session. */
static void
rest_cell(struct cell *c)
{
	struct sup *sup = c->sup;
	struct ulid session = c->session;

	cell_take_up(c);
	if (cells_living(sup, &session))
		session_rest(sup, &session);
}

void
adopt_worker_ended(struct cell *c)
{
	bool wanted = c->offer->wanted;

	c->offer->worker = false;
	c->offer->wanted = false;
	/* Before the recovery it is not known who waits for it. */
	if (!wanted && c->sup->recovered)
		rest_cell(c);
}

void
adopt_rest(struct sup *sup)
{
	struct adopted *a = sup->adopted;
	struct cell *c, *next;

	sup->recovered = true;
	TAILQ_FOREACH_SAFE(c, &sup->cells->list, entry, next) {
		if (c->offer == NULL || c->doomed)
			continue;
		if (c->offer->wanted)
			refuse_cell(c);
		else if (!c->offer->worker)
			rest_cell(c);
	}
	for (size_t i = 0; a != NULL && i < a->count; i++)
		link_secret_drop(sup->link, &a->runs[i]);
	adopt_free(sup);
}

void
adopt_free(struct sup *sup)
{
	free(sup->adopted);
	sup->adopted = NULL;
}
