/*
 * A worker as supervisord sees it: what its connection and the launcher tell is
 * turned into inputs of the table (worker_table.c). Terminal is only REAPED.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "ipc/chan.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/celllog.h"
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
	if (msg->params.msg != MSG_S_PONG)
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

/* What the launcher tells. */

static void
worker_on_launch_ready(void *ctx, int ipc_fd, int log_fd)
{
	struct input in = { .ipc_fd = ipc_fd, .log_fd = log_fd };
	struct worker *w = ctx;

	if (ipc_fd == -1)
		worker_kill(w, ERR_SPAWN_FAILED, "no descriptors are left");
	else if (w->chan != NULL)
		worker_drop_fds(&in);
	else
		worker_input(w, WI_READY, &in);
}

static void
worker_on_sandbox(void *ctx, const struct launch_sandbox *sandbox)
{
	struct input in = { .sandbox = sandbox };

	worker_input(ctx, WI_SANDBOX, &in);
}

static void
worker_on_browser_exited(void *ctx, int status)
{
	struct worker *w = ctx;
	struct input in = { 0 };

	log_info("%s: cell %u: browser ended, status %d", w->name, w->cell_id,
	    status);
	worker_input(w, WI_BROWSER_GONE, &in);
}

static void
worker_on_reaped(void *ctx, const struct launch_reaped *r)
{
	struct worker *w = ctx;
	struct worker_end *end = &w->end;

	log_info("%s: cell %u: reaped: %s, status %d", w->name, w->cell_id,
	    launch_cause_name((enum launch_cause)r->cause), r->status);
	/* What it wrote before it ended may still lie in its socket. */
	w->reaped = true;
	if (w->chan != NULL)
		chan_drain(w->chan);
	if (r->cause == LAUNCH_SPAWN_FAILED && end->code == ERR_NONE) {
		end->code = ERR_SPAWN_FAILED;
		snprintf(end->text, sizeof(end->text), "%s: %s",
		    r->stage[0] == '\0' ? "spawn" : r->stage,
		    strerror(r->error));
	} else if (end->code == ERR_NONE && w->state != WS_ENDED) {
		end->code =
		    w->browser_gone ? ERR_PAGE_CRASHED : ERR_WORKER_LOST;
		snprintf(end->text, sizeof(end->text),
		    "the %s ended unexpectedly",
		    w->browser_gone ? "browser" : "worker");
	}
	event_del(w->timer);
	event_del(w->pulse);
	chan_free(&w->chan);
	celllog_free(&w->log);
	w->ops->on_reaped(w->ctx, end);
}

static const struct link_ops worker_link_ops = {
	.on_ready = worker_on_launch_ready,
	.on_sandbox = worker_on_sandbox,
	.on_browser_exited = worker_on_browser_exited,
	.on_reaped = worker_on_reaped,
};

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

	if (clock_mono_ms() - w->heard_ms >= w->sup->settings.silentMs) {
		snprintf(text, sizeof(text),
		    "the worker did not answer for %lld ms",
		    (long long)w->sup->settings.silentMs);
		worker_kill(w, ERR_WORKER_SILENT, text);
		return;
	}
	ipc_params_init(&p, MSG_W_PING);
	ipc_set_int(&p, F_N, ++w->pings);
	worker_send(w, &p);
	if (w->state == WS_RUNNING)
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

void
worker_set_running(struct worker *w)
{
	if (w->state == WS_RUNNING && w->chan != NULL)
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
	w->flags = flags;
	strlcpy(w->name, name, sizeof(w->name));
	w->timer = evtimer_new(sup->base, worker_on_timer, w);
	w->pulse = evtimer_new(sup->base, worker_on_pulse, w);
	if (w->timer != NULL && w->pulse != NULL)
		w->cell_id = link_spawn(
		    sup->link, session, flags, name, &worker_link_ops, w);
	if (w->cell_id == 0) {
		worker_free(&w);
		return NULL;
	}
	worker_arm(w->timer, sup->settings.browserStartMs);
	return w;
}

void
worker_free(struct worker **worker)
{
	struct worker *w = *worker;

	if (w == NULL)
		return;
	chan_free(&w->chan);
	celllog_free(&w->log);
	if (w->timer != NULL)
		event_free(w->timer);
	if (w->pulse != NULL)
		event_free(w->pulse);
	w->magic = 0;
	free(w);
	*worker = NULL;
}
