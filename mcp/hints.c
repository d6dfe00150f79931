/*
 * What a model is told besides the contract, in the adapter. Nothing here is
 * needed to understand an answer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mcp/artifact.h"
#include "mcp/hints.h"
#include "model/mime.h"

#define ARTIFACT_HINTS_MAX 3
#define HINT_WAIT_MS       45000 /* most clients give up after 60 s */

/* Opens an action up to its arguments, which follow. */
static void
action_begin(struct json_writer *w, const char *tool)
{
	json_write_begin_object(w);
	json_put_str(w, "tool", tool);
	json_write_key(w, "arguments");
	json_write_begin_object(w);
}

static void
action_end(struct json_writer *w, const char *why)
{
	json_write_end_object(w);
	json_put_str(w, "why", why);
	json_write_end_object(w);
}

static void
put_if_there(struct json_writer *w, const char *key, struct json_val v)
{
	if (!json_is_missing(v))
		json_put_val(w, key, v);
}

static void
action_of(struct json_writer *w, const char *tool, const char *key,
    struct json_val value, const char *why)
{
	action_begin(w, tool);
	put_if_there(w, key, value);
	action_end(w, why);
}

/* Runs. */

static bool
is_active(struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	return json_str_eq(status, "queued") || json_str_eq(status, "running");
}

static int64_t
number(struct json_val v, const char *key)
{
	int64_t n = 0;

	json_get_int64(json_obj_get(v, key), &n);
	return n;
}

static bool
is_false(struct json_val v)
{
	bool flag = true;

	return json_get_bool(v, &flag) && !flag;
}

/* What a run without an error did, by its result where that counts. */
static void
say_done(struct json_val run, char *ret, size_t size)
{
	struct json_val result = json_obj_get(run, "result");
	struct json_val summary = json_obj_get(result, "summary");
	struct json_val progress = json_obj_get(run, "progress");
	struct json_val warnings = json_obj_get(run, "warnings");
	char why[256] = "see its warnings";
	int64_t total = number(summary, "total");

	if (is_false(json_obj_get(result, "success"))) {
		/* The last one is about the end. */
		if (!json_str_cut(
			json_obj_get(json_obj_get(result, "error"), "message"),
			why, sizeof(why)) &&
		    json_len(warnings) > 0)
			json_str_cut(
			    json_arr_get(warnings, json_len(warnings) - 1), why,
			    sizeof(why));
		snprintf(ret, size, "without success: %s", why);
	} else if (total > 0)
		snprintf(ret, size,
		    "%" PRId64 " of %" PRId64 " succeeded, %" PRId64 " failed",
		    number(summary, "succeeded"), total,
		    number(summary, "failed"));
	else
		snprintf(ret, size, "%" PRId64 " of %" PRId64 " units done",
		    number(progress, "doneSteps"),
		    number(progress, "totalSteps"));
}

static void
summarize_end(struct json_val run, size_t artifacts, char *ret, size_t size)
{
	struct json_val error = json_obj_get(run, "error");
	int64_t ms = number(json_obj_get(run, "metrics"), "elapsedMs");
	char status[32] = "ended", message[320] = "", code[64] = "";

	json_str_copy(json_obj_get(run, "status"), status, sizeof(status));
	if (json_is_object(error)) {
		json_str_cut(
		    json_obj_get(error, "message"), message, sizeof(message));
		json_str_copy(
		    json_obj_get(error, "errorCode"), code, sizeof(code));
		snprintf(ret, size, "%s after %.1f s: %s (%s)", status,
		    (double)ms / 1000, message, code);
		return;
	}
	say_done(run, message, sizeof(message));
	snprintf(ret, size, "%s in %.1f s: %s, %zu artifact%s%s", status,
	    (double)ms / 1000, message, artifacts, artifacts == 1 ? "" : "s",
	    json_is_object(
		json_obj_get(json_obj_get(run, "result"), "truncated"))
		? "; the result is shortened, all of it is in an artifact"
		: "");
}

static void
summarize(struct json_val run, char *ret, size_t size)
{
	struct json_val progress = json_obj_get(run, "progress");
	char phase[32] = "";

	if (!is_active(run)) {
		summarize_end(
		    run, json_len(json_obj_get(run, "artifactIds")), ret, size);
	} else if (json_str_eq(json_obj_get(run, "status"), "queued")) {
		snprintf(ret, size, "queued; it starts when a place is free");
	} else {
		json_str_copy(json_obj_get(run, "phase"), phase, sizeof(phase));
		snprintf(ret, size,
		    "running: %" PRId64 " of %" PRId64 " units done%s%s",
		    number(progress, "doneSteps"),
		    number(progress, "totalSteps"),
		    phase[0] == '\0' ? "" : ", ", phase);
	}
}

static void
hint_active(struct json_writer *w, struct json_val id)
{
	action_begin(w, "get_task_run");
	put_if_there(w, "runId", id);
	json_put_int64(w, "waitMs", HINT_WAIT_MS);
	action_end(w, "wait for its end and read its result");
	action_of(w, "cancel_task_run", "runId", id,
	    "only if the run is not wanted any more");
}

/* Pictures and the like come whole. */
static bool
mime_is_chunked(struct json_val mime)
{
	char text[128] = "";

	json_str_copy(mime, text, sizeof(text));
	return mime_is_text(text);
}

