/*
 * workerd: runs one template in one compartment. It is started with its
 * descriptors (2 log, 3 supervisord, 4 and 5 the browser, 6 secrets), opens
 * nothing by itself, and confines itself before it reads from any of them. It
 * must never decide a run's state: it reports, and ends.
 *
 * Any end of supervisord's channel ends the process; any end of the browser
 * ends the run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/timers.h"
#include "common/panic.h"
#include "ipc/chan.h"
#include "page/browser.h"
#include "page/page.h"
#include "workerd/confine.h"
#include "workerd/keep.h"
#include "workerd/outbox.h"
#include "workerd/redact.h"
#include "workerd/report.h"
#include "workerd/run.h"
#include "workerd/secret.h"
#include "workerd/start.h"
#include "workerd/warm.h"
#include "workerd/worker.h"

#define FD_IPC     3
#define FD_CDP_IN  4
#define FD_CDP_OUT 5
#define FD_SECRETS 6
#define TIMERS     256
#define STOP_MS    150 /* of LIMIT_CANCEL_GRACE_MS, for the template */

void
worker_leave(struct worker *w, int status)
{
	w->status = status;
	(void)event_base_loopbreak(w->base);
}

/* ---- the run ---- */

/* Comes from anywhere inside the run: what follows is done by the loop. */
static void
on_run_ended(void *ctx)
{
	struct worker *w = ctx;

	event_active(w->end_event, EV_TIMEOUT, 1);
}

static void
on_end_event(evutil_socket_t fd, short what, void *ctx)
{
	struct worker *w = ctx;

	if (w->ending || w->run == NULL || !w->run->over)
		return;
	if (!w->saving) {
		w->saving = true;
		if (!keep_save(w->keep, w->browser, w->stopping))
			return;
	}
	w->ending = true;
	chan_set_phase(w->chan, PEER_ENDED);
	/* One that cannot be said is not waited for. */
	if (!run_report_end(w->run))
		chan_finish(w->chan);
}

static void
on_stop_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct worker *w = ctx;

	if (!w->ending)
		run_abort(w->run, ERR_RUN_CANCELED,
		    "the template did not stop in time");
}

static void
start_template(struct worker *w)
{
	struct page *first = w->first;

	w->first = NULL;
	run_go(w->run, w->browser, first);
}

static void
on_kept(void *ctx)
{
	struct worker *w = ctx;

	if (w->run->over)
		event_active(w->end_event, EV_TIMEOUT, 1);
	else
		start_template(w);
}

void
worker_try_go(struct worker *w)
{
	if (!w->go || !w->browser_ready || !w->run->secrets_complete ||
	    w->ending || w->run->over)
		return;
	w->go = false;
	if (keep_load(w->keep, w->browser))
		start_template(w);
}

/* What the cell writes into the pipe; it never says how much. */
static void
on_secrets(evutil_socket_t fd, short what, void *ctx)
{
	struct worker *w = ctx;
	enum secrets_status status;

	if (w->ending)
		return;
	status = secrets_read(w->run->secrets, fd);
	if (status == SECRETS_MORE)
		return;
	(void)event_del(w->secrets_event);
	if (status == SECRETS_LOST) {
		run_abort(w->run, ERR_SECRET_LOST,
		    "the secret inputs of the run did not arrive");
		return;
	}
	w->run->redact = redact_new(w->run->secrets);
	if (w->run->redact == NULL) {
		run_abort(w->run, ERR_INTERNAL, "out of memory");
		return;
	}
	redact_install(w->run->redact);
	w->run->secrets_complete = true;
	worker_try_go(w);
}

void
worker_await_secrets(struct worker *w)
{
	if (w->run->secrets_complete)
		return;
	w->secrets_event =
	    event_new(w->base, FD_SECRETS, EV_READ | EV_PERSIST, on_secrets, w);
	if (fd_set_nonblock(FD_SECRETS) != 0 || w->secrets_event == NULL ||
	    event_add(w->secrets_event, NULL) != 0)
		run_abort(w->run, ERR_INTERNAL, "no event for the secrets");
}

void
worker_cancel(struct worker *w, const char *reason)
{
	const struct timeval tv = { 0, STOP_MS * 1000 };
	enum err_code code = ERR_RUN_CANCELED;
	const char *text = "the run was canceled";

	if (strcmp(reason, "timeout") == 0) {
		code = ERR_RUN_TIMEOUT;
		text = "the run took longer than its limit";
	} else if (strcmp(reason, "shutdown") == 0) {
		code = ERR_SHUTTING_DOWN;
		text = "the service is shutting down";
	}
	w->stopping = true;
	(void)evtimer_add(w->stop_timer, &tv);
	if (w->run->over) {
		/* Only the session's state was still waited for. */
		keep_stop(w->keep);
		event_active(w->end_event, EV_TIMEOUT, 1);
	} else
		run_stop(w->run, code, text);
}

/* ---- the browser ---- */

