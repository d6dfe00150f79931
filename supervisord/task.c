/*
 * Live runs of supervisord: queued, started, watched, ended. Each decision is
 * written first and acted on when its commit is done; whoever acts looks the
 * task up again, for it may have ended meanwhile.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "common/panic.h"
#include "storage/journal.h"
#include "storage/spool.h"
#include "storage/store.h"
#include "supervisord/assembly.h"
#include "supervisord/cancel.h"
#include "supervisord/change.h"
#include "supervisord/feed.h"
#include "supervisord/intake.h"
#include "supervisord/link.h"
#include "supervisord/registry.h"
#include "supervisord/session.h"
#include "supervisord/share.h"
#include "supervisord/submit_answer.h"
#include "supervisord/sup.h"
#include "supervisord/sweep.h"
#include "supervisord/task_int.h"
#include "supervisord/turn.h"
#include "supervisord/worker.h"

#define ASSEMBLE_AGAIN_US 500000

/* One task. */

void
task_trace(struct task *t, const char *fmt, ...)
{
	char text[LINES_CHARS + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	lines_addf(&t->trace, "+%lld ms %s",
	    (long long)(clock_stamp_ms() - t->rec.created_ms), text);
}

static int64_t
task_spent_ms(const struct task *t)
{
	return t->spent_before_ms +
	    (t->began_mono_ms == 0 ? 0 : clock_mono_ms() - t->began_mono_ms);
}

void
task_touch(struct task *t)
{
	t->rec.updated_ms = clock_stamp_ms();
	t->rec.spent_ms = task_spent_ms(t);
	t->rec.spent_mono_ms = clock_mono_ms();
}

int64_t
task_left_ms(const struct task *t)
{
	int64_t left = t->rec.limit_ms - task_spent_ms(t);

	return left > 0 ? left : 0;
}

void
task_hold(struct task *t, enum share_kind kind, uint64_t n)
{
	share_grow(t->share, kind, n);
	t->held[kind] += n;
}

void
task_unhold(struct task *t, enum share_kind kind)
{
	if (t->share != NULL)
		share_shrink(t->share, kind, t->held[kind]);
	t->held[kind] = 0;
}

void
task_free(struct task **task)
{
	struct task *t = *task;
	struct watch *w;

	if (t == NULL)
		return;
	while ((w = TAILQ_FIRST(&t->watches)) != NULL)
		watch_free(&w);
	session_drop(t);
	assembly_free(&t->assembly);
	intake_free(&t->intake);
	worker_free(&t->worker);
	egress_release(&t->egress);
	free(t->allowed);
	free(t->kept);
	free(t->named);
	free(t->forbidden);
	if (t->deadline != NULL)
		event_free(t->deadline);
	steps_clear(&t->steps);
	lines_clear(&t->warnings);
	lines_clear(&t->trace);
	if (t->queue.queued)
		sched_remove(&t->sup->tasks->queue, &t->queue);
	task_set_active(t, false);
	for (int i = 0; i < SHARE__MAX; i++)
		task_unhold(t, (enum share_kind)i);
	share_give(&t->sup->shares, &t->share);
	sched_owner_give(&t->sup->tasks->queue, &t->queue.owner);
	free(t);
	*task = NULL;
}

void
task_abort(struct task *t, enum err_code code, const char *text)
{
	if (t->abort == ERR_NONE) {
		t->abort = code;
		strlcpy(t->abort_text, text, sizeof(t->abort_text));
	}
	if (t->worker != NULL)
		worker_kill(t->worker, code, text);
}

void
task_stop(struct task *t, const char *reason)
{
	if (t->worker != NULL)
		worker_stop(t->worker, reason);
	else if (t->stage != TASK_SETTLING)
		task_settle(t);
}

static bool
task_intent_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	CRASH_POINT(cancel_written);
	if (t != NULL && err == STORE_OK)
		t->cancel_told = true;
	if (t == NULL || t->stage == TASK_SETTLING)
		return false;
	if (err != STORE_OK)
		log_err("%s: its intent was not stored: %s", t->name,
		    store_strerror(err));
	task_stop(t, c->rec.intent == INTENT_CANCEL ? "cancel" : "timeout");
	CRASH_POINT(cancel_acted);
	return false;
}

