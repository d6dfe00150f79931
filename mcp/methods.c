/*
 * Which method of which era goes where, in the adapter. Both eras are served
 * at once: a request that names its revision in _meta is modern, any other one
 * is of the revision that initialize has agreed on.
 */
#include <stdio.h>
#include <string.h>

#include "mcp/label.h"
#include "mcp/method.h"
#include "mcp/out.h"

#define BATCH_MAX 256
#define META      "io.modelcontextprotocol/"

static const struct {
	const char *name;
	unsigned eras;
	method_fn *fn;
	unsigned feature; /* that the revision must have, of REV_; or 0 */
} methods[] = {
	{ "initialize", ERA_LEGACY, basic_initialize, 0 },
	{ "ping", ERA_LEGACY, basic_ping, 0 },
	{ "server/discover", ERA_MODERN, basic_discover, 0 },
	{ "tools/list", ERA_LEGACY | ERA_MODERN, tools_list, 0 },
	{ "tools/call", ERA_LEGACY | ERA_MODERN, call_tool, 0 },
	{ "resources/list", ERA_LEGACY | ERA_MODERN, resources_list, 0 },
	{ "resources/templates/list", ERA_LEGACY | ERA_MODERN,
	    resources_templates, 0 },
	{ "resources/read", ERA_LEGACY | ERA_MODERN, resources_read, 0 },
	{ "resources/subscribe", ERA_LEGACY, resources_subscribe, 0 },
	{ "resources/unsubscribe", ERA_LEGACY, resources_unsubscribe, 0 },
	{ "subscriptions/listen", ERA_MODERN, subscriptions_listen, 0 },
	{ "prompts/list", ERA_LEGACY | ERA_MODERN, prompts_list, 0 },
	{ "prompts/get", ERA_LEGACY | ERA_MODERN, prompts_get, 0 },
	{ "completion/complete", ERA_LEGACY | ERA_MODERN, completion_complete,
	    0 },
	{ "tasks/get", ERA_MODERN, tasks_get, 0 },
	{ "tasks/cancel", ERA_MODERN, tasks_cancel, 0 },
	{ "tasks/update", ERA_MODERN, tasks_update, 0 },
	{ "tasks/get", ERA_LEGACY, tasks_get, REV_TASKS },
	{ "tasks/result", ERA_LEGACY, tasks_result, REV_TASKS },
	{ "tasks/cancel", ERA_LEGACY, tasks_stop, REV_TASKS },
	{ "tasks/list", ERA_LEGACY, tasks_list, REV_TASKS },
};

#define METHODS (sizeof(methods) / sizeof(methods[0]))

static const struct {
	const char *name;
	note_fn *fn;
} notes[] = {
	{ "notifications/cancelled", calls_cancel },
};

#define NOTES (sizeof(notes) / sizeof(notes[0]))

static void
refuse_version(struct reply *r, struct json_val requested)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 2 * RPC_ID_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_write_key(&w, "supported");
	revision_write_names(&w);
	json_put_val(&w, "requested", requested);
	json_write_end_object(&w);
	if (!json_writer_finish(&w) || !buf_add(&b, "", 1))
		reply_error(r, RPC_INVALID_PARAMS,
		    "the protocol version is too long", NULL);
	else
		reply_error(r, RPC_UNSUPPORTED_VERSION,
		    "this protocol version is not supported by requests that "
		    "name it in _meta",
		    (const char *)b.data);
	buf_clear(&b);
}

/* False: the request was answered with an error. */
static bool
find_modern(struct adapter *a, struct request *q, struct json_val meta,
    struct json_val version)
{
	const struct revision *rev = revision_find(version);

	if (!json_is_string(version) ||
	    !json_is_object(json_obj_get(meta, META "clientCapabilities"))) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "params._meta needs " META
		    "protocolVersion, a string, and " META
		    "clientCapabilities, an object",
		    NULL);
		return false;
	}
	if (rev == NULL || rev->era != ERA_MODERN) {
		refuse_version(&q->reply, version);
		return false;
	}
	q->reply.rev = rev;
	label_make(a, json_obj_get(meta, META "clientInfo"));
	return true;
}

