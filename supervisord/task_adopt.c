/*
 * Runs that were running when this supervisord started: one whose worker lives
 * goes on as the same attempt; one whose end is stored is settled by that. What
 * is known of a run in memory only is made anew here.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "common/panic.h"
#include "storage/event.h"
#include "storage/store.h"
#include "supervisord/adopt.h"
#include "supervisord/cells.h"
#include "supervisord/change.h"
#include "supervisord/intake.h"
#include "supervisord/recover.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"
#include "supervisord/turn.h"

static bool
count_refusal(uint64_t seq, const struct event_row *row, int err, void *arg)
{
	struct task *t = arg;

	t->refusals += err == STORE_OK && row->kind == EVENT_EGRESS_REFUSED;
	return true;
}

/* Those that were told one by one are not told again. */
static void
count_refusals(struct task *t)
{
	struct store_txn *txn;

	if (store_read_begin(t->sup->store, &txn) != STORE_OK)
		return;
	event_list(txn, &t->rec.id, 0, UINT64_MAX, count_refusal, t);
	store_read_end(t->sup->store);
}

/*
 * The time without a supervisord counts. The clock has gone on by itself: the
 * system was not started anew, or there were no worker.
 */
static void
resume_clock(struct task *t)
{
	int64_t now = clock_mono_ms();

	t->began_mono_ms = t->rec.spent_mono_ms;
	if (t->began_mono_ms <= 0 || t->began_mono_ms > now)
		t->began_mono_ms = now;
	task_arm_deadline(t);
}

/*
 * What becomes of it is decided when its processes are gone. Its browser goes,
 * too: egressd may still let that go where the run might.
 */
static void
adopt_failed(struct task *t, const char *why)
{
	const char *text;

	log_err("%s: it cannot go on: %s", t->name, why);
	t->again = recover_may_run_again(t->sup, &t->rec, false);
	worker_kill(t->worker, recover_lost(&t->rec, &text), why);
	if (t->keep)
		cells_close(t->sup, &t->rec.session, NULL, NULL);
}

static bool
adopt_rest_of(struct task *t, char *ret_why, size_t size)
{
	strlcpy(ret_why, "its options cannot be read", size);
	if (!task_options(t))
		return false;
	t->intake = intake_new(t, ret_why, size);
	if (t->intake == NULL)
		return false;
	intake_resume(t->intake, t->rec.heard);
	count_refusals(t);
	strlcpy(ret_why, "no memory", size);
	return task_egress_bind(t);
}

bool
task_adopt(struct task *t, struct cell *c)
{
	char why[sizeof(t->lost_text)];

	t->worker = adopt_worker(c, t->rec.heard, t->name, &task_worker_ops, t);
	if (t->worker == NULL)
		return false;
	t->rec.epoch = store_epoch(t->sup->store);
	t->stage = TASK_RUNNING;
	t->acting = true;
	session_enter(t);
	task_set_active(t, true);
	resume_clock(t);
	if (!adopt_rest_of(t, why, sizeof(why))) {
		adopt_failed(t, why);
		return true;
	}
	log_info("%s: goes on with its worker", t->name);
	task_trace(t, "another supervisor goes on with it");
	if (t->rec.intent != INTENT_NONE)
		task_stop(
		    t, t->rec.intent == INTENT_CANCEL ? "cancel" : "timeout");
	return true;
}

/* What its worker said at its end, if that is stored. */
static bool
load_end(struct task *t)
{
	if (t->intake != NULL)
		return intake_load_end(t->intake);
	t->intake = intake_new_ended(t);
	return t->intake != NULL;
}

bool
task_settle_stored(struct task *t)
{
	if (!load_end(t))
		return false;
	log_info("%s: its worker had said that it is over", t->name);
	CRASH_POINT(end_found);
	session_enter(t);
	task_settle(t);
	return true;
}

void
task_on_resumed(void *ctx, enum worker_resumed how)
{
	static const char *const texts[RESUMED__MAX] = {
		[RESUMED_UNTOUCHED] = "it was not told all of its run",
		[RESUMED_GAP] = "it said more than it could keep",
	};
	struct task *t = ctx;
	const char *text;

	CRASH_POINT(adopt_resumed);
	if (how == RESUMED_WHOLE)
		return;
	t->again =
	    recover_may_run_again(t->sup, &t->rec, how == RESUMED_UNTOUCHED);
	worker_kill(t->worker, recover_lost(&t->rec, &text), texts[how]);
}

/*
 * Whether a worker that is lost was lost just before it was adopted or just
 * after is chance, and nothing that is told of its run may depend on it: until
 * it answers it is one that was not there.
 */
void
task_on_unanswered(struct task *t, const struct worker_end *end)
{
	const char *text;

	if (load_end(t) || end->over ||
	    (end->code != ERR_WORKER_LOST && end->code != ERR_WORKER_SILENT &&
		end->code != ERR_PAGE_CRASHED))
		return;
	t->again = recover_may_run_again(t->sup, &t->rec, false);
	t->lost = recover_lost(&t->rec, &text);
	strlcpy(t->lost_text, text, sizeof(t->lost_text));
}

static bool
again_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (t == NULL || t->stage != TASK_STARTING)
		return false;
	/* The next start decides on it. */
	if (err != STORE_OK && t->abandoned)
		return false;
	if (err != STORE_OK) {
		t->rec.status = RUN_RUNNING;
		t->lost = reply_store_code(err);
		strlcpy(
		    t->lost_text, store_strerror(err), sizeof(t->lost_text));
		task_settle(t);
		return false;
	}
	CRASH_POINT(requeue_written);
	t->stage = TASK_QUEUED;
	task_set_active(t, false);
	sched_add(
	    &sup->tasks->queue, &t->queue, t->rec.priority, clock_mono_ms());
	session_yield(t);
	tasks_pump(sup->tasks);
	tasks_check_idle(sup->tasks);
	return false;
}

void
task_go_again(struct task *t)
{
	struct change *c;

	evtimer_del(t->deadline);
	task_touch(t);
	t->spent_before_ms = t->rec.spent_ms;
	t->began_mono_ms = 0;
	t->again = t->acting = t->bound = false;
	t->stage = TASK_STARTING;
	t->lost = t->abort = ERR_NONE;
	t->lost_text[0] = t->abort_text[0] = '\0';
	/* No row waits for its spool: this worker was not listened to. */
	ASSERT(!intake_has_heard(t->intake));
	intake_free(&t->intake);
	steps_drop_open(&t->steps);
	t->rec.status = RUN_QUEUED;
	t->rec.phase[0] = '\0';
	t->rec.attempt++;
	t->rec.heard = 0;
	log_info(
	    "%s: goes back to the queue, attempt %u", t->name, t->rec.attempt);
	c = change_new(t->sup, &t->rec, CHANGE_UPDATE);
	if (c != NULL)
		change_commit(c, again_written, NULL);
	else
		turn_break(t->sup->turn, t->name, "no memory to put it back");
}