static void
task_intend(struct task *t, enum run_intent intent)
{
	struct change *c;

	if (t->rec.intent != INTENT_NONE || t->stage == TASK_SETTLING)
		return;
	t->rec.intent = intent;
	t->rec.intent_ms = clock_stamp_ms();
	task_touch(t);
	task_trace(t, "%s", intent == INTENT_CANCEL ? "cancel" : "timeout");
	log_info("%s: %s", t->name,
	    intent == INTENT_CANCEL ? "cancel" : "its time is over");
	if (t->stage == TASK_QUEUED) {
		task_settle(t);
		return;
	}
	c = change_new(t->sup, &t->rec, CHANGE_UPDATE);
	if (c == NULL) {
		task_stop(t, "cancel");
		return;
	}
	if (intent == INTENT_CANCEL)
		change_audit(c, t->canceler, AUDIT_RUN_CANCEL, "while active");
	change_commit(c, task_intent_written, NULL);
}

void
task_cancel(struct task *t, int64_t actor)
{
	if (t->rec.intent == INTENT_NONE)
		t->canceler = actor;
	task_intend(t, INTENT_CANCEL);
}

void
task_audit_end(const struct task *t, struct change *c)
{
	const struct run_record *rec = &t->rec;
	int64_t more = t->network.refused - (int64_t)t->refusals;

	c->naudits = 0;
	/* Else a page could hide one refusal behind many others. */
	if (more > 0)
		change_audit(c, rec->uid, AUDIT_EGRESS_REFUSE,
		    "%lld times more: not told one by one", (long long)more);
	if (rec->intent == INTENT_CANCEL && !t->cancel_told)
		change_audit(c, t->canceler, AUDIT_RUN_CANCEL, "while queued");
	change_audit(c, AUDIT_SERVICE, AUDIT_RUN_END, "%s%s%s",
	    run_status_name(rec->status),
	    rec->error_code[0] == '\0' ? "" : ", ", rec->error_code);
}

/* Nothing ends without it: for want of memory it is tried again. */
static void
task_assemble(struct task *t)
{
	static const struct timeval later = { .tv_usec = ASSEMBLE_AGAIN_US };

	t->assembly = assembly_new(t);
	if (t->assembly != NULL)
		return;
	log_err("%s: no memory to gather its results", t->name);
	if (evtimer_add(t->deadline, &later) == -1)
		turn_break(t->sup->turn, t->name, "no memory for a timer");
}

bool
task_arm_deadline(struct task *t)
{
	int64_t left = task_left_ms(t);
	struct timeval tv = { .tv_sec = left / 1000,
		.tv_usec = left % 1000 * 1000 };

	return evtimer_add(t->deadline, &tv) == 0;
}

/*
 * A timer is counted from when the loop woke up, which a commit may have made
 * long ago: what is left of the run's time then it gets.
 */
static void
task_on_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct task *t = arg;

	if (t->stage == TASK_SETTLING)
		task_assemble(t);
	else if (task_left_ms(t) == 0 || !task_arm_deadline(t))
		task_intend(t, INTENT_TIMEOUT);
}

void
task_set_active(struct task *t, bool active)
{
	if (t->active == active)
		return;
	t->active = active;
	t->sup->tasks->active += active ? 1 : (size_t)-1;
	if (active)
		sched_start(&t->sup->tasks->queue, t->queue.owner);
	else
		sched_stop(t->queue.owner);
}

/* Ending. */

static void
task_drop_secrets(struct task *t)
{
	if (!t->secrets)
		return;
	t->secrets = false;
	task_unhold(t, SHARE_SECRETS);
	t->sup->secrets--;
	link_secret_drop(t->sup->link, &t->rec.id);
}

void
task_settle(struct task *t)
{
	struct tasks *ts = t->sup->tasks;

	ASSERT(t->stage != TASK_SETTLING && t->worker == NULL);
	task_drop_secrets(t);
	evtimer_del(t->deadline);
	if (t->queue.queued)
		sched_remove(&ts->queue, &t->queue);
	/* It has its slot until its end is stored: until then it is listed. */
	t->stage = TASK_SETTLING;
	ts->settling++;
	task_touch(t);
	task_assemble(t);
}

