/*
 * Waiting for a run: follows its events, draws its progress, outlives a
 * restart of the service, and ends with the result. Interrupting it ends the
 * waiting, never the run.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "ctl/ctl.h"
#include "ctl/progress.h"
#include "model/run.h"

#define CALL_MS      30000
#define DRAW_MS      200
#define RETRY_MS     250
#define RETRY_FOR_MS 20000

struct watch {
	struct ctl *ctl;
	const char *run_id;
	int64_t seq; /* of the last event seen */
	struct progress progress;
	bool ended;
	bool interrupted;
	bool waiting; /* in client_wait, which may be stopped */
};

static void
watch_draw(struct watch *w)
{
	if (w->progress.live)
		progress_draw(&w->progress, clock_mono_ms());
}

static bool
status_ended(struct json_val run)
{
	char name[32] = "";
	enum run_status status;

	json_str_copy(json_obj_get(run, "status"), name, sizeof(name));
	return run_status_by_name(name, &status) && run_status_terminal(status);
}

static bool
event_ends(struct json_val event)
{
	struct json_val type = json_obj_get(event, "type");

	return json_str_eq(type, "run_completed") ||
	    json_str_eq(type, "run_failed") ||
	    json_str_eq(type, "run_canceled");
}

static void
watch_stop(struct watch *w)
{
	if (w->waiting)
		client_stop(w->ctl->client);
}

static void
watch_event(struct watch *w, const struct ipc_params *p)
{
	struct json_doc *doc = NULL;
	int64_t seq = ipc_int(p, F_SEQ, 0);
	const void *json;
	size_t len;

	/* Progress that is not stored has no number. */
	if (seq != 0 && seq <= w->seq)
		return;
	if (seq != 0)
		w->seq = seq;
	json = ipc_bin(p, F_EVENT, &len);
	if (!json_parse(json, len, NULL, JSON_BORROW, &doc, NULL))
		return;
	progress_take_event(&w->progress, json_root(doc), clock_mono_ms());
	if (event_ends(json_root(doc))) {
		w->ended = true;
		watch_stop(w);
	}
	json_doc_free(&doc);
}

/*
 * A gap needs nothing: the service goes on behind it, and every event says how
 * far the run is in all.
 */
static void
on_note(struct client *client, const struct ipc_params *p, void *ctx)
{
	struct watch *w = ctx;

	if (p->msg == MSG_EVENT && strcmp(ipc_str(p, F_RUN_ID), w->run_id) == 0)
		watch_event(w, p);
}

static void
on_interrupt(evutil_socket_t sig, short what, void *arg)
{
	struct watch *w = arg;

	w->interrupted = true;
	watch_stop(w);
}

static void
on_draw(evutil_socket_t fd, short what, void *arg)
{
	watch_draw(arg);
}

/* Follows from the last event seen; the answer is the run as it is. */
static enum ctl_exit
follow(struct watch *w)
{
	struct ctl_answer a;
	struct ipc_params p;
	enum ctl_exit rc;

	ipc_params_init(&p, MSG_RUN_FOLLOW);
	ipc_set_str(&p, F_RUN_ID, w->run_id);
	ipc_set_int(&p, F_AFTER_SEQ, w->seq);
	rc = ctl_call(w->ctl, &p, CALL_MS, &a);
	if (rc != CTL_OK)
		return rc;
	progress_take_run(&w->progress, a.root, clock_mono_ms());
	w->ended |= status_ended(a.root);
	ctl_answer_free(&a);
	return CTL_OK;
}

/*
 * One connection's worth of waiting. CLIENT_LOST when the service went away;
 * *ret_rc is set when it answered with an error instead.
 */
static enum client_status
watch_once(struct watch *w, enum ctl_exit *ret_rc)
{
	struct event_base *base = client_base(w->ctl->client);
	struct timeval tv = { 0, DRAW_MS * 1000 };
	struct event *sig, *draw;
	enum client_status status = CLIENT_STOPPED;

	client_on_note(w->ctl->client, on_note, w);
	sig = evsignal_new(base, SIGINT, on_interrupt, w);
	draw = event_new(base, -1, EV_PERSIST, on_draw, w);
	if (sig != NULL)
		event_add(sig, NULL);
	if (draw != NULL && w->progress.live)
		event_add(draw, &tv);
	*ret_rc = follow(w);
	if (*ret_rc == CTL_OK && !w->ended && !w->interrupted) {
		watch_draw(w);
		w->waiting = true;
		status = client_wait(w->ctl->client, CLIENT_WHILE_ALIVE);
		w->waiting = false;
	}
	client_on_note(w->ctl->client, NULL, NULL);
	if (sig != NULL)
		event_free(sig);
	if (draw != NULL)
		event_free(draw);
	return status;
}

