/*
 * Cancelling, in supervisord: the intent is persisted, the run ended, and only
 * its terminal state is answered. A run that is terminal already answers
 * success:false and why, which is no error.
 */
#include "common/log.h"
#include "supervisord/auditlog.h"
#include "supervisord/cancel.h"
#include "supervisord/client.h"
#include "supervisord/query.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

static void
cancel_answer(struct client *client, uint32_t seq, const struct run_record *rec,
    bool by_us)
{
	bool success = by_us && rec->status == RUN_CANCELED;
	struct json_writer w;
	struct buf b;

	buf_init(&b, 4096);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_id(&w, "runId", "run_", &rec->id);
	json_put_bool(&w, "success", success);
	json_put_str(&w, "status", run_status_name(rec->status));
	if (success)
		json_put_str(&w, "errorCode", "RUN_CANCELED");
	else
		json_put_str(&w, "reason",
		    rec->status == RUN_CANCELED
			? "the run was canceled before"
			: "the run had ended before it could be canceled");
	json_write_end_object(&w);
	reply_done(client, seq, &w, &b);
}

void
cancel_run(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);
	struct run_record rec;
	struct task *task;
	struct ulid id;

	if (!query_run_id(client, seq, p, &id) ||
	    !query_record(client, seq, &id, &rec))
		return;
	if (!client_may_see(client, rec.uid)) {
		auditlog_tell_client_often(client, AUDIT_ACCESS_REFUSE, &id,
		    "cancel of a run of uid %u", (unsigned)rec.uid);
		reply_error(client, seq, ERR_TRUST_LEVEL_NOT_ALLOWED, &id,
		    "the run is another user's: only they, root and"
		    " administrators may cancel it");
		return;
	}
	task = tasks_find(sup->tasks, &id);
	if (task == NULL) {
		cancel_answer(client, seq, &rec, false);
		return;
	}
	if (watch_new(WATCH_CANCEL, client, task, &id, seq) == NULL) {
		reply_error(client, seq, ERR_INTERNAL, &id, "no memory");
		return;
	}
	log_info("%s: cancel asked for by uid %u", task->name,
	    (unsigned)client_uid(client));
	task_cancel(task, (int64_t)client_uid(client));
}

void
cancel_end(struct task *task)
{
	struct watch *w, *next;

	TAILQ_FOREACH_SAFE(w, &task->watches, by_task, next) {
		if (w->kind != WATCH_CANCEL)
			continue;
		cancel_answer(w->client, w->seq, &task->rec, true);
		watch_free(&w);
	}
}