void
task_over(struct task **task)
{
	struct task *t = *task;
	struct tasks *ts = t->sup->tasks;
	struct sup *sup = t->sup;
	struct ulid id = t->rec.id;

	CRASH_POINT(end_written);
	log_info("%s: %s%s%s", t->name, run_status_name(t->rec.status),
	    t->rec.error_code[0] == '\0' ? "" : ", ", t->rec.error_code);
	task_set_active(t, false);
	tasks_pump(ts);
	tasks_remove(ts, t);
	submit_end(t);
	cancel_end(t);
	feed_end(t);
	session_leave(t);
	task_free(task);
	CRASH_POINT(end_told);
	spool_remove(sup->store, &id);
	ts->settling--;
	sweep_arm(sup->sweep);
	tasks_check_idle(ts);
}

void
task_fail(struct task *t, enum err_code code, const char *text)
{
	t->lost = code;
	strlcpy(t->lost_text, text, sizeof(t->lost_text));
	task_settle(t);
}

static bool
count_failed(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	struct task *t = arg;

	if (err == STORE_OK && !row->ok)
		t->failed++;
	return true;
}

/*
 * What there is of it beside its record: the size of its inputs, since those of
 * a run from before count as they did, and what earlier attempts left.
 */
static void
task_load(struct task *t)
{
	struct store *store = t->sup->store;
	const struct ulid *id = &t->rec.id;
	struct store_txn *txn;
	const uint8_t *bytes;
	size_t len;

	if (store_read_begin(store, &txn) != STORE_OK)
		return;
	if (run_doc_get(txn, id, RUN_DOC_INPUTS, &bytes, &len) == STORE_OK)
		task_hold(t, SHARE_INPUT_BYTES, len);
	if (run_doc_get(txn, id, RUN_DOC_STEPS, &bytes, &len) == STORE_OK)
		steps_read(&t->steps, bytes, len, clock_mono_ms());
	if (t->rec.status == RUN_QUEUED)
		steps_drop_open(&t->steps);
	if (run_doc_get(txn, id, RUN_DOC_WARNINGS, &bytes, &len) == STORE_OK)
		lines_read(&t->warnings, bytes, len);
	journal_list(txn, id, count_failed, t);
	store_read_end(store);
}

/* Whether its session outlives it, should it end well. */
static bool
task_keeps(const struct task *t)
{
	const struct template *template =
	    registry_find(t->sup->registry, t->rec.template_id);

	return !t->rec.owns_session ||
	    (template != NULL && template->keeps_session);
}

struct task *
task_prepare(struct sup *sup, const struct run_record *rec)
{
	struct task *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->sup = sup;
	t->rec = *rec;
	t->spent_before_ms = rec->spent_ms;
	t->cancel_told = rec->intent == INTENT_CANCEL;
	t->queue.owner = sched_owner_take(
	    &sup->tasks->queue, rec->uid, share_is_free(rec->uid));
	TAILQ_INIT(&t->watches);
	id_format("run_", &rec->id, t->name);
	t->deadline = evtimer_new(sup->base, task_on_deadline, t);
	t->keep = task_keeps(t);
	t->share = share_take(&sup->shares, rec->uid);
	if (t->deadline == NULL || t->queue.owner == NULL || t->share == NULL ||
	    (t->keep && !session_prepare(t)))
		task_free(&t);
	return t;
}

void
task_enter(struct task *t)
{
	struct tasks *ts = t->sup->tasks;

	tasks_insert(ts, t);
	t->stage = TASK_QUEUED;
	if (t->rec.status == RUN_QUEUED)
		sched_add(
		    &ts->queue, &t->queue, t->rec.priority, clock_mono_ms());
	if (t->keep)
		session_join(t);
}

struct task *
task_new(struct sup *sup, const struct run_record *rec)
{
	struct task *t = task_prepare(sup, rec);

	if (t == NULL)
		return NULL;
	task_load(t);
	task_enter(t);
	return t;
}
