/*
 * Watches of runs, in the adapter. First all events there are are read, only
 * to know where the log ends; then each state event is a change.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "json/tape.h"
#include "mcp/watch.h"
#include "model/run.h"

#define POLL_MS  30000
#define AGAIN_MS 5000 /* the service is not there, or does not wait */

static void watch_ask(struct watch *);

/* Whether the error is about the run, not about the service. */
static bool
is_final(const char *json, size_t len)
{
	struct json_doc *doc;
	struct json_val code;
	bool final;

	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL))
		return true;
	code = json_obj_get(json_root(doc), "errorCode");
	final = json_str_eq(code, "RUN_NOT_FOUND") ||
	    json_str_eq(code, "INVALID_PARAMETER");
	json_doc_free(&doc);
	return final;
}

static void
watch_rest(struct watch *w)
{
	struct timeval tv = { AGAIN_MS / 1000, AGAIN_MS % 1000 * 1000 };

	event_add(w->timer, &tv);
}

static bool
has_state_event(struct json_val events)
{
	enum event_kind kind;
	struct json_iter it;
	char type[64];

	for (it = json_iter(events); json_iter_next(&it);)
		if (json_str_copy(
			json_obj_get(it.val, "type"), type, sizeof(type)) &&
		    event_by_name(type, &kind) && event_is_state(kind))
			return true;
	return false;
}

/* Notes what the answer says. */
static void
watch_take(
    struct watch *w, struct json_val answer, bool *ret_changed, bool *ret_empty)
{
	struct json_val events = json_obj_get(answer, "events");
	struct json_val status = json_obj_get(answer, "status");

	*ret_empty = json_len(events) == 0;
	*ret_changed =
	    !json_str_eq(status, w->status) || has_state_event(events);
	json_get_int64(json_obj_get(answer, "lastSeq"), &w->after_seq);
	json_str_copy(status, w->status, sizeof(w->status));
	w->over = strcmp(w->status, "queued") != 0 &&
	    strcmp(w->status, "running") != 0;
}

static void
watch_fail(struct watch *w, const char *json, size_t len)
{
	if (w->begun && !is_final(json, len)) {
		watch_rest(w);
		return;
	}
	w->over = true;
	if (w->begun)
		w->changed(w, true);
	else
		w->began(w, false, json, len);
}

/* Asks on before it tells, since the watch may be freed then. */
static void
watch_go_on(struct watch *w, bool changed, bool empty)
{
	bool begins = !w->begun && (empty || w->over);

	w->begun = w->begun || begins;
	/* One that does not wait is not to be asked all the time. */
	if (!w->over && empty && !begins &&
	    clock_mono_ms() - w->asked_ms < POLL_MS / 2)
		watch_rest(w);
	else if (!w->over)
		watch_ask(w);
	if (begins)
		w->began(w, true, NULL, 0);
	else if (w->begun && changed)
		w->changed(w, w->over);
}

static void
watch_on_events(struct link_req *r, bool good, const char *json, size_t len)
{
	struct watch *w =
	    (struct watch *)((char *)r - offsetof(struct watch, req));
	bool changed, empty;
	struct json_doc *doc;

	if (!good) {
		watch_fail(w, json, len);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		watch_rest(w);
		return;
	}
	watch_take(w, json_root(doc), &changed, &empty);
	json_doc_free(&doc);
	watch_go_on(w, changed, empty);
}

static void
watch_ask(struct watch *w)
{
	ipc_params_init(&w->req.params, MSG_RUN_EVENTS);
	ipc_set_str(&w->req.params, F_RUN_ID, w->run_id);
	ipc_set_int(&w->req.params, F_AFTER_SEQ, w->after_seq);
	ipc_set_int(&w->req.params, F_TIMEOUT_MS, w->begun ? POLL_MS : 0);
	w->asked_ms = clock_mono_ms();
	w->req.done = watch_on_events;
	link_send(w->adapter->link, &w->req);
}

static void
watch_on_timer(evutil_socket_t fd, short what, void *arg)
{
	watch_ask(arg);
}

struct watch *
watch_new(struct adapter *a, const char *run_id, watch_began_fn *began,
    watch_changed_fn *changed, void *ctx)
{
	struct watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return NULL;
	w->timer = evtimer_new(a->base, watch_on_timer, w);
	if (w->timer == NULL) {
		free(w);
		return NULL;
	}
	w->adapter = a;
	w->began = began;
	w->changed = changed;
	w->ctx = ctx;
	strlcpy(w->run_id, run_id, sizeof(w->run_id));
	watch_ask(w);
	return w;
}

void
watch_free(struct watch **watch)
{
	struct watch *w = *watch;

	*watch = NULL;
	link_drop(w->adapter->link, &w->req);
	event_free(w->timer);
	free(w);
}
