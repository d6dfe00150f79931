/*
 * What may happen to a worker in which state, in supervisord, and what is done
 * then: one table. Whatever it does not know is a breach of the protocol.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "storage/store.h"
#include "supervisord/link.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

#define PEER_WENT "closed by the peer"

typedef void worker_fn(struct worker *, const struct input *);

void
worker_arm(struct event *ev, int64_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	event_add(ev, &tv);
}

/* False when there is nothing left to be ended. */
static bool
worker_doom(struct worker *w, enum err_code code, const char *text)
{
	MAGIC_CHECK(w, WORKER_MAGIC);
	if (w->state == WS_DOOMED)
		return false;
	if (w->state == WS_RESUMING)
		w->end.unanswered = true;
	if (w->end.code == ERR_NONE && w->state != WS_ENDED) {
		w->end.code = code;
		strlcpy(w->end.text, text, sizeof(w->end.text));
	}
	w->state = WS_DOOMED;
	event_del(w->timer);
	event_del(w->pulse);
	return !w->reaped;
}

void
worker_kill(struct worker *w, enum err_code code, const char *text)
{
	if (!worker_doom(w, code, text))
		return;
	log_info("%s: cell %u: killing: %s", w->name, w->cell_id, text);
	cell_end_worker(w);
}

/* It went by itself: its cell is about to say how. */
static void
worker_await_end(struct worker *w)
{
	if (!worker_doom(w, ERR_WORKER_LOST, "the worker ended unexpectedly"))
		return;
	w->went = true;
	worker_arm(w->timer, WENT_MS);
}

/* The handlers of the table. */

static void
wi_ignore(struct worker *w, const struct input *in)
{
}

static void
wi_breach(struct worker *w, const struct input *in)
{
	worker_kill(w, ERR_WORKER_PROTOCOL, "a message at the wrong time");
}

