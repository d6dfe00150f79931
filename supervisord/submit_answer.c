/*
 * The answers to submissions, in supervisord: at once, or when the run that was
 * submitted has ended or was waited for long enough. Only what is committed is
 * answered.
 */
#include <stdio.h>

#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/query.h"
#include "supervisord/registry.h"
#include "supervisord/submit_answer.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/turn.h"

/* A sync call waits so much longer than its run may take. */
#define SYNC_MARGIN_MS 5000

static struct query_submission
answer_how(const struct watch *w, bool brief)
{
	return (struct query_submission){ .mode = w->mode,
		.deduplicated = w->deduplicated,
		.match = w->match,
		.brief = brief,
		.max_bytes = w->max_bytes,
		.wait_ms = w->wait_ms };
}

static void
answer_now(struct watch *w, bool brief)
{
	struct query_submission how = answer_how(w, brief);

	query_answer_run(w->client, w->seq, &w->run, &how);
	watch_free(&w);
}

/* To a submission that does not wait for the run's end. */
static void
answer_at_once(struct sup *sup, struct watch *w, const struct run_record *rec)
{
	struct query_submission how = answer_how(w, true);

	turn_answered(sup->turn, client_turn_mark(w->client));
	if (rec == NULL)
		query_answer_run(w->client, w->seq, &w->run, &how);
	else
		query_answer_new(w->client, w->seq, rec, &how);
	watch_free(&w);
}

/* The queue took all of the time: like async. */
static void
answer_on_wait_over(int fd, short what, void *arg)
{
	struct watch *w = arg;

	w->mode = MODE_ASYNC;
	answer_now(w, true);
}

void
submit_answer(struct sup *sup, struct watch *w, const struct run_record *rec,
    bool no_wait)
{
	int64_t most_ms = sup->settings.syncTimeoutMs + SYNC_MARGIN_MS;
	struct task *task;

	if (w->mode == MODE_SYNC && no_wait)
		w->wait_ms = most_ms;
	if (w->mode != MODE_SYNC || no_wait) {
		answer_at_once(sup, w, rec);
		return;
	}
	task = tasks_find(sup->tasks, &w->run);
	if (task == NULL) {
		answer_now(w, false);
		return;
	}
	w->task = task;
	TAILQ_INSERT_TAIL(&task->watches, w, by_task);
	if (!watch_arm(w, sup->base, most_ms, answer_on_wait_over))
		answer_now(w, true);
}

void
submit_end(struct task *task)
{
	struct watch *w, *next;

	TAILQ_FOREACH_SAFE(w, &task->watches, by_task, next)
		if (w->kind == WATCH_SYNC)
			answer_now(w, false);
}

void
submit_tell_refusal(struct sup *sup, struct client *client, uid_t uid,
    enum err_code code, const struct template *t)
{
	char text[160];

	snprintf(text, sizeof(text), "%s%s%s", err_name(code),
	    t == NULL ? "" : ", ", t == NULL ? "" : t->id);
	if (client != NULL)
		auditlog_tell_client_often(
		    client, AUDIT_RUN_REFUSE, NULL, "%s", text);
	else
		auditlog_tell_often(
		    sup, (int64_t)uid, AUDIT_RUN_REFUSE, NULL, "%s", text);
}
