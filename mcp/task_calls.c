/*
 * The experimental tasks of the revision 2025-11-25, in the adapter: a result
 * is waited for, and a task is canceled before that is answered.
 */
#include <string.h>

#include "mcp/tasks.h"
#include "mcp/watch.h"

#define META       "io.modelcontextprotocol/"
#define PAGE_TASKS 100

static struct question *
question_of(struct adapter *a, struct request *q)
{
	struct question *n = question_new(a, q);

	if (n != NULL)
		task_take_id(&n);
	return n;
}

/* Looks at a task that has ended, at the latest when it has. */

static void
on_end(struct watch *w, bool last)
{
	struct question *n = w->ctx;

	if (last)
		task_look(n, n->ended);
}

static void
on_watched(struct watch *w, bool good, const char *error, size_t len)
{
	struct question *n = w->ctx;

	if (!good) {
		question_error(&n->reply, error, len);
		question_free(&n);
	} else if (w->over) {
		task_look(n, n->ended);
	}
}

static void
wait_for_end(struct question *n, task_fn *ended)
{
	n->ended = ended;
	n->watch = watch_new(n->adapter, n->id, on_watched, on_end, n);
	if (n->watch == NULL)
		question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
}

/* tasks/result */

static void
answer_result(struct question *n, const struct task *task)
{
	struct reply_text t;

	reply_begin(&n->reply, &t);
	json_write_key(&t.w, "_meta");
	json_write_begin_object(&t.w);
	json_write_key(&t.w, META "related-task");
	json_write_begin_object(&t.w);
	json_put_str(&t.w, "taskId", n->id);
	json_write_end_object(&t.w);
	json_write_end_object(&t.w);
	if (task_write_result(&t.w, n->reply.rev, task)) {
		question_send(n, &t);
		return;
	}
	buf_clear(&t.buf);
	question_refuse(&n, RPC_INTERNAL_ERROR, "no memory");
}

static void
result_look(struct question *n, const struct task *task)
{
	if (task_is_over(task->run))
		answer_result(n, task);
	else
		wait_for_end(n, answer_result);
}

void
tasks_result(struct adapter *a, struct request *q)
{
	struct question *n = question_of(a, q);

	if (n != NULL)
		task_look(n, result_look);
}

/* tasks/cancel */

static void
answer_canceled(struct question *n, const struct task *task)
{
	struct reply_text t;

	if (!json_str_eq(json_obj_get(task->run, "status"), "canceled")) {
		question_refuse(
		    &n, RPC_INVALID_PARAMS, "the task has ended already");
		return;
	}
	reply_begin(&n->reply, &t);
	task_write(&t.w, ERA_LEGACY, task);
	question_send(n, &t);
}

static void
on_canceling(struct question *n, struct json_val answer)
{
	wait_for_end(n, answer_canceled);
}

static void
cancel_look(struct question *n, const struct task *task)
{
	if (task_is_over(task->run)) {
		question_refuse(
		    &n, RPC_INVALID_PARAMS, "the task has ended already");
		return;
	}
	ipc_set_str(question_params(n, MSG_RUN_CANCEL), F_RUN_ID, n->id);
	question_ask(n, on_canceling);
}

void
tasks_stop(struct adapter *a, struct request *q)
{
	struct question *n = question_of(a, q);

	if (n != NULL)
		task_look(n, cancel_look);
}

/* tasks/list */

static void
on_list(struct question *n, struct json_val answer)
{
	struct json_val cursor = json_obj_get(answer, "nextCursor");
	struct task task = { .ttl_ms = n->number };
	struct reply_text t;
	struct json_iter it;

	reply_begin(&n->reply, &t);
	json_write_key(&t.w, "tasks");
	json_write_begin_array(&t.w);
	for (it = json_iter(json_obj_get(answer, "runs"));
	     json_iter_next(&it);) {
		task.run = it.val;
		json_write_begin_object(&t.w);
		task_write(&t.w, ERA_LEGACY, &task);
		json_write_end_object(&t.w);
	}
	json_write_end_array(&t.w);
	if (json_is_string(cursor))
		json_put_val(&t.w, "nextCursor", cursor);
	question_send(n, &t);
}

static void
list_on_profile(struct question *n, struct json_val profile)
{
	struct ipc_params *p;

	json_get_int64(json_obj_get(profile, "runTtlMs"), &n->number);
	p = question_params(n, MSG_RUN_LIST);
	ipc_set_int(p, F_LIMIT, PAGE_TASKS);
	if (n->id[0] != '\0')
		ipc_set_str(p, F_CURSOR, n->id);
	question_ask(n, on_list);
}

void
tasks_list(struct adapter *a, struct request *q)
{
	struct json_val cursor = json_obj_get(q->msg.params, "cursor");
	struct question *n = question_new(a, q);

	if (n == NULL)
		return;
	if (!json_is_missing(cursor) &&
	    (!json_str_copy(cursor, n->id, sizeof(n->id)) ||
		n->id[0] == '\0')) {
		question_refuse(
		    &n, RPC_INVALID_PARAMS, "cursor: not one of an answer");
		return;
	}
	question_params(n, MSG_PROFILE_GET);
	question_ask(n, list_on_profile);
}
