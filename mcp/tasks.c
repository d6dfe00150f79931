/*
 * The tasks extension, in the adapter. The service has written a run before it
 * answers its submission, so that a task exists when its id is told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "json/writer.h"
#include "mcp/answer.h"
#include "mcp/question.h"
#include "mcp/tasks.h"

#define META             "io.modelcontextprotocol/"
#define POLL_INTERVAL_MS 1000
#define MESSAGE_BYTES    512

bool
tasks_declared(const struct revision *rev, struct json_val params)
{
	struct json_val meta = json_obj_get(params, "_meta");
	struct json_val capabilities =
	    json_obj_get(meta, META "clientCapabilities");
	struct json_val extensions = json_obj_get(capabilities, "extensions");

	return rev->era == ERA_MODERN &&
	    json_is_object(json_obj_get(extensions, META "tasks"));
}

void
tasks_refuse(struct reply *r)
{
	reply_error(r, RPC_MISSING_CAPABILITY,
	    "tasks need the client's capability extensions, " META
	    "tasks, in this request",
	    "{\"requiredCapabilities\":{\"extensions\":" TASKS_DECLARED "}}");
}

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

static const char *
status_of(struct json_val run)
{
	struct json_val status = json_obj_get(run, "status");

	if (json_str_eq(status, "queued") || json_str_eq(status, "running"))
		return "working";
	return json_str_eq(status, "canceled") ? "cancelled" : "completed";
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

/* ttl_ms: how long a run is kept after its end; of none that works. */
static void
write_task(struct json_writer *w, struct json_val run, int64_t ttl_ms)
{
	int64_t created = stamp_of(run, "createdAt");
	int64_t ended = stamp_of(run, "endedAt");

	json_put_val(w, "taskId", json_obj_get(run, "runId"));
	json_put_str(w, "status", status_of(run));
	put_message(w, run);
	put_stamp(w, "createdAt", created);
	put_stamp(w, "lastUpdatedAt", stamp_of(run, "updatedAt"));
	if (ended == 0)
		json_put_null(w, "ttlMs");
	else
		json_put_int64(w, "ttlMs", ended - created + ttl_ms);
	json_put_int64(w, "pollIntervalMs", POLL_INTERVAL_MS);
}

void
tasks_answer_made(struct call *c, struct json_val run)
{
	struct reply_text t;

	reply_begin_type(&c->reply, &t, "task");
	write_task(&t.w, run, 0);
	if (!reply_send(&c->reply, &t))
		reply_error(&c->reply, RPC_INTERNAL_ERROR, "no memory", NULL);
	call_free(&c);
}

/*
 * Takes the request over, its task's id in the question. NULL: it was answered
 * with an error.
 */
static struct question *
question_of(struct adapter *a, struct request *q)
{
	struct json_val id = json_obj_get(q->msg.params, "taskId");
	struct question *n;

	if (!tasks_declared(q->reply.rev, q->msg.params)) {
		tasks_refuse(&q->reply);
		return NULL;
	}
	if (!json_is_string(id)) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "params.taskId must be a string", NULL);
		return NULL;
	}
	n = question_new(a, q);
	if (n != NULL &&
	    (!json_str_copy(id, n->id, sizeof(n->id)) || n->id[0] == '\0'))
		question_refuse(
		    &n, RPC_INVALID_PARAMS, "there is no task with this id");
	return n;
}

/* tasks/get */

/* n->kept is the run, n->text the answer of artifact.list, if any. */
static void
get_answer(struct question *n, int64_t ttl_ms)
{
	struct json_val run = json_root(n->kept);
	struct json_doc *list = NULL;
	struct reply_text t;
	bool good = true;

	reply_begin(&n->reply, &t);
	write_task(&t.w, run, ttl_ms);
	if (strcmp(status_of(run), "completed") == 0) {
		if (n->text.len > 0)
			good = json_parse(n->text.data, n->text.len, NULL,
			    JSON_BORROW, &list, NULL);
		json_write_key(&t.w, "result");
		json_write_begin_object(&t.w);
		good = good &&
		    answer_write_run(&t.w, run,
			json_obj_get(
			    list == NULL ? run : json_root(list), "artifacts"));
		json_write_end_object(&t.w);
	}
	json_doc_free(&list);
	if (good) {
		question_send(n, &t);
		return;
	}
	buf_clear(&t.buf);
	question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
}

static void
get_on_profile(struct question *n, struct json_val profile)
{
	get_answer(n, stamp_of(profile, "runTtlMs"));
}

static void
ask_profile(struct question *n)
{
	question_params(n, MSG_PROFILE_GET);
	question_ask(n, get_on_profile);
}

static void
get_on_artifacts(struct question *n, struct json_val answer)
{
	const uint8_t *raw;
	size_t len;

	if (!json_raw(answer, &raw, &len) || !buf_add(&n->text, raw, len))
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	else
		ask_profile(n);
}

static void
get_on_run(struct question *n, struct json_val run)
{
	const uint8_t *raw;
	size_t len;

	if (!json_raw(run, &raw, &len) ||
	    !json_parse(raw, len, NULL, 0, &n->kept, NULL)) {
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
	} else if (strcmp(status_of(run), "working") == 0) {
		get_answer(n, 0);
	} else if (json_len(json_obj_get(run, "artifactIds")) == 0) {
		ask_profile(n);
	} else {
		ipc_set_str(
		    question_params(n, MSG_ARTIFACT_LIST), F_RUN_ID, n->id);
		question_ask(n, get_on_artifacts);
	}
}

void
tasks_get(struct adapter *a, struct request *q)
{
	struct question *n = question_of(a, q);
	struct ipc_params *p;

	if (n == NULL)
		return;
	p = question_params(n, MSG_RUN_GET);
	ipc_set_str(p, F_RUN_ID, n->id);
	ipc_set_int(p, F_MAX_BYTES, CALL_ANSWER_BYTES);
	question_ask(n, get_on_run);
}

/* tasks/cancel and tasks/update */

static void
on_known(struct question *n, struct json_val answer)
{
	struct reply_text t;

	reply_begin(&n->reply, &t);
	question_send(n, &t);
}

/* One that has ended already is acknowledged, too. */
void
tasks_cancel(struct adapter *a, struct request *q)
{
	struct question *n = question_of(a, q);

	if (n == NULL)
		return;
	ipc_set_str(question_params(n, MSG_RUN_CANCEL), F_RUN_ID, n->id);
	question_ask(n, on_known);
}

/*
 * No run ever asks its client for anything, so that each response is one that
 * nobody waits for; such are ignored.
 */
void
tasks_update(struct adapter *a, struct request *q)
{
	struct json_val responses =
	    json_obj_get(q->msg.params, "inputResponses");
	bool good = json_is_object(responses);
	struct question *n = question_of(a, q);
	struct ipc_params *p;

	if (n == NULL)
		return;
	if (!good) {
		question_refuse(&n, RPC_INVALID_PARAMS,
		    "params.inputResponses must be an object");
		return;
	}
	p = question_params(n, MSG_RUN_GET);
	ipc_set_str(p, F_RUN_ID, n->id);
	ipc_set_int(p, F_MAX_BYTES, CALL_ANSWER_BYTES);
	question_ask(n, on_known);
}