static void
on_tab_ready(void *ctx, const char *why)
{
	struct worker *w = ctx;

	if (why != NULL) {
		run_abort(w->run, ERR_BROWSER_START_FAILED, why);
		return;
	}
	w->browser_ready = true;
	if (!w->ending)
		(void)report_ready(w->out, w->product);
	worker_try_go(w);
}

static void
on_first_tab(
    struct page *page, enum page_status status, const char *message, void *ctx)
{
	struct worker *w = ctx;

	if (status != PAGE_OK) {
		w->first = NULL;
		run_abort(w->run, ERR_BROWSER_START_FAILED, message);
		return;
	}
	if (!w->warm || !warm_page(page, on_tab_ready, w))
		on_tab_ready(w, NULL);
}

static void
on_browser_ready(
    struct browser *browser, const char *product, const char *why, void *ctx)
{
	struct worker *w = ctx;

	if (product == NULL) {
		run_abort(w->run,
		    w->generation == 0 ? ERR_BROWSER_START_FAILED
				       : ERR_CDP_UNAVAILABLE,
		    why);
		return;
	}
	strlcpy(w->product, product, sizeof(w->product));
	w->first = browser_take_tab(browser);
	if (w->first != NULL)
		on_first_tab(w->first, PAGE_OK, "", w);
	else if ((w->first = page_open(browser, on_first_tab, w)) == NULL)
		run_abort(
		    w->run, ERR_BROWSER_START_FAILED, "no tab could be opened");
}

static void
on_browser_gone(struct browser *browser, const char *why, void *ctx)
{
	struct worker *w = ctx;

	run_abort(w->run,
	    w->browser_ready ? ERR_PAGE_CRASHED : ERR_BROWSER_START_FAILED,
	    why);
}

static void
on_browser_warning(struct browser *browser, const char *text, void *ctx)
{
	struct worker *w = ctx;

	if (!w->ending && chan_phase(w->chan) == PEER_RUN)
		(void)report_warning(w->out, text);
}

static void
on_browser_stuck(struct browser *browser, const char *why, void *ctx)
{
	struct worker *w = ctx;

	run_abort(w->run, ERR_CDP_UNAVAILABLE, why);
}

/* ---- start ---- */

static void
start_chan(struct worker *w)
{
	w->chan = chan_new(w->base, FD_IPC, IPC_DOWN, &worker_orders, w);
	if (w->chan == NULL)
		fatal("descriptor %d: %s", FD_IPC, strerror(errno));
	if (!w->describing)
		chan_set_queue_limit(w->chan, OUTBOX_CHAN_BYTES);
	w->out = outbox_new(w->chan);
	if (w->out == NULL)
		fatal("out of memory");
	if (!report_hello(w->out))
		fatal("cannot greet supervisord");
}

static void
start_run(struct worker *w)
{
	static const struct browser_ops ops = { on_browser_ready,
		on_browser_gone, on_browser_warning, on_browser_stuck };

	const struct browser_options options = { .generation = w->generation };

	w->run = run_new(w->out, on_run_ended, w);
	w->keep = keep_new(w->out, on_kept, w);
	w->stop_timer = evtimer_new(w->base, on_stop_timer, w);
	w->end_event = event_new(w->base, -1, 0, on_end_event, w);
	if (w->run == NULL || w->keep == NULL || w->stop_timer == NULL ||
	    w->end_event == NULL)
		fatal("out of memory");
	w->browser =
	    browser_new(w->base, FD_CDP_IN, FD_CDP_OUT, &options, &ops, w);
	if (w->browser == NULL)
		fatal("out of memory");
}

static void
clean_up(struct worker *w)
{
	keep_free(&w->keep);
	run_free(&w->run);
	browser_free(&w->browser);
	outbox_free(&w->out);
	chan_free(&w->chan);
	buf_clear(&w->text);
	if (w->stop_timer != NULL)
		event_free(w->stop_timer);
	if (w->end_event != NULL)
		event_free(w->end_event);
	if (w->secrets_event != NULL)
		event_free(w->secrets_event);
	event_base_free(w->base);
}

int
main(int argc, char **argv)
{
	struct worker w;

	memset(&w, 0, sizeof(w));
	log_init("workerd", LOGL_INFO);
	buf_init(&w.text, LIMIT_TEMPLATE_BYTES);
	start_arguments(argc, argv, &w.describing, &w.generation);
	start_check_fds(w.describing ? FD_IPC : FD_SECRETS, FD_SECRETS);
	start_ignore_signals();
	start_let_writer_finish();
	setproctitle("%s", w.describing ? "describing" : "idle");
	w.base = loop_new();
	if (w.base == NULL || !timers_reserve(w.base, TIMERS))
		fatal("no event loop");
	start_chan(&w);
	if (!w.describing)
		start_run(&w);
	worker_confine();
	(void)event_base_dispatch(w.base);
	clean_up(&w);
	return w.status;
}
