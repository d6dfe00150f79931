/*
 * The table of tools and their list, in the adapter.
 */
#include <string.h>

#include "mcp/answer.h"
#include "mcp/artifact.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/waiting.h"

#define LIST_TTL_MS      3600000
#define DEFINITION(name) static const uint8_t name##_json[] = {
#define ENDDEF \
	}      \
	;

DEFINITION(list_task_templates)
#include "mcp/tools/list_task_templates.json.inc"
ENDDEF
DEFINITION(run_task_template)
#include "mcp/tools/run_task_template.json.inc"
ENDDEF
DEFINITION(get_task_run)
#include "mcp/tools/get_task_run.json.inc"
ENDDEF
DEFINITION(list_task_runs)
#include "mcp/tools/list_task_runs.json.inc"
ENDDEF
DEFINITION(cancel_task_run)
#include "mcp/tools/cancel_task_run.json.inc"
ENDDEF
DEFINITION(get_artifact)
#include "mcp/tools/get_artifact.json.inc"
ENDDEF
DEFINITION(get_runtime_profile)
#include "mcp/tools/get_runtime_profile.json.inc"
ENDDEF
DEFINITION(subscribe_task_run_events)
#include "mcp/tools/subscribe_task_run_events.json.inc"
ENDDEF

static const struct tool_arg templates_args[] = {
	{ "templateId", F_TEMPLATE_ID, false },
	{ "full", F__MAX, false },
	{ NULL, 0, false },
};
static const struct tool_arg no_args[] = { { NULL, 0, false } };
static const struct tool_arg run_args[] = {
	{ "templateId", F_TEMPLATE_ID, true },
	{ "templateVersion", F_TEMPLATE_VERSION, false },
	{ "sessionId", F_SESSION_ID, false },
	{ "inputs", F_INPUTS, false },
	{ "options", F_OPTIONS, false },
	{ NULL, 0, false },
};
static const struct tool_arg get_args[] = {
	{ "runId", F_RUN_ID, true },
	{ "include", F_INCLUDE, false },
	{ "waitMs", F__MAX, false },
	{ NULL, 0, false },
};
static const struct tool_arg list_args[] = {
	{ "status", F_STATUS, false },
	{ "templateId", F_TEMPLATE_ID, false },
	{ "sessionId", F_SESSION_ID, false },
	{ "since", F_SINCE, false },
	{ "until", F_UNTIL, false },
	{ "limit", F_LIMIT, false },
	{ "offset", F_OFFSET, false },
	{ "cursor", F_CURSOR, false },
	{ NULL, 0, false },
};
static const struct tool_arg cancel_args[] = {
	{ "runId", F_RUN_ID, true },
	{ NULL, 0, false },
};
static const struct tool_arg artifact_args[] = {
	{ "artifactId", F_ARTIFACT_ID, true },
	{ "offset", F_OFFSET, false },
	{ "limit", F_LIMIT, false },
	{ "item", F__MAX, false },
	{ "select", F__MAX, false },
	{ NULL, 0, false },
};
static const struct tool_arg events_args[] = {
	{ "runId", F_RUN_ID, true },
	{ "afterSeq", F_AFTER_SEQ, false },
	{ "timeoutMs", F_TIMEOUT_MS, false },
	{ "limit", F_LIMIT, false },
	{ NULL, 0, false },
};

#define TOOL(name) #name, name##_json, sizeof(name##_json)

/* In the order in which they are listed. */
static const struct tool tools[] = {
	{ TOOL(list_task_templates), MSG_TEMPLATE_LIST, templates_args, NULL,
	    answer_templates },
	{ TOOL(run_task_template), MSG_RUN_SUBMIT, run_args, waiting_prepare,
	    waiting_submitted },
	{ TOOL(get_task_run), MSG_RUN_GET, get_args, waiting_prepare_get,
	    waiting_got },
	{ TOOL(list_task_runs), MSG_RUN_LIST, list_args, answer_prepare_bounded,
	    answer_runs },
	{ TOOL(cancel_task_run), MSG_RUN_CANCEL, cancel_args, NULL,
	    answer_plain },
	{ TOOL(get_artifact), MSG_ARTIFACT_GET, artifact_args, artifact_prepare,
	    artifact_answered },
	{ TOOL(get_runtime_profile), MSG_PROFILE_GET, no_args, NULL,
	    answer_plain },
	{ TOOL(subscribe_task_run_events), MSG_RUN_EVENTS, events_args,
	    answer_prepare_events, answer_events },
};

#define TOOLS (sizeof(tools) / sizeof(tools[0]))

const struct tool *
tool_find(struct json_val name)
{
	for (size_t i = 0; i < TOOLS; i++)
		if (json_str_eq(name, tools[i].name))
			return &tools[i];
	return NULL;
}

/* The members that the revision knows; the files are ours and parse. */
static void
tool_write(const struct tool *t, unsigned features, struct json_writer *w)
{
	static const struct {
		const char *name;
		unsigned feature; /* 0: always there */
	} members[] = {
		{ "name", 0 },
		{ "title", REV_STRUCTURED },
		{ "description", 0 },
		{ "inputSchema", 0 },
		{ "outputSchema", REV_STRUCTURED },
		{ "annotations", REV_ANNOTATIONS },
		{ "execution", REV_TASKS },
	};
	struct json_doc *doc;
	struct json_val v;

	json_write_begin_object(w);
	if (json_parse(t->json, t->len, NULL, JSON_BORROW, &doc, NULL)) {
		for (size_t i = 0; i < sizeof(members) / sizeof(members[0]);
		     i++) {
			v = json_obj_get(json_root(doc), members[i].name);
			if ((members[i].feature & ~features) == 0 &&
			    !json_is_missing(v))
				json_put_val(w, members[i].name, v);
		}
		json_doc_free(&doc);
	}
	json_write_end_object(w);
}

void
tools_list(struct adapter *a, struct request *q)
{
	const struct revision *rev = q->reply.rev;
	struct reply_text t;

	/* The list has one page, so that no cursor was ever given out. */
	if (!json_is_missing(json_obj_get(q->msg.params, "cursor"))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "cursor: not one of an answer", NULL);
		return;
	}
	reply_begin(&q->reply, &t);
	json_write_key(&t.w, "tools");
	json_write_begin_array(&t.w);
	for (size_t i = 0; i < TOOLS; i++)
		tool_write(&tools[i], rev->features, &t.w);
	json_write_end_array(&t.w);
	if (rev->era == ERA_MODERN) {
		json_put_int64(&t.w, "ttlMs", LIST_TTL_MS);
		json_put_str(&t.w, "cacheScope", "public");
	}
	reply_send(&q->reply, &t);
}