static void
hint_ended(
    struct json_writer *w, struct json_val run, struct json_val artifacts)
{
	struct json_val result = json_obj_get(run, "result");
	struct json_val session = json_obj_get(result, "sessionId");
	char name[160], why[192];
	struct json_iter it;
	size_t n = 0;

	if (json_str_eq(json_obj_get(result, "loginState"), "needs_code"))
		action_of(w, "run_task_template", "sessionId", session,
		    "fill in the code: submit_and_verify with finalUrl as "
		    "startUrl and codeField's locator");
	else if (json_is_string(session) &&
	    !is_false(json_obj_get(result, "success")))
		action_of(w, "run_task_template", "sessionId", session,
		    "go on in this session, with its cookies");
	/* Submissions are answered without a result. */
	if (json_is_missing(json_obj_get(run, "artifactIds")))
		action_of(w, "get_task_run", "runId",
		    json_obj_get(run, "runId"), "read the result");
	for (it = json_iter(artifacts);
	     n < ARTIFACT_HINTS_MAX && json_iter_next(&it);) {
		if (json_str_eq(json_obj_get(it.val, "kind"), "task_result"))
			continue;
		n++;
		if (!json_str_copy(
			json_obj_get(it.val, "name"), name, sizeof(name)))
			name[0] = '\0';
		snprintf(why, sizeof(why),
		    json_str_eq(
			json_obj_get(it.val, "mimeType"), "application/json")
			? "read %s; item or select reads a part of it"
			: "read %s",
		    name);
		action_begin(w, "get_artifact");
		put_if_there(
		    w, "artifactId", json_obj_get(it.val, "artifactId"));
		if (mime_is_chunked(json_obj_get(it.val, "mimeType")))
			json_put_int64(w, "limit", ARTIFACT_MODEL_BYTES);
		action_end(w, why);
	}
}

void
hints_run(struct json_writer *w, struct json_val run, struct json_val artifacts)
{
	char text[640];

	summarize(run, text, sizeof(text));
	json_put_str(w, "resultSummary", text);
	json_write_key(w, "nextActions");
	json_write_begin_array(w);
	if (is_active(run))
		hint_active(w, json_obj_get(run, "runId"));
	else
		hint_ended(w, run, artifacts);
	json_write_end_array(w);
}

/* Errors: one call that helps. */
void
hints_error(struct json_writer *w, struct json_val error)
{
	static const char *const rows[][3] = {
		{ "RUN_NOT_FOUND", "list_task_runs",
		    "find the runs whose records are kept" },
		{ "TEMPLATE_NOT_FOUND", "list_task_templates",
		    "find the ids of the templates" },
		{ "TEMPLATE_VERSION_UNSUPPORTED", "list_task_templates",
		    "find the versions that are served" },
		{ "INVALID_PARAMETER", "list_task_templates",
		    "compare the inputs with the template's schema and its "
		    "exampleInputs" },
		{ "ARTIFACT_NOT_FOUND", "list_task_runs",
		    "find the run, then its artifactIds by get_task_run" },
		{ "ARTIFACT_EXPIRED", "run_task_template",
		    "make the artifact anew" },
		{ "SESSION_NOT_FOUND", "run_task_template",
		    "run it without sessionId, or log in again" },
		{ "EXECUTION_ERROR", "get_runtime_profile",
		    "look at the load and the limits" },
	};
	struct json_val code = json_obj_get(error, "errorCode");
	struct json_val run = json_obj_get(error, "runId");

	json_write_key(w, "nextActions");
	json_write_begin_array(w);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (json_str_eq(code, rows[i][0])) {
			action_begin(w, rows[i][1]);
			action_end(w, rows[i][2]);
		}
	if (json_is_string(run) && !json_str_eq(code, "RUN_NOT_FOUND"))
		action_of(w, "get_task_run", "runId", run, "look at the run");
	json_write_end_array(w);
}

void
hints_list(struct json_writer *w, const char *tool, struct json_val cursor)
{
	json_write_key(w, "nextActions");
	json_write_begin_array(w);
	if (json_is_string(cursor))
		action_of(w, tool, "cursor", cursor,
		    "read on, with the same filters");
	json_write_end_array(w);
}

void
hints_events(struct json_writer *w, struct json_val answer)
{
	struct json_val id = json_obj_get(answer, "runId");

	json_write_key(w, "nextActions");
	json_write_begin_array(w);
	if (is_active(answer) || json_len(json_obj_get(answer, "events")) > 0) {
		action_begin(w, "subscribe_task_run_events");
		put_if_there(w, "runId", id);
		put_if_there(w, "afterSeq", json_obj_get(answer, "lastSeq"));
		action_end(w, "read the events that come after these");
	}
	if (!is_active(answer))
		action_of(w, "get_task_run", "runId", id,
		    "the run has ended: read its result");
	json_write_end_array(w);
}

void
hints_templates(
    struct json_writer *w, struct json_val templates, bool shortened)
{
	json_write_key(w, "nextActions");
	json_write_begin_array(w);
	if (json_len(templates) > 0) {
		action_begin(w, "run_task_template");
		action_end(
		    w, "give a templateId and inputs that fit its schema");
	}
	if (shortened) {
		action_begin(w, "list_task_templates");
		action_end(w,
		    "give a templateId to see the schemas of its inputs and "
		    "result, its limits and exampleInputs");
	}
	json_write_end_array(w);
}