static void
wi_ready(struct worker *w, const struct input *in)
{
	struct ipc_params p;

	w->chan =
	    chan_new(w->sup->base, in->ipc_fd, IPC_UP, &worker_chan_ops, w);
	if (w->chan == NULL) {
		worker_kill(w, ERR_SPAWN_FAILED, "no channel to the worker");
		return;
	}
	chan_set_queue_limit(w->chan, WORKER_QUEUE_BYTES);
	w->state = WS_HELLO;
	ipc_params_init(&p, MSG_W_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	ipc_set_int(&p, F_EPOCH, store_epoch(w->sup->store));
	ipc_set_int(&p, F_CELL_ID, w->cell_id);
	if (w->spare)
		ipc_set_bool(&p, F_WARM, true);
	if ((w->flags & SPAWN_TEXT_ONLY) != 0)
		ipc_set_bool(&p, F_TEXT, true);
	worker_send(w, &p);
}

static void
wi_drop(struct worker *w, const struct input *in)
{
	int fd = in->ipc_fd;

	fd_close(&fd);
}

static void
worker_up(struct worker *w)
{
	w->state = w->spare ? WS_SPARE : WS_RUNNING;
	/* The end of a grace period stays set, whatever comes up meanwhile. */
	if (!w->stopping && !w->browser_gone)
		event_del(w->timer);
	w->heard_ms = w->pulse_ms = clock_mono_ms();
	worker_arm(w->pulse, w->sup->settings.pingMs);
	w->ops->on_ready(w->ctx);
}

static void
wi_hello(struct worker *w, const struct input *in)
{
	if (ipc_int(in->params, F_PROTO, -1) != IPC_PROTO_WORKER) {
		worker_kill(w, ERR_WORKER_PROTOCOL,
		    "its protocol version is another one");
		return;
	}
	if ((w->flags & SPAWN_DESCRIBE) != 0) {
		chan_set_phase(w->chan, PEER_DESCRIBE);
		worker_up(w);
		return;
	}
	chan_set_phase(w->chan, PEER_IDLE);
	w->state = WS_STARTING;
	if (w->takeover && !w->stopping)
		worker_arm(w->timer, TAKEOVER_MS);
}

static void
wi_browser_up(struct worker *w, const struct input *in)
{
	log_info("%s: cell %u: %s", w->name, w->cell_id,
	    ipc_str(in->params, F_PRODUCT));
	strlcpy(w->sup->browser.product, ipc_str(in->params, F_PRODUCT),
	    sizeof(w->sup->browser.product));
	w->state = WS_CHECKING;
	link_check(w->sup->link, w->cell_id);
}

static void
wi_sandbox(struct worker *w, const struct input *in)
{
	const struct launch_sandbox *s = in->sandbox;

	w->sup->browser.seen_ms = clock_stamp_ms();
	w->sup->browser.sandbox = *s;
	w->sup->browser.confined = launch_sandbox_is_tight(
	    s, !protected_is_waived(w->sup, PROTECTION_CALL_FILTERS));
	if (w->sup->browser.confined) {
		w->cell->up = true;
		w->cell->sandbox = *s;
		worker_up(w);
		return;
	}
	log_err("%s: cell %u: sandbox is not active: renderers %u, seccomp %u,"
		" namespaces %u, no_new_privs %u; GPU processes %u, utilities "
		"%u, seccomp %u",
	    w->name, w->cell_id, s->renderers, s->seccomp_mode, s->ns_depth,
	    s->no_new_privs, s->gpus, s->utilities, s->others_mode);
	worker_kill(w, ERR_SANDBOX_MISSING, "the browser's sandbox is off");
}

static void
wi_msg(struct worker *w, const struct input *in)
{
	w->ops->on_msg(w->ctx, in->params);
}

/*
 * The browser that lived before is of no use: the run has not begun, so it gets
 * a new one.
 */
static bool
worker_falls_back(struct worker *w)
{
	if (!worker_is_early(w) || (w->takeover && w->state > WS_STARTING))
		return false;
	log_warn("%s: cell %u: the %s: another one is started", w->name,
	    w->cell_id,
	    w->takeover ? "browser of its session does not answer"
			: "spare is lost");
	cell_kill(w->cell);
	worker_again(w);
	return true;
}

static void
wi_end(struct worker *w, const struct input *in)
{
	/* The worker gave up on the browser before there was a run. */
	if (worker_falls_back(w))
		return;
	w->state = WS_ENDED;
	chan_set_phase(w->chan, PEER_ENDED);
	event_del(w->pulse);
	if (!w->stopping)
		worker_arm(w->timer, WORKER_EXIT_MS);
	w->ops->on_msg(w->ctx, in->params);
	/* A run's last word is to be stored before: its owner will say. */
	if ((w->flags & SPAWN_DESCRIBE) != 0)
		worker_release(w);
}

/* One with another start number is the answer to one before us. */
static void
wi_resumed(struct worker *w, const struct input *in)
{
	int64_t first = ipc_int(in->params, F_N, 0);
	enum worker_resumed how = RESUMED_WHOLE;

	if (ipc_int(in->params, F_EPOCH, 0) != store_epoch(w->sup->store))
		return;
	w->count = (uint64_t)first - 1;
	w->acked = w->ack_due = w->count;
	w->state = WS_RUNNING;
	if (!ipc_bool(in->params, F_WHOLE, false) || w->count > w->stored)
		how = RESUMED_GAP;
	else if (!ipc_bool(in->params, F_GO, false))
		how = RESUMED_UNTOUCHED;
	log_info("%s: cell %u: its worker goes on with message %lld", w->name,
	    w->cell_id, (long long)first);
	w->ops->on_resumed(w->ctx, how);
}

static void
wi_browser_gone(struct worker *w, const struct input *in)
{
	/* What its worker may say of it is nothing to a run not begun. */
	if (w->claimed && worker_falls_back(w))
		return;
	w->browser_gone = true;
	if (!w->stopping)
		worker_arm(w->timer, BROWSER_GRACE_MS);
}

/* chan tells by its reason whether the peer went or was put out. */
static void
wi_lost(struct worker *w, const struct input *in)
{
	bool went = strncmp(in->reason, PEER_WENT, strlen(PEER_WENT)) == 0;
	char text[sizeof(w->end.text)];

	if (went && worker_falls_back(w))
		return;
	snprintf(text, sizeof(text), "worker: %s", in->reason);
	if (w->browser_gone)
		worker_kill(
		    w, ERR_PAGE_CRASHED, "the browser ended unexpectedly");
	else if (went)
		worker_await_end(w);
	else
		worker_kill(w, ERR_WORKER_PROTOCOL, text);
}

static void
wi_kill(struct worker *w, const struct input *in)
{
	worker_kill(w, ERR_NONE, "did not end by itself");
}

static void
wi_slow_start(struct worker *w, const struct input *in)
{
	if (worker_falls_back(w))
		return;
	if (w->browser_gone)
		worker_kill(
		    w, ERR_PAGE_CRASHED, "the browser ended unexpectedly");
	else if (w->stopping)
		worker_kill(w, ERR_WORKER_LOST, "grace period is over");
	else if (w->waits)
		worker_kill(w, ERR_SPAWN_FAILED, "no cell became free");
	else
		worker_kill(w, ERR_BROWSER_START_FAILED,
		    "the browser did not answer in time");
}

static void
wi_grace_over(struct worker *w, const struct input *in)
{
	if (w->browser_gone)
		worker_kill(
		    w, ERR_PAGE_CRASHED, "the browser ended unexpectedly");
	else
		worker_kill(w, ERR_WORKER_LOST, "grace period is over");
}

/* A spare got its run: the first moment at which it may be told. */
static void
wi_claimed(struct worker *w, const struct input *in)
{
	if (w->browser_gone || w->stopping)
		wi_grace_over(w, in);
	else
		worker_up(w);
}

/*
 * A worker went, but did not end; a kept cell did not end its worker; or there
 * is none to end.
 */
static void
wi_doomed(struct worker *w, const struct input *in)
{
	if (w->went) {
		w->went = false;
		cell_end_worker(w);
	} else if (w->cell != NULL)
		cell_kill(w->cell);
	else
		worker_gone(w);
}

static worker_fn *const worker_table[WS__MAX][WI__MAX] = {
	[WS_SPAWNING] = {
		[WI_READY] = wi_ready,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_TIMER] = wi_slow_start,
	},
	[WS_HELLO] = {
		[WI_HELLO] = wi_hello,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_slow_start,
	},
	[WS_STARTING] = {
		[WI_BROWSER_UP] = wi_browser_up,
		[WI_MSG] = wi_msg,
		[WI_END] = wi_end,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_slow_start,
	},
	[WS_CHECKING] = {
		[WI_SANDBOX] = wi_sandbox,
		[WI_MSG] = wi_msg,
		[WI_END] = wi_end,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_slow_start,
	},
	[WS_SPARE] = {
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_grace_over,
	},
	[WS_CLAIMED] = {
		[WI_END] = wi_end,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_claimed,
	},
	[WS_RUNNING] = {
		[WI_SANDBOX] = wi_ignore,
		[WI_MSG] = wi_msg,
		[WI_END] = wi_end,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_grace_over,
	},
	[WS_RESUMING] = {
		[WI_RESUMED] = wi_resumed,
		[WI_SANDBOX] = wi_ignore,
		[WI_BROWSER_GONE] = wi_browser_gone,
		[WI_LOST] = wi_lost,
		[WI_TIMER] = wi_grace_over,
	},
	[WS_ENDED] = {
		[WI_SANDBOX] = wi_ignore,
		[WI_BROWSER_GONE] = wi_ignore,
		[WI_LOST] = wi_ignore,
		[WI_TIMER] = wi_kill,
	},
	[WS_DOOMED] = {
		[WI_READY] = wi_drop,
		[WI_HELLO] = wi_ignore,
		[WI_BROWSER_UP] = wi_ignore,
		[WI_SANDBOX] = wi_ignore,
		[WI_MSG] = wi_ignore,
		[WI_END] = wi_ignore,
		[WI_BROWSER_GONE] = wi_ignore,
		[WI_LOST] = wi_ignore,
		[WI_TIMER] = wi_doomed,
		[WI_RESUMED] = wi_ignore,
	},
};

void
worker_input(struct worker *w, enum worker_input input, const struct input *in)
{
	worker_fn *fn;

	MAGIC_CHECK(w, WORKER_MAGIC);
	fn = worker_table[w->state][input];
	(fn == NULL ? wi_breach : fn)(w, in);
}
