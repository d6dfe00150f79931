/*
 * The methods that say who the adapter is and what it can do.
 */
#include <string.h>

#include "mcp/label.h"
#include "mcp/method.h"
#include "mcp/tasks.h"

#define DISCOVER_TTL_MS 3600000

static const char instructions[] =
    "Runs browser tasks as durable runs. list_task_templates says what can be "
    "done and what inputs each template takes; run_task_template starts one. "
    "Long runs are answered with a runId before they end: get_task_run with "
    "waitMs waits for the end. Results that are too long are "
    "shortened and name an artifact: read it with get_artifact. A run goes on "
    "when the client goes away; it ends by itself, by its timeout or by "
    "cancel_task_run. Give an idempotencyKey when you may have to repeat a "
    "call: the same key never starts a second run. An error says in "
    "recoverHint what to do next.";

/* A feature is declared here, its methods are in the table. */
static void
write_capabilities(const struct revision *rev, struct json_writer *w)
{
	static const char *const features[] = { "tools", "prompts",
		"completions" };

	json_write_key(w, "capabilities");
	json_write_begin_object(w);
	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		json_write_key(w, features[i]);
		json_write_begin_object(w);
		json_write_end_object(w);
	}
	json_write_key(w, "resources");
	json_write_begin_object(w);
	json_put_bool(w, "subscribe", true);
	json_write_end_object(w);
	if (rev->era == ERA_MODERN)
		json_put_raw(
		    w, "extensions", TASKS_DECLARED, strlen(TASKS_DECLARED));
	if ((rev->features & REV_TASKS) != 0)
		json_put_raw(
		    w, "tasks", TASKS_CAPABILITY, strlen(TASKS_CAPABILITY));
	json_write_end_object(w);
}

static bool
is_object_or_missing(struct json_val v)
{
	return json_is_object(v) || json_is_missing(v);
}

void
basic_initialize(struct adapter *a, struct request *q)
{
	struct json_val p = q->msg.params;
	struct json_val version = json_obj_get(p, "protocolVersion");
	const struct revision *rev = revision_find(version);
	struct reply_text t;

	if (!json_is_string(version) ||
	    !is_object_or_missing(json_obj_get(p, "capabilities")) ||
	    !is_object_or_missing(json_obj_get(p, "clientInfo"))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "initialize needs protocolVersion, a string, capabilities "
		    "and clientInfo, objects",
		    NULL);
		return;
	}
	/* The client decides whether it can live with another one. */
	if (rev == NULL || rev->era != ERA_LEGACY)
		rev = revision_newest_legacy();
	a->legacy = rev;
	label_make(a, json_obj_get(p, "clientInfo"));
	reply_begin(&q->reply, &t);
	json_put_str(&t.w, "protocolVersion", rev->name);
	write_capabilities(rev, &t.w);
	json_write_key(&t.w, "serverInfo");
	reply_write_self(&t.w);
	/* 2024-11-05 has instructions, too. */
	json_put_str(&t.w, "instructions", instructions);
	reply_send(&q->reply, &t);
}

void
basic_discover(struct adapter *a, struct request *q)
{
	struct reply_text t;

	reply_begin(&q->reply, &t);
	json_write_key(&t.w, "supportedVersions");
	revision_write_names(&t.w);
	write_capabilities(q->reply.rev, &t.w);
	json_put_str(&t.w, "instructions", instructions);
	json_put_int64(&t.w, "ttlMs", DISCOVER_TTL_MS);
	json_put_str(&t.w, "cacheScope", "public");
	reply_send(&q->reply, &t);
}

void
basic_ping(struct adapter *a, struct request *q)
{
	struct reply_text t;

	reply_begin(&q->reply, &t);
	reply_send(&q->reply, &t);
}
