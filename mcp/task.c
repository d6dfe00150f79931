/*
 * Runs as tasks, in the adapter: looking one up and writing it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mcp/answer.h"
#include "mcp/task.h"

#define POLL_INTERVAL_MS 1000
#define MESSAGE_BYTES    512

static const char no_task[] = "there is no task with this id";

static int64_t
stamp_of(struct json_val run, const char *key)
{
	int64_t ms = 0;

	json_get_int64(json_obj_get(run, key), &ms);
	return ms;
}

/* As ISO 8601. */
static void
put_stamp(struct json_writer *w, const char *key, int64_t ms)
{
	time_t seconds = (time_t)(ms / 1000);
	char day[32] = "", text[64];
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL)
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03dZ", day, (int)(ms % 1000));
	json_put_str(w, key, text);
}

bool
task_is_over(struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	return !json_str_eq(status, "queued") &&
	    !json_str_eq(status, "running");
}

/*
 * In the extension a failed task is one that has no result; in the older
 * revision one whose result is an error.
 */
static const char *
status_of(enum era era, struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	if (!task_is_over(run))
		return "working";
	if (json_str_eq(status, "canceled"))
		return "cancelled";
	return era == ERA_LEGACY && json_is_object(json_obj_get(run, "error"))
	    ? "failed"
	    : "completed";
}

/* The run's status, and what it does. */
static void
put_message(struct json_writer *w, struct json_val run)
{
	struct json_val progress = json_obj_get(run, "progress");
	char status[32] = "", message[256] = "", text[MESSAGE_BYTES];

	json_str_copy(json_obj_get(run, "status"), status, sizeof(status));
	json_str_copy(
	    json_obj_get(progress, "message"), message, sizeof(message));
	snprintf(text, sizeof(text), "%s%s%s", status,
	    message[0] == '\0' ? "" : ": ", message);
	json_put_str(w, "statusMessage", text);
}

void
task_write(struct json_writer *w, enum era era, const struct task *task)
{
	int64_t created = stamp_of(task->run, "createdAt");
	int64_t ended = stamp_of(task->run, "endedAt");
	bool legacy = era == ERA_LEGACY;

	json_put_val(w, "taskId", json_obj_get(task->run, "runId"));
	json_put_str(w, "status", status_of(era, task->run));
	put_message(w, task->run);
	put_stamp(w, "createdAt", created);
	put_stamp(w, "lastUpdatedAt", stamp_of(task->run, "updatedAt"));
	json_write_key(w, legacy ? "ttl" : "ttlMs");
	if (ended == 0 || task->ttl_ms == 0)
		json_write_null(w);
	else
		json_write_int64(w, ended - created + task->ttl_ms);
	json_put_int64(
	    w, legacy ? "pollInterval" : "pollIntervalMs", POLL_INTERVAL_MS);
}

bool
task_write_result(
    struct json_writer *w, const struct revision *rev, const struct task *task)
{
	return answer_write_run(w, rev, task->run, task->artifacts);
}

bool
task_write_detailed(
    struct json_writer *w, const struct revision *rev, const struct task *task)
{
	bool good;

	task_write(w, ERA_MODERN, task);
	if (strcmp(status_of(ERA_MODERN, task->run), "completed") != 0)
		return true;
	json_write_key(w, "result");
	json_write_begin_object(w);
	good = task_write_result(w, rev, task);
	json_write_end_object(w);
	return good;
}

/* Looking one up: the run, its artifacts, how long it is kept. */

bool
task_take_id(struct question **question)
{
	struct question *n = *question;
	struct json_val id = json_obj_get(n->msg.params, "taskId");

	if (!json_is_string(id)) {
		question_refuse(question, RPC_INVALID_PARAMS,
		    "params.taskId must be a string");
		return false;
	}
	if (!json_str_copy(id, n->id, sizeof(n->id)) || n->id[0] == '\0') {
		question_refuse(question, RPC_INVALID_PARAMS, no_task);
		return false;
	}
	return true;
}

static void
on_gone(struct question *n)
{
	question_refuse(&n, RPC_INVALID_PARAMS, no_task);
}

/* n->kept is the run, n->text the answer of artifact.list, if any. */
static void
looked(struct question *n, int64_t ttl_ms)
{
	struct task task = { .run = json_root(n->kept), .ttl_ms = ttl_ms };
	struct json_doc *list = NULL;

	if (n->text.len > 0 &&
	    !json_parse(n->text.data, n->text.len, NULL, 0, &list, NULL)) {
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
		return;
	}
	task.artifacts = json_obj_get(
	    list == NULL ? task.run : json_root(list), "artifacts");
	n->looked(n, &task);
	json_doc_free(&list);
}

static void
on_profile(struct question *n, struct json_val profile)
{
	looked(n, stamp_of(profile, "runTtlMs"));
}

static void
ask_profile(struct question *n)
{
	question_params(n, MSG_PROFILE_GET);
	question_ask(n, on_profile);
}

static void
on_artifacts(struct question *n, struct json_val answer)
{
	const uint8_t *raw;
	size_t len;

	if (!json_raw(answer, &raw, &len) || !buf_add(&n->text, raw, len))
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	else
		ask_profile(n);
}

static void
on_run(struct question *n, struct json_val run)
{
	const uint8_t *raw;
	size_t len;

	json_doc_free(&n->kept);
	if (!json_raw(run, &raw, &len) ||
	    !json_parse(raw, len, NULL, 0, &n->kept, NULL)) {
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	} else if (!task_is_over(run)) {
		looked(n, 0);
	} else if (json_len(json_obj_get(run, "artifactIds")) == 0) {
		ask_profile(n);
	} else {
		ipc_set_str(
		    question_params(n, MSG_ARTIFACT_LIST), F_RUN_ID, n->id);
		question_ask_of_run(n, on_artifacts, on_gone);
	}
}

void
task_look(struct question *n, task_fn *fn)
{
	struct ipc_params *p = question_params(n, MSG_RUN_GET);

	ipc_set_str(p, F_RUN_ID, n->id);
	ipc_set_int(p, F_MAX_BYTES, CALL_ANSWER_BYTES);
	n->looked = fn;
	question_ask_of_run(n, on_run, on_gone);
}
