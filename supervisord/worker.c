/*
 * A worker as supervisord sees it: what its connection and the launcher tell is
 * turned into inputs of the table (worker_table.c). Terminal is only REAPED.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "confine/confine.h"
#include "ipc/chan.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/link.h"
#include "supervisord/sup.h"
#include "supervisord/worker_int.h"

/* The worker's messages. */

static enum worker_input
worker_classify(enum msg_id msg)
{
	switch (msg) {
	case MSG_S_HELLO:
		return WI_HELLO;
	case MSG_S_READY:
		return WI_BROWSER_UP;
	case MSG_S_RUN_RESUMED:
		return WI_RESUMED;
	case MSG_S_RUN_END:
	case MSG_S_DESCRIBE_DONE:
		return WI_END;
	default:
		return WI_MSG;
	}
}

static void
worker_on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct worker *w = ctx;
	struct input in = { .params = &msg->params };

	w->heard_ms = clock_mono_ms();
	if (msg->params.msg == MSG_S_PONG)
		return;
	/* Before the answer comes what was on its way to the one before us. */
	if (w->state == WS_RESUMING && msg->params.msg != MSG_S_RUN_RESUMED)
		return;
	if ((msg_row(msg->params.msg)->flags & IPC_KEPT) != 0)
		w->count++;
	worker_input(w, worker_classify(msg->params.msg), &in);
}

static void
worker_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct worker *w = ctx;
	struct input in = { .reason = reason };

	log_debug("%s: cell %u: connection: %s", w->name, w->cell_id, reason);
	worker_input(w, WI_LOST, &in);
}

const struct chan_ops worker_chan_ops = {
	.on_msg = worker_on_msg,
	.on_closed = worker_on_closed,
};

/* How it ended, if nobody has said it yet. */
static void
worker_explain(struct worker *w)
{
	struct worker_end *end = &w->end;

	if (w->state == WS_RESUMING)
		end->unanswered = true;
	if (end->code != ERR_NONE || w->state == WS_ENDED)
		return;
	end->code = w->browser_gone ? ERR_PAGE_CRASHED : ERR_WORKER_LOST;
	snprintf(end->text, sizeof(end->text), "the %s ended unexpectedly",
	    w->browser_gone ? "browser" : "worker");
}

void
worker_status(struct worker *w, int status)
{
	struct worker_end *end = &w->end;

	if (!confine_was_broken(status))
		return;
	log_err("%s: cell %u: its worker asked for what its filter of system "
		"calls forbids, and was ended by it",
	    w->name, w->cell_id);
	if (end->code != ERR_NONE && end->code != ERR_WORKER_LOST)
		return;
	end->code = ERR_CONFINEMENT_BROKEN;
	strlcpy(
	    end->text, "the worker broke its confinement", sizeof(end->text));
}

void
worker_gone(struct worker *w)
{
	MAGIC_CHECK(w, WORKER_MAGIC);
	w->cell = NULL;
	/* What it wrote before it ended may still lie in its socket. */
	w->reaped = true;
	if (w->chan != NULL)
		chan_drain(w->chan);
	worker_explain(w);
	event_del(w->timer);
	event_del(w->pulse);
	event_del(w->acks);
	event_del(w->rest);
	chan_free(&w->chan);
	w->ops->on_reaped(w->ctx, &w->end);
}

void
worker_gone_failed(struct worker *w, const struct launch_reaped *r)
{
	if (w->end.code == ERR_NONE) {
		w->end.code = ERR_SPAWN_FAILED;
		snprintf(w->end.text, sizeof(w->end.text), "%s: %s",
		    r->stage[0] == '\0' ? "spawn" : r->stage,
		    strerror(r->error));
	}
	worker_gone(w);
}

static void
worker_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct input in = { 0 };

	worker_input(arg, WI_TIMER, &in);
}

static void
worker_on_pulse(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	struct ipc_params p;
	char text[sizeof(w->end.text)];
	int64_t now = clock_mono_ms();

	/* This process itself was stopped, or waited for the disk. */
	if (now - w->pulse_ms > 2 * w->sup->settings.pingMs)
		w->heard_ms = now;
	w->pulse_ms = now;
	if (now - w->heard_ms >= w->sup->settings.silentMs) {
		snprintf(text, sizeof(text),
		    "the worker did not answer for %lld ms",
		    (long long)w->sup->settings.silentMs);
		worker_kill(w, ERR_WORKER_SILENT, text);
		return;
	}
	ipc_params_init(&p, MSG_W_PING);
	ipc_set_int(&p, F_N, ++w->pings);
	worker_send(w, &p);
	if (w->state >= WS_SPARE && w->state < WS_ENDED)
		worker_arm(w->pulse, w->sup->settings.pingMs);
}

bool
worker_send(struct worker *w, const struct ipc_params *p)
{
	enum chan_status status;

	if (w->chan == NULL || w->state == WS_DOOMED)
		return false;
	status = chan_note(w->chan, p);
	if (status == CHAN_OK)
		return true;
	if (status != CHAN_CLOSED) {
		log_err("%s: %s could not be sent: %s", w->name,
		    msg_row(p->msg)->name, chan_invalid_reason(w->chan));
		worker_kill(w, ERR_WORKER_LOST, "the worker does not read");
	}
	return false;
}

uint64_t
worker_count(const struct worker *w)
{
	return w->count;
}

