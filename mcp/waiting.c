/*
 * Submitting and waiting, in the adapter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/ulid.h"
#include "json/writer.h"
#include "mcp/answer.h"
#include "mcp/args.h"
#include "mcp/tasks.h"
#include "mcp/waiting.h"

#define POLL_MS      15000
#define WAIT_MS_MAX  600000
#define POLL_LIMIT   200
#define TRACE_CHARS  32
#define TRACE_OFFSET 3 /* of traceparent: "00-" before, "-" after it */

/* The trace id of a W3C traceparent in the request's _meta. */
static bool
find_trace(const struct call *c, char ret[TRACE_CHARS + 1])
{
	struct json_val meta = json_obj_get(c->msg.params, "_meta");
	char text[128];

	if (!json_str_copy(
		json_obj_get(meta, "traceparent"), text, sizeof(text)) ||
	    strlen(text) < TRACE_OFFSET + TRACE_CHARS + 1 || text[2] != '-' ||
	    text[TRACE_OFFSET + TRACE_CHARS] != '-')
		return false;
	memcpy(ret, text + TRACE_OFFSET, TRACE_CHARS);
	ret[TRACE_CHARS] = '\0';
	return strspn(ret, "0123456789abcdef") == TRACE_CHARS;
}

/* What the adapter's own arguments say, whatever the caller does. */
static void
write_bounds(const struct adapter *a, struct json_writer *w)
{
	if (a->public_only)
		json_put_bool(w, "publicOnly", true);
	if (a->domains != NULL)
		json_put_raw(
		    w, "clientDomains", a->domains, strlen(a->domains));
}

static bool
is_bound(const struct adapter *a, struct json_val key)
{
	return (a->public_only && json_str_eq(key, "publicOnly")) ||
	    (a->domains != NULL && json_str_eq(key, "clientDomains"));
}

/* The options as they are, and what is missing. */
static bool
write_options(struct call *c, struct json_val options)
{
	struct json_val inputs = json_obj_get(call_arguments(c), "inputs");
	const struct adapter *a = c->adapter;
	char trace[TRACE_CHARS + 1], key[ULID_CHARS + 1];
	struct json_writer w;
	struct json_iter it;
	struct ulid id;

	json_writer_init(&w, &c->options);
	json_write_begin_object(&w);
	for (it = json_iter(options); json_iter_next(&it);) {
		size_t len;
		char *name;

		if (is_bound(a, it.key))
			continue;
		name = json_str_dup(it.key, &len);
		if (name == NULL)
			return false;
		json_write_keyn(&w, name, len);
		json_write_val(&w, it.val);
		free(name);
	}
	if (json_is_missing(json_obj_get(options, "idempotencyKey"))) {
		id = ulid_new(clock_stamp_ms());
		ulid_format(&id, key);
		json_put_str(&w, "idempotencyKey", key);
		c->own_key = true;
	}
	if (json_is_missing(json_obj_get(options, "traceId")) &&
	    json_is_missing(json_obj_get(inputs, "trace_id")) &&
	    find_trace(c, trace))
		json_put_str(&w, "traceId", trace);
	write_bounds(a, &w);
	json_write_end_object(&w);
	return json_writer_finish(&w);
}

bool
waiting_prepare(struct call *c)
{
	struct json_val args = call_arguments(c);

	struct json_val mode =
	    json_obj_get(json_obj_get(args, "options"), "mode");

	c->submitted = true;
	c->is_auto = json_is_missing(mode) || json_str_eq(mode, "auto");
	/* Who asks for an answer at once gets the run. */
	c->as_task = tasks_wanted(c->reply.rev, c->msg.params) ||
	    (tasks_declared(c->reply.rev, c->msg.params) &&
		!json_str_eq(mode, "async"));
	if (!write_options(c, json_obj_get(args, "options"))) {
		answer_fault(
		    c, ERR_INVALID_PARAMETER, "/options: longer than 64 KiB");
		return false;
	}
	ipc_set_bin(&c->req.params, F_OPTIONS, c->options.data, c->options.len);
	if (!ipc_has(&c->req.params, F_INPUTS))
		ipc_set_bin(&c->req.params, F_INPUTS, "{}", 2);
	ipc_set_bool(&c->req.params, F_WAIT, false);
	return true;
}

static bool
is_terminal(struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	return json_is_string(status) && !json_str_eq(status, "queued") &&
	    !json_str_eq(status, "running");
}

/* Waiting for the end. */