static bool
find_revision(struct adapter *a, struct request *q)
{
	struct json_val meta = json_obj_get(q->msg.params, "_meta");
	struct json_val version = json_obj_get(meta, META "protocolVersion");
	bool open = json_str_eq(q->msg.method, "initialize") ||
	    (a->legacy == NULL && json_is_missing(version) &&
		json_str_eq(q->msg.method, "ping"));

	q->reply.rev = open ? revision_newest_legacy() : a->legacy;
	if (open)
		return true;
	if (!json_is_missing(version) ||
	    json_str_eq(q->msg.method, "server/discover"))
		return find_modern(a, q, meta, version);
	if (a->legacy == NULL) {
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "initialize first, or name the revision in params._meta: " META
		    "protocolVersion and " META "clientCapabilities",
		    NULL);
		return false;
	}
	return true;
}

static void
take_request(struct adapter *a, struct request *q)
{
	char text[128] = "a name that is too long";
	char message[192];

	if (!find_revision(a, q))
		return;
	if (q->reply.batch != NULL &&
	    json_str_eq(q->msg.method, "initialize")) {
		reply_error(&q->reply, RPC_INVALID_REQUEST,
		    "initialize must not be in a batch", NULL);
		return;
	}
	for (size_t i = 0; i < METHODS; i++)
		if ((methods[i].eras & q->reply.rev->era) != 0 &&
		    (methods[i].feature & ~q->reply.rev->features) == 0 &&
		    json_str_eq(q->msg.method, methods[i].name)) {
			methods[i].fn(a, q);
			return;
		}
	json_str_copy(q->msg.method, text, sizeof(text));
	snprintf(message, sizeof(message), "there is no method %s in %s", text,
	    q->reply.rev->name);
	reply_error(&q->reply, RPC_METHOD_NOT_FOUND, message, NULL);
}

static void
take_note(struct adapter *a, const struct rpc_msg *m)
{
	for (size_t i = 0; i < NOTES; i++)
		if (json_str_eq(m->method, notes[i].name))
			notes[i].fn(a, m);
}

/* Anything but a batch. The message is empty afterwards. */
static void
take_message(struct adapter *a, struct rpc_msg *m, struct batch *batch)
{
	struct request q = { .msg = *m };

	memset(m, 0, sizeof(*m));
	if (q.msg.form == RPC_NOTE)
		take_note(a, &q.msg);
	else if (q.msg.form != RPC_RESPONSE &&
	    reply_init(&q.reply, a, batch, q.msg.id, q.msg.id_len)) {
		if (q.msg.form == RPC_BAD)
			reply_error(&q.reply, q.msg.code, q.msg.message, NULL);
		else
			take_request(a, &q);
	}
	reply_drop(&q.reply);
	rpc_clear(&q.msg);
}

static void
refuse_line(struct adapter *a, const char *why)
{
	struct reply r;

	if (reply_init(&r, a, NULL, NULL, 0))
		reply_error(&r, RPC_INVALID_REQUEST, why, NULL);
}

static void
take_batch(struct adapter *a, const struct rpc_msg *m)
{
	struct rpc_msg element;
	struct batch *batch;
	struct json_iter it;

	if (a->legacy == NULL || (a->legacy->features & REV_BATCHES) == 0) {
		refuse_line(a, "this revision of the protocol has no batches");
		return;
	}
	if (json_len(m->root) > BATCH_MAX) {
		refuse_line(a, "the batch has more than 256 messages");
		return;
	}
	batch = batch_new(a);
	if (batch == NULL) {
		out_break(a->out);
		return;
	}
	for (it = json_iter(m->root); json_iter_next(&it);) {
		rpc_parse_element(it.val, &element);
		take_message(a, &element, batch);
	}
	batch_close(batch);
}

void
method_line(struct adapter *a, const uint8_t *line, size_t len)
{
	struct rpc_msg m;

	rpc_parse(line, len, &m);
	if (m.form == RPC_BATCH)
		take_batch(a, &m);
	else
		take_message(a, &m, NULL);
	rpc_clear(&m);
}

void
method_long_line(struct adapter *a, const struct lines_cut *cut)
{
	struct rpc_msg m;

	rpc_parse_cut(cut->head, cut->head_len, cut->tail, cut->tail_len, &m);
	take_message(a, &m, NULL);
}