void
watch_pause(void)
{
	struct event_base *base = event_base_new();
	struct timeval tv = { 0, RETRY_MS * 1000 };

	if (base == NULL)
		return;
	event_base_loopexit(base, &tv);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	event_base_free(base);
}

/* The service went away: it may be restarting, and the run is durable. */
static bool
reconnect(struct watch *w, bool silent)
{
	int64_t until = clock_mono_ms() + RETRY_FOR_MS;
	char reason[CLIENT_REASON_MAX];

	client_free(&w->ctl->client);
	progress_erase(&w->progress);
	fprintf(stderr, "the service %s, waiting for it to return\n",
	    silent ? "does not answer" : "went away");
	while (clock_mono_ms() < until) {
		if (client_connect("browsertaskctl", w->ctl->opt[OPT_SOCKET],
			&w->ctl->client, reason) == CLIENT_OK)
			return true;
		/* An interrupt ends the program here, as it should. */
		watch_pause();
	}
	ctl_error("no service answers (%s)", reason);
	ctl_hint("the run is kept: browsertaskctl wait %s, once the service "
		 "is back",
	    w->run_id);
	return false;
}

static enum ctl_exit
watch_loop(struct watch *w)
{
	enum ctl_exit rc = CTL_OK;

	while (!w->ended && !w->interrupted) {
		enum client_status status = watch_once(w, &rc);

		if (w->ended || w->interrupted)
			break;
		if (rc == CTL_REFUSED || rc == CTL_USAGE)
			return rc;
		if (status != CLIENT_STOPPED || rc == CTL_NO_SERVICE)
			if (!reconnect(w, status == CLIENT_TIMEOUT))
				return CTL_NO_SERVICE;
	}
	return CTL_OK;
}

/* A run that is queued may wait for long when the service is drained. */
static void
tell_draining(struct ctl *ctl, const char *run_id)
{
	struct json_val status;
	struct ctl_answer a;
	bool draining = false, queued;

	if (profile_get(ctl, &a) != CTL_OK)
		return;
	json_get_bool(json_obj_get(a.root, "draining"), &draining);
	ctl_answer_free(&a);
	if (!draining || run_get(ctl, run_id, &a) != CTL_OK)
		return;
	status = json_obj_get(a.root, "status");
	queued = json_str_eq(status, run_status_name(RUN_QUEUED));
	ctl_answer_free(&a);
	if (!queued)
		return;
	ctl_error(
	    "the service is draining: %s waits until it is resumed", run_id);
	ctl_hint("browsertaskctl resume lets runs start again");
}

static enum ctl_exit
watch(struct ctl *ctl, const char *run_id, bool silent)
{
	struct watch w = { .ctl = ctl, .run_id = run_id };
	enum ctl_exit rc = ctl_connect(ctl);

	if (rc != CTL_OK)
		return rc;
	progress_init(&w.progress, ctl->err_tty, ctl->color, ctl->unicode);
	w.progress.silent = silent;
	rc = watch_loop(&w);
	progress_erase(&w.progress);
	return rc == CTL_OK && w.interrupted ? CTL_INTERRUPTED : rc;
}

enum ctl_exit
watch_end(struct ctl *ctl, const char *run_id)
{
	enum ctl_exit rc = watch(ctl, run_id, true);

	if (rc == CTL_INTERRUPTED)
		ctl_error("stopped waiting; %s goes on", run_id);
	return rc;
}

enum ctl_exit
watch_run(struct ctl *ctl, const char *run_id)
{
	struct ctl_answer a;
	enum ctl_exit rc = ctl_connect(ctl);

	if (rc != CTL_OK)
		return rc;
	tell_draining(ctl, run_id);
	rc = watch(ctl, run_id, false);
	if (rc == CTL_INTERRUPTED) {
		ctl_error("stopped waiting; %s goes on", run_id);
		ctl_hint("browsertaskctl wait %s waits again, browsertaskctl "
			 "cancel %s ends it",
		    run_id, run_id);
	}
	if (rc == CTL_OK)
		rc = run_get(ctl, run_id, &a);
	if (rc != CTL_OK)
		return rc;
	rc = result_show(ctl, a.root);
	ctl_answer_free(&a);
	return rc;
}