static void
on_got(struct link_req *r, bool good, const char *json, size_t len)
{
	waiting_got(call_of(r), good, json, len);
}

static void
ask_run(struct call *c)
{
	/* Those of the call that only reads the run are whole already. */
	if (c->submitted) {
		ipc_params_init(&c->req.params, MSG_RUN_GET);
		ipc_set_str(&c->req.params, F_RUN_ID, c->run_id);
		ipc_set_int(&c->req.params, F_MAX_BYTES, CALL_ANSWER_BYTES);
	} else
		c->req.params = c->get;
	call_ask(c, on_got);
}

/* What an event says, for people. */
static void
describe_event(struct json_val event, char *ret, size_t size)
{
	struct json_val data = json_obj_get(event, "data");
	struct json_val item = json_obj_get(data, "item");
	char text[192] = "";

	ret[0] = '\0';
	if (json_str_eq(json_obj_get(event, "type"), "run_started"))
		snprintf(ret, size, "started");
	else if (json_str_copy(json_obj_get(data, "phase"), text, sizeof(text)))
		snprintf(ret, size, "phase: %s", text);
	else if (json_str_copy(
		     json_obj_get(data, "message"), text, sizeof(text)) ||
	    json_str_copy(json_obj_get(item, "url"), text, sizeof(text)))
		snprintf(ret, size, "%s", text);
	else if (json_str_copy(json_obj_get(data, "step"), text, sizeof(text)))
		snprintf(ret, size, "step: %s", text);
}

static void
take_event(struct call *c, struct json_val event)
{
	struct json_val data = json_obj_get(event, "data");
	int64_t done = 0, total = 0;
	char text[256];

	json_get_int64(json_obj_get(data, "done"), &done);
	json_get_int64(json_obj_get(data, "total"), &total);
	describe_event(event, text, sizeof(text));
	progress_set(&c->progress, done, total, text[0] == '\0' ? NULL : text);
}

static void
on_events(struct link_req *r, bool good, const char *json, size_t len);

static void
ask_events(struct call *c)
{
	int64_t left = c->until_ms - clock_mono_ms();

	ipc_params_init(&c->req.params, MSG_RUN_EVENTS);
	ipc_set_str(&c->req.params, F_RUN_ID, c->run_id);
	ipc_set_int(&c->req.params, F_AFTER_SEQ, c->after_seq);
	ipc_set_int(&c->req.params, F_LIMIT, POLL_LIMIT);
	ipc_set_int(&c->req.params, F_MAX_BYTES, CALL_ANSWER_BYTES);
	ipc_set_int(&c->req.params, F_TIMEOUT_MS,
	    left < 1             ? 1
		: left > POLL_MS ? POLL_MS
				 : left);
	call_ask(c, on_events);
}

bool
waiting_prepare_get(struct call *c)
{
	int64_t wait_ms;

	if (!args_number(c, "waitMs", 0, WAIT_MS_MAX, 0, &wait_ms))
		return false;
	answer_prepare_bounded(c);
	if (wait_ms == 0)
		return true;
	c->get = c->req.params;
	strlcpy(c->run_id, ipc_str(&c->get, F_RUN_ID), sizeof(c->run_id));
	c->until_ms = clock_mono_ms() + wait_ms;
	ask_events(c);
	return false;
}

/* The run has ended, or was waited for long enough. */
static bool
take_events(struct call *c, struct json_val answer)
{
	struct json_iter it;

	for (it = json_iter(json_obj_get(answer, "events"));
	     json_iter_next(&it);)
		take_event(c, it.val);
	json_get_int64(json_obj_get(answer, "lastSeq"), &c->after_seq);
	c->late = clock_mono_ms() >= c->until_ms;
	return is_terminal(answer) || c->late;
}

