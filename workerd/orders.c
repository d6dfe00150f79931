/*
 * What supervisord orders, in workerd. A run that is over hears no more orders
 * but those about what was said of it; the process stays until all of that is
 * stored, for a supervisord that comes anew would ask for it again.
 */
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "ipc/chan.h"
#include "page/browser.h"
#include "workerd/describe.h"
#include "workerd/keep.h"
#include "workerd/notice.h"
#include "workerd/outbox.h"
#include "workerd/report.h"
#include "workerd/run.h"
#include "workerd/worker.h"

static void
breach(struct worker *w, const char *why)
{
	log_err("supervisord broke the protocol: %s", why);
	worker_leave(w, 1);
}

static void
on_hello(struct worker *w, const struct ipc_params *p)
{
	if (ipc_int(p, F_PROTO, 0) != IPC_PROTO_WORKER) {
		breach(w, "another protocol version");
		return;
	}
	w->warm = ipc_bool(p, F_WARM, false);
	if (w->browser != NULL && ipc_bool(p, F_TEXT, false))
		browser_set_undrawn(w->browser);
	chan_set_phase(w->chan, w->describing ? PEER_DESCRIBE : PEER_IDLE);
}

static void
on_describe(struct worker *w)
{
	if (!w->describing) {
		breach(w, "describe to a worker with a browser");
		return;
	}
	if (!describe_send(w->out))
		worker_leave(w, 1);
	else
		chan_finish(w->chan);
}

static void
on_describe_text(struct worker *w, const struct ipc_params *p)
{
	const char *why = "describe.text to a worker with a browser";

	if (!w->describing || !describe_take_text(w->out, &w->text, p, &why))
		breach(w, why);
}

static void
on_go(struct worker *w)
{
	if (!w->run->inputs_complete || !w->run->journal_complete ||
	    !keep_is_complete(w->keep)) {
		breach(w, "run.go before inputs, journal and state");
		return;
	}
	w->go = w->told = true;
	worker_try_go(w);
}

static void
on_ack(struct worker *w, const struct ipc_params *p)
{
	if (!outbox_ack(w->out, ipc_int(p, F_N, 0)))
		breach(w, "what was never said is acknowledged");
	else if (w->ending && outbox_is_empty(w->out))
		chan_finish(w->chan);
}

/* Another supervisord: whether it must say more is not for us to know. */
static void
on_resume(struct worker *w, const struct ipc_params *p)
{
	bool go = w->run->over || (w->told && w->run->secrets_complete);

	if (w->describing ||
	    !outbox_resume(
		w->out, ipc_int(p, F_EPOCH, 0), ipc_int(p, F_N, 0), go))
		breach(w, "the run cannot be resumed there");
}

static void
on_run_msg(struct worker *w, const struct ipc_params *p)
{
	const char *why = "";
	bool ok = true;

	if (w->ending)
		return;
	switch (p->msg) {
	case MSG_W_RUN_BEGIN:
		ok = run_begin(w->run, p, &why) &&
		    keep_begin(w->keep, p, w->generation > 0, &why);
		if (ok)
			worker_await_secrets(w);
		setproctitle("%s", w->run->id);
		chan_set_phase(w->chan, PEER_RUN);
		break;
	case MSG_W_RUN_INPUT:
		ok = run_input(w->run, p, &why);
		break;
	case MSG_W_RUN_JOURNAL:
		ok = run_journal(w->run, p, &why);
		break;
	case MSG_W_RUN_STATE:
		ok = keep_state(w->keep, p, &why);
		break;
	case MSG_W_RUN_GO:
		on_go(w);
		break;
	case MSG_W_RUN_EFFECT:
		ok = run_effect_stored(w->run, &why);
		break;
	case MSG_W_RUN_EGRESS:
		notice_take(w->browser, p);
		break;
	case MSG_W_RUN_CANCEL:
		worker_cancel(w, ipc_str(p, F_REASON));
		break;
	default:
		break;
	}
	if (!ok)
		breach(w, why);
}

static void
on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct worker *w = ctx;
	const struct ipc_params *p = &msg->params;

	switch (p->msg) {
	case MSG_W_HELLO:
		on_hello(w, p);
		break;
	case MSG_W_PING:
		(void)report_pong(w->out, ipc_int(p, F_N, 0));
		break;
	case MSG_W_DESCRIBE:
		on_describe(w);
		break;
	case MSG_W_DESCRIBE_TEXT:
		on_describe_text(w, p);
		break;
	case MSG_W_RUN_ACK:
		on_ack(w, p);
		break;
	case MSG_W_RUN_RESUME:
		on_resume(w, p);
		break;
	default:
		on_run_msg(w, p);
		break;
	}
}

static void
on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct worker *w = ctx;
	bool done = w->ending || w->describing;

	if (!done)
		log_warn("supervisord's channel: %s", reason);
	worker_leave(w, done ? 0 : 1);
}

static void
on_drained(struct chan *chan, void *ctx)
{
	struct worker *w = ctx;

	if (!outbox_drained(w->out) || w->run == NULL || w->ending)
		return;
	run_drained(w->run);
	keep_drained(w->keep);
}

const struct chan_ops worker_orders = {
	.on_msg = on_msg,
	.on_closed = on_closed,
	.on_drained = on_drained,
};