static void
worker_on_rest(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;

	if (w->chan != NULL)
		chan_hold_reading(w->chan, false);
}

void
worker_rest(struct worker *w, int ms)
{
	if (w->chan == NULL || w->reaped)
		return;
	chan_hold_reading(w->chan, true);
	worker_arm(w->rest, ms);
}

static void
worker_on_acks(evutil_socket_t fd, short what, void *arg)
{
	struct worker *w = arg;
	struct ipc_params p;

	if (w->ack_due <= w->acked || w->state < WS_RUNNING)
		return;
	w->acked = w->ack_due;
	CRASH_POINT(ack_due);
	ipc_params_init(&p, MSG_W_RUN_ACK);
	ipc_set_int(&p, F_N, (int64_t)w->acked);
	worker_send(w, &p);
	CRASH_POINT(ack_sent);
}

void
worker_ack(struct worker *w, uint64_t n)
{
	MAGIC_CHECK(w, WORKER_MAGIC);
	if (n <= w->ack_due || n > w->count || w->reaped)
		return;
	w->ack_due = n;
	event_active(w->acks, EV_TIMEOUT, 0);
}

void
worker_release(struct worker *w)
{
	if (w->state != WS_ENDED)
		return;
	if (w->cell != NULL && !w->cell->keep)
		cell_kill(w->cell);
	else
		worker_ack(w, w->count);
}

void
worker_set_running(struct worker *w)
{
	if (w->state != WS_RUNNING || w->chan == NULL)
		return;
	w->begun = true;
	chan_set_phase(w->chan, PEER_RUN);
}

void
worker_stop(struct worker *w, const char *reason)
{
	struct ipc_params p;

	MAGIC_CHECK(w, WORKER_MAGIC);
	if (w->state == WS_DOOMED || w->stopping)
		return;
	w->stopping = true;
	if (w->state < WS_STARTING) {
		worker_kill(w, ERR_WORKER_LOST, reason);
		return;
	}
	if (w->state != WS_ENDED) {
		ipc_params_init(&p, MSG_W_RUN_CANCEL);
		ipc_set_str(&p, F_REASON, reason);
		worker_send(w, &p);
	}
	if (w->state != WS_DOOMED)
		worker_arm(w->timer, LIMIT_CANCEL_GRACE_MS);
}

struct worker *
worker_new(struct sup *sup, const struct ulid *session, uint32_t flags,
    const char *name, const struct worker_ops *ops, void *ctx)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->magic = WORKER_MAGIC;
	w->sup = sup;
	w->ops = ops;
	w->ctx = ctx;
	w->session = *session;
	w->flags = flags;
	strlcpy(w->name, name, sizeof(w->name));
	w->timer = evtimer_new(sup->base, worker_on_timer, w);
	w->pulse = evtimer_new(sup->base, worker_on_pulse, w);
	w->acks = evtimer_new(sup->base, worker_on_acks, w);
	w->rest = evtimer_new(sup->base, worker_on_rest, w);
	if (w->timer == NULL || w->pulse == NULL || w->acks == NULL ||
	    w->rest == NULL)
		worker_free(&w);
	else
		worker_arm(w->timer, sup->settings.browserStartMs);
	return w;
}

void
worker_claim(
    struct worker *w, const char *name, const struct worker_ops *ops, void *ctx)
{
	ASSERT(w->spare);
	w->spare = false;
	w->claimed = true;
	w->ops = ops;
	w->ctx = ctx;
	strlcpy(w->name, name, sizeof(w->name));
	if (w->state == WS_SPARE)
		w->state = WS_CLAIMED;
	/* One that is still starting gets the time that others have. */
	worker_arm(w->timer,
	    w->state == WS_CLAIMED ? 0 : w->sup->settings.browserStartMs);
}

bool
worker_is_early(const struct worker *w)
{
	if (w->stopping || w->again || w->begun || w->reaped ||
	    w->state > WS_RUNNING)
		return false;
	return w->claimed || (w->takeover && w->state < WS_RUNNING);
}

void
worker_again(struct worker *w)
{
	chan_free(&w->chan);
	event_del(w->pulse);
	event_del(w->rest);
	w->again = true;
	w->takeover = w->claimed = w->browser_gone = false;
	w->count = w->acked = w->ack_due = 0;
	w->state = WS_SPAWNING;
	worker_arm(w->timer, w->sup->settings.browserStartMs);
}

bool
worker_is_sound(const struct worker *w)
{
	return w->state != WS_DOOMED && !w->browser_gone;
}

bool
worker_is_starting(const struct worker *w)
{
	return w->state < WS_RUNNING;
}

uint32_t
worker_cell(const struct worker *w)
{
	return w->cell == NULL ? 0 : w->cell_id;
}

const struct launch_sandbox *
worker_sandbox(const struct worker *w)
{
	return &w->cell->sandbox;
}

bool
worker_is_takeover(const struct worker *w)
{
	return w->takeover;
}

void
worker_free(struct worker **worker)
{
	struct worker *w = *worker;

	if (w == NULL)
		return;
	cell_let_go(w);
	chan_free(&w->chan);
	if (w->timer != NULL)
		event_free(w->timer);
	if (w->pulse != NULL)
		event_free(w->pulse);
	if (w->acks != NULL)
		event_free(w->acks);
	if (w->rest != NULL)
		event_free(w->rest);
	w->magic = 0;
	free(w);
	*worker = NULL;
}