static void
on_events(struct link_req *r, bool good, const char *json, size_t len)
{
	struct call *c = call_of(r);
	struct json_doc *doc;
	bool over;

	if (!good) {
		answer_error(c, json, len);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	over = take_events(c, json_root(doc));
	json_doc_free(&doc);
	if (over)
		ask_run(c);
	else
		ask_events(c);
}

/* The submission's answer. */
static void
note_submission(struct call *c, struct json_val run)
{
	int64_t wait_ms = 0;

	json_str_copy(json_obj_get(run, "runId"), c->run_id, sizeof(c->run_id));
	json_str_copy(json_obj_get(run, "mode"), c->mode, sizeof(c->mode));
	json_get_bool(json_obj_get(run, "deduplicated"), &c->deduplicated);
	json_get_bool(json_obj_get(run, "paramsMismatch"), &c->mismatch);
	/* A second sending of our own key finds what the first one made. */
	if (c->own_key)
		c->deduplicated = c->mismatch = false;
	json_get_int64(json_obj_get(run, "waitMs"), &wait_ms);
	c->until_ms = clock_mono_ms() + wait_ms;
	if (c->is_auto && c->until_ms > c->begin_ms + c->adapter->auto_ms)
		c->until_ms = c->begin_ms + c->adapter->auto_ms;
	/* The inputs may be long and are not needed any more. */
	rpc_clear(&c->msg);
	buf_clear(&c->options);
}

static void
on_canceled(struct link_req *r, bool good, const char *json, size_t len)
{
	struct call *c = call_of(r);

	call_free(&c);
}

static bool
cancel_run(struct call *c)
{
	if (c->deduplicated)
		return false;
	link_drop(c->adapter->link, &c->req);
	/* Its answer was near, and would ask for the artifacts first. */
	if (c->timer != NULL)
		event_del(c->timer);
	ipc_params_init(&c->req.params, MSG_RUN_CANCEL);
	ipc_set_str(&c->req.params, F_RUN_ID, c->run_id);
	call_ask(c, on_canceled);
	return true;
}

bool
waiting_abandon(struct call *c)
{
	if (!c->submitted)
		return false;
	/* Its submission is on the way: when it is answered. */
	return c->run_id[0] == '\0' || cancel_run(c);
}

void
waiting_submitted(struct call *c, bool good, const char *json, size_t len)
{
	struct json_doc *doc;
	bool ended, sync;

	if (!good && !c->abandoned) {
		answer_error(c, json, len);
		return;
	}
	if (!good ||
	    !json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	note_submission(c, json_root(doc));
	ended = is_terminal(json_root(doc));
	if (c->as_task && !c->abandoned &&
	    (!ended || c->reply.rev->era == ERA_LEGACY)) {
		tasks_answer_made(c, json_root(doc));
		json_doc_free(&doc);
		return;
	}
	json_doc_free(&doc);
	if (c->abandoned) {
		if (!cancel_run(c))
			call_free(&c);
		return;
	}
	sync = strcmp(c->mode, "sync") == 0;
	if (!sync && buf_add(&c->run, json, len))
		answer_run(c, NULL, 0);
	else if (ended || !sync)
		ask_run(c);
	else
		ask_events(c);
}

/* The Run object. */

/* The list of its artifacts, or what is said without one. */
static void
on_listed(struct link_req *r, bool good, const char *json, size_t len)
{
	struct call *c = call_of(r);

	answer_run(c, good ? json : NULL, good ? len : 0);
}

static void
ask_artifacts(struct call *c)
{
	ipc_params_init(&c->req.params, MSG_ARTIFACT_LIST);
	ipc_set_str(&c->req.params, F_RUN_ID, c->run_id);
	call_ask(c, on_listed);
}

static void
on_rest(evutil_socket_t fd, short what, void *arg)
{
	ask_artifacts(arg);
}

void
waiting_got(struct call *c, bool good, const char *json, size_t len)
{
	struct timeval rest = { 0, 0 };
	struct json_doc *doc;
	struct json_val run;
	bool with_artifacts;

	if (!good) {
		answer_error(c, json, len);
		return;
	}
	if (!json_parse(
		(const uint8_t *)json, len, NULL, JSON_BORROW, &doc, NULL) ||
	    !buf_add(&c->run, json, len)) {
		answer_fault(c, ERR_INTERNAL, "the service's answer is bad");
		return;
	}
	run = json_root(doc);
	json_str_copy(json_obj_get(run, "runId"), c->run_id, sizeof(c->run_id));
	with_artifacts = json_len(json_obj_get(run, "artifactIds")) > 0;
	if (c->late && c->submitted && !is_terminal(run))
		strlcpy(c->mode, "async", sizeof(c->mode));
	json_doc_free(&doc);
	rest.tv_usec = (suseconds_t)progress_rest_ms(&c->progress) * 1000;
	progress_end(&c->progress);
	if (rest.tv_usec > 0)
		c->timer = evtimer_new(c->adapter->base, on_rest, c);
	if (c->timer != NULL && event_add(c->timer, &rest) == 0)
		return;
	if (with_artifacts)
		ask_artifacts(c);
	else
		answer_run(c, NULL, 0);
}
