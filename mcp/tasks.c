/*
 * The tasks extension, in the adapter. The service has written a run before it
 * answers its submission, so that a task exists when its id is told.
 */
#include <string.h>

#include "mcp/notice.h"
#include "mcp/subs.h"
#include "mcp/tasks.h"

#define META "io.modelcontextprotocol/"

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

bool
tasks_wanted(const struct revision *rev, struct json_val params)
{
	return (rev->features & REV_TASKS) != 0 &&
	    json_is_object(json_obj_get(params, "task"));
}

void
tasks_answer_made(struct call *c, struct json_val run)
{
	const struct revision *rev = c->reply.rev;
	struct task task = { .run = run };
	struct reply_text t;

	reply_begin_type(&c->reply, &t, "task");
	if (rev->era == ERA_LEGACY) {
		json_write_key(&t.w, "task");
		json_write_begin_object(&t.w);
	}
	task_write(&t.w, rev->era, &task);
	if (rev->era == ERA_LEGACY)
		json_write_end_object(&t.w);
	if (!reply_send(&c->reply, &t))
		reply_error(&c->reply, RPC_INTERNAL_ERROR, "no memory", NULL);
	call_free(&c);
}

/* As question_new(), with the id of its task. */
static struct question *
question_of(struct adapter *a, struct request *q)
{
	struct question *n;

	if (q->reply.rev->era == ERA_MODERN &&
	    !tasks_declared(q->reply.rev, q->msg.params)) {
		tasks_refuse(&q->reply);
		return NULL;
	}
	n = question_new(a, q);
	if (n != NULL)
		task_take_id(&n);
	return n;
}

/* tasks/get */

static void
on_got(struct question *n, const struct task *task)
{
	const struct revision *rev = n->reply.rev;
	struct reply_text t;
	bool good = true;

	reply_begin(&n->reply, &t);
	if (rev->era == ERA_MODERN)
		good = task_write_detailed(&t.w, rev, task);
	else
		task_write(&t.w, rev->era, task);
	if (good) {
		question_send(n, &t);
		return;
	}
	buf_clear(&t.buf);
	question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
}

void
tasks_get(struct adapter *a, struct request *q)
{
	struct question *n = question_of(a, q);

	if (n != NULL)
		task_look(n, on_got);
}

/* tasks/cancel and tasks/update of the extension */

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

/* notifications/tasks */

static void
on_changed(struct question *n, const struct task *task)
{
	const uint8_t *id;
	struct notice notice;
	size_t len;

	/* The client may have ended its subscription meanwhile. */
	if (subs_id(n->adapter, n->index, &id, &len)) {
		notice_begin(&notice, "notifications/tasks", id, len);
		if (task_write_detailed(
			&notice.w, revision_newest_modern(), task))
			notice_send(&notice, n->adapter);
		else
			buf_clear(&notice.buf);
	}
	question_free(&n);
}

/* What cannot be looked up is not told: the client asks, sooner or later. */
void
tasks_tell(struct adapter *a, size_t subscription, const char *run_id)
{
	struct request none = { 0 };
	struct question *n = question_new(a, &none);

	if (n == NULL)
		return;
	n->index = subscription;
	strlcpy(n->id, run_id, sizeof(n->id));
	task_look(n, on_changed);
}
