/*
 * Calls of tools, in the adapter: many at once, each with one request to the
 * service on its way. The death of a call never harms a run.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/panic.h"
#include "mcp/answer.h"
#include "mcp/args.h"
#include "mcp/call.h"
#include "mcp/method.h"
#include "mcp/question.h"
#include "mcp/subs.h"
#include "mcp/waiting.h"

#define CALLS_MAX     1024
#define IGNORED_BYTES 2048
#define RUN_BYTES_MAX (3u << 20)

struct call *
call_of(struct link_req *r)
{
	return (struct call *)((char *)r - offsetof(struct call, req));
}

struct json_val
call_arguments(const struct call *c)
{
	return json_obj_get(c->msg.params, "arguments");
}

char *
call_keep(struct call *c, char *text)
{
	if (text == NULL)
		return NULL;
	ASSERT(c->ntexts < CALL_TEXTS_MAX);
	c->texts[c->ntexts++] = text;
	return text;
}

void
call_ask(struct call *c, link_done_fn *done)
{
	c->req.done = done;
	link_send(c->adapter->link, &c->req);
}

void
call_free(struct call **call)
{
	struct call *c = *call;
	struct adapter *a = c->adapter;

	*call = NULL;
	TAILQ_REMOVE(&a->calls, c, entry);
	a->ncalls--;
	link_drop(a->link, &c->req);
	progress_end(&c->progress);
	if (c->timer != NULL)
		event_free(c->timer);
	reply_drop(&c->reply);
	rpc_clear(&c->msg);
	for (size_t i = 0; i < c->ntexts; i++)
		free(c->texts[i]);
	buf_clear(&c->options);
	buf_clear(&c->ignored);
	buf_clear(&c->run);
	buf_clear(&c->whole);
	free(c);
	adapter_settle(a);
}

static void
call_on_answer(struct link_req *r, bool good, const char *json, size_t len)
{
	struct call *c = call_of(r);

	c->tool->answered(c, good, json, len);
}

static struct call *
call_new(struct adapter *a, struct request *q, const struct tool *tool)
{
	struct call *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->adapter = a;
	c->begin_ms = clock_mono_ms();
	c->tool = tool;
	c->reply = q->reply;
	c->msg = q->msg;
	memset(&q->reply, 0, sizeof(q->reply));
	memset(&q->msg, 0, sizeof(q->msg));
	buf_init(&c->options, LIMIT_OPTIONS_BYTES);
	buf_init(&c->ignored, IGNORED_BYTES);
	buf_init(&c->run, RUN_BYTES_MAX);
	buf_init(&c->whole, CALL_WHOLE_BYTES);
	TAILQ_INSERT_TAIL(&a->calls, c, entry);
	a->ncalls++;
	progress_begin(&c->progress, a, c->reply.rev,
	    json_obj_get(c->msg.params, "_meta"));
	return c;
}

static bool
call_check(struct request *q, const struct tool **ret_tool)
{
	struct json_val name = json_obj_get(q->msg.params, "name");
	struct json_val args = json_obj_get(q->msg.params, "arguments");
	char text[128] = "", message[192];

	*ret_tool = tool_find(name);
	if (!json_is_string(name))
		strlcpy(message, "tools/call needs params.name, a string",
		    sizeof(message));
	else if (*ret_tool == NULL) {
		json_str_copy(name, text, sizeof(text));
		snprintf(message, sizeof(message), "Unknown tool: %s", text);
	} else if (!json_is_missing(args) && !json_is_object(args))
		strlcpy(message, "params.arguments must be an object",
		    sizeof(message));
	else
		return true;
	reply_error(&q->reply, RPC_INVALID_PARAMS, message, NULL);
	return false;
}

/* Of the revision that has tasks: a call that is to be one. */
static bool
call_check_task(struct request *q, const struct tool *tool)
{
	struct json_val task = json_obj_get(q->msg.params, "task");

	if ((q->reply.rev->features & REV_TASKS) == 0 || json_is_missing(task))
		return true;
	if (!json_is_object(task))
		reply_error(&q->reply, RPC_INVALID_PARAMS,
		    "params.task must be an object", NULL);
	else if (tool->prepare != waiting_prepare)
		reply_error(&q->reply, RPC_METHOD_NOT_FOUND,
		    "this tool answers at once: it cannot be called as a task",
		    NULL);
	else
		return true;
	return false;
}

void
call_tool(struct adapter *a, struct request *q)
{
	const struct tool *tool;
	char why[ARGS_WHY_MAX];
	struct call *c;

	if (!call_check(q, &tool) || !call_check_task(q, tool))
		return;
	c = call_new(a, q, tool);
	if (c == NULL) {
		reply_error(&q->reply, RPC_INTERNAL_ERROR, "no memory", NULL);
		return;
	}
	if (a->ncalls > CALLS_MAX)
		answer_fault(c, ERR_CLIENT_LIMIT,
		    "1024 calls of this client are not answered yet");
	else if (!args_read(c, why))
		answer_fault(c, ERR_INVALID_PARAMETER, why);
	else if (tool->prepare == NULL || tool->prepare(c))
		call_ask(c, call_on_answer);
}

/* Canceling ends the waiting; the answer is not sent any more. */
void
calls_cancel(struct adapter *a, const struct rpc_msg *m)
{
	struct json_val id = json_obj_get(m->params, "requestId");
	struct call *c, *next;
	const uint8_t *raw;
	size_t len;

	if (!json_raw(id, &raw, &len))
		return;
	questions_cancel(a, raw, len);
	subs_cancel(a, raw, len);
	TAILQ_FOREACH_SAFE(c, &a->calls, entry, next) {
		if (c->reply.id_len != len ||
		    memcmp(c->reply.id, raw, len) != 0)
			continue;
		reply_drop(&c->reply);
		progress_end(&c->progress);
		c->abandoned = true;
		if (!a->cancel_ends_run || !waiting_abandon(c))
			call_free(&c);
	}
}

void
calls_drop_all(struct adapter *a)
{
	struct call *c, *next;

	TAILQ_FOREACH_SAFE(c, &a->calls, entry, next)
		call_free(&c);
}
