/*
 * Starting a run, in supervisord: slot, cell, sandbox seen, go. Each step is
 * written first and taken when its commit is done.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "launch/launch.h"
#include "storage/store.h"
#include "supervisord/begin.h"
#include "supervisord/cells.h"
#include "supervisord/change.h"
#include "supervisord/intake.h"
#include "supervisord/named.h"
#include "supervisord/options.h"
#include "supervisord/registry.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"

/* The hosts that its inputs name, as far as there is room for them. */
static enum store_err
task_named(struct task *t, struct store_txn *txn)
{
	const struct json_limits limits = { LIMIT_INPUT_BYTES,
		LIMIT_JSON_DEPTH + 1 };
	struct json_doc *doc = NULL;
	const uint8_t *bytes;
	struct buf lines;
	size_t len;
	int err;

	free(t->named);
	t->named = NULL;
	err = run_doc_get(txn, &t->rec.id, RUN_DOC_INPUTS, &bytes, &len);
	if (err != STORE_OK)
		return err;
	if (!json_parse(bytes, len, &limits, 0, &doc, NULL))
		return STORE_CORRUPT;
	buf_init(&lines, LIMIT_NAMED_BYTES);
	if (!named_hosts(json_root(doc), &lines))
		lines_addf(&t->warnings,
		    "the inputs name more hosts than are taken: those after "
		    "the first %zu bytes are reached only where they are "
		    "public",
		    lines.len);
	t->named = (char *)buf_take(&lines, &len);
	json_doc_free(&doc);
	return STORE_OK;
}

bool
task_options(struct task *t)
{
	const struct template *template =
	    registry_find(t->sup->registry, t->rec.template_id);
	struct refusal refusal = { 0 };
	struct options options = { 0 };
	struct json_doc *doc = NULL;
	struct store_txn *txn;
	const uint8_t *bytes;
	bool text = template != NULL && template->text_only;
	size_t len;
	int err;

	if (store_read_begin(t->sup->store, &txn) != STORE_OK)
		return false;
	err = run_doc_get(txn, &t->rec.id, RUN_DOC_OPTIONS, &bytes, &len);
	if (err == STORE_OK &&
	    (!json_parse(bytes, len, NULL, 0, &doc, NULL) ||
		!options_read(json_root(doc), &options, &refusal)))
		err = STORE_CORRUPT;
	if (err == STORE_OK || err == STORE_NOT_FOUND)
		err = task_named(t, txn);
	if (options.has_resources)
		text = options.text_only;
	json_doc_free(&doc);
	store_read_end(t->sup->store);
	/* Other runs of a session may want to see its pages whole. */
	t->text_only = !t->keep && text;
	free(t->allowed);
	free(t->forbidden);
	t->allowed = options.allowed;
	t->forbidden = options.forbidden;
	free(t->kept);
	t->kept = options.kept;
	t->public_only = options.public_only;
	/* Without them it might go where it must not. */
	return err == STORE_OK || err == STORE_NOT_FOUND;
}

static void
task_spawn(struct task *t)
{
	struct cell_want want = { .session = t->rec.session,
		.keep = t->keep,
		.flags = SPAWN_BROWSER,
		.name = t->name };

	if (!task_options(t)) {
		t->lost = ERR_STORAGE_ERROR;
		strlcpy(t->lost_text, "its options cannot be read",
		    sizeof(t->lost_text));
		task_settle(t);
		return;
	}
	if (t->text_only)
		want.flags |= SPAWN_TEXT_ONLY;
	t->intake = intake_new(t, t->lost_text, sizeof(t->lost_text));
	if (t->intake != NULL)
		t->worker = worker_start(t->sup, &want, &task_worker_ops, t);
	CRASH_POINT(spawn_ordered);
	if (t->worker != NULL)
		return;
	t->lost = t->intake == NULL ? ERR_STORAGE_ERROR : ERR_SPAWN_FAILED;
	if (t->intake != NULL)
		strlcpy(t->lost_text, "no cell could be ordered",
		    sizeof(t->lost_text));
	task_settle(t);
}

static bool
task_start_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (t == NULL || t->stage != TASK_STARTING || t->abandoned)
		return false;
	if (err == STORE_OK) {
		CRASH_POINT(start_written);
		if (t->rec.intent == INTENT_NONE)
			task_spawn(t);
		return false;
	}
	log_err(
	    "%s: its start was not stored: %s", t->name, store_strerror(err));
	t->lost = reply_store_code(err);
	strlcpy(t->lost_text, store_strerror(err), sizeof(t->lost_text));
	t->rec.status = RUN_QUEUED;
	task_settle(t);
	return false;
}

/* The run's clock: all of it but the queue, starting a browser included. */
static void
task_start_clock(struct task *t)
{
	t->began_mono_ms = clock_mono_ms();
	task_arm_deadline(t);
}

void
task_start(struct task *t)
{
	int64_t now = clock_stamp_ms();
	struct change *c;
	struct buf b;

	sched_remove(&t->sup->tasks->queue, &t->queue);
	t->stage = TASK_STARTING;
	session_enter(t);
	task_set_active(t, true);
	t->rec.status = RUN_RUNNING;
	t->rec.epoch = store_epoch(t->sup->store);
	t->rec.updated_ms = now;
	if (t->rec.started_ms == 0)
		t->rec.started_ms = now;
	strlcpy(t->rec.phase, "preparing", sizeof(t->rec.phase));
	task_start_clock(t);
	t->rec.heard = 0;
	t->rec.spent_mono_ms = t->began_mono_ms;
	task_trace(t, "starts, attempt %u", t->rec.attempt);
	log_info("%s: starts, attempt %u", t->name, t->rec.attempt);
	c = change_new(t->sup, &t->rec, CHANGE_UPDATE);
	if (c == NULL) {
		t->lost = ERR_INTERNAL;
		strlcpy(t->lost_text, "no memory", sizeof(t->lost_text));
		task_settle(t);
		return;
	}
	buf_init(&b, EVENT_DOC_BYTES);
	buf_addf(&b, "{\"attempt\":%u}", t->rec.attempt);
	change_event(c, EVENT_RUN_STARTED, &b);
	change_commit(c, task_start_written, NULL);
}

/* Before this is stored nothing has touched a page. */
static bool
task_acting_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (t == NULL || t->stage != TASK_STARTING || t->worker == NULL ||
	    t->rec.intent != INTENT_NONE || t->abandoned)
		return false;
	if (err == STORE_OK) {
		CRASH_POINT(acting_written);
		t->acting = true;
		task_try_begin(t);
	} else {
		task_abort(t, reply_store_code(err),
		    "the run could not be handed to its worker");
	}
	return false;
}

void
task_try_begin(struct task *t)
{
	/* One that lost its spare meanwhile says again when it is ready. */
	if (!t->bound || !t->acting || t->stage != TASK_STARTING ||
	    t->worker == NULL || worker_is_starting(t->worker) ||
	    t->rec.intent != INTENT_NONE || t->abandoned)
		return;
	if (begin_run(t))
		t->stage = TASK_RUNNING;
	else if (!worker_is_starting(t->worker))
		task_abort(t, ERR_WORKER_LOST,
		    "the run could not be handed to its worker");
}

/* The proof that no page is loaded outside of a sandbox stays with the run. */
static void
task_event_acting(const struct task *t, struct change *c)
{
	const struct launch_sandbox *s = worker_sandbox(t->worker);
	struct buf b;

	buf_init(&b, EVENT_DOC_BYTES);
	buf_addf(&b,
	    "{\"phase\":\"acting\",\"sandbox\":{\"renderers\":%u,"
	    "\"seccomp\":%u,\"namespaces\":%u,\"noNewPrivs\":%s,"
	    "\"gpus\":%u,\"utilities\":%u,\"othersSeccomp\":%u}}",
	    s->renderers, s->seccomp_mode, s->ns_depth,
	    s->no_new_privs != 0 ? "true" : "false", s->gpus, s->utilities,
	    s->others_mode);
	change_event(c, EVENT_PHASE_CHANGED, &b);
}

static void
task_on_ready(void *ctx)
{
	struct task *t = ctx;
	struct change *c = NULL;
	bool again;

	if (t->rec.intent != INTENT_NONE || t->abandoned)
		return;
	again = strcmp(t->rec.phase, "acting") == 0;
	task_trace(t, "browser is up, its sandbox was seen");
	strlcpy(t->rec.phase, "acting", sizeof(t->rec.phase));
	t->rec.updated_ms = clock_stamp_ms();
	t->acting = false;
	if (task_egress_bind(t))
		c = change_new(t->sup, &t->rec, CHANGE_UPDATE);
	if (c == NULL) {
		task_abort(t, ERR_INTERNAL, "no memory");
		return;
	}
	if (!again)
		task_event_acting(t, c);
	worker_tell_secrets(t->sup, &t->rec);
	change_commit(c, task_acting_written, NULL);
}

static void
task_on_msg(void *ctx, const struct ipc_params *p)
{
	struct task *t = ctx;

	if (p->msg == MSG_S_RUN_END)
		task_egress_unbind(t);
	intake_msg(t->intake, p);
}

static void
task_on_reaped(void *ctx, const struct worker_end *end)
{
	struct task *t = ctx;
	const struct launch_usage *u = &end->usage;
	struct tasks *ts = t->sup->tasks;
	bool over = end->over;

	t->lost = end->code;
	strlcpy(t->lost_text, end->text, sizeof(t->lost_text));
	if (end->unanswered)
		task_on_unanswered(t, end);
	/* What its worker said of it before is how it felt, not why it ended. */
	if (over && !intake_end(t->intake)->ok && t->abort == ERR_NONE) {
		t->abort = end->code;
		strlcpy(t->abort_text, end->text, sizeof(t->abort_text));
	}
	if (u->processes != 0)
		task_trace(t,
		    "used %llu MiB, %u threads, %llu ms of processors",
		    (unsigned long long)(u->memory >> 20), u->processes,
		    (unsigned long long)u->cpu_ms);
	CRASH_POINT(reaped);
	worker_free(&t->worker); /* and end with it */
	egress_release(&t->egress);
	if (t->abandoned && !intake_end(t->intake)->ok &&
	    t->rec.intent == INTENT_NONE) {
		task_set_active(t, false);
		tasks_check_idle(ts);
		return;
	}
	if (t->again && !over && !intake_end(t->intake)->given &&
	    t->rec.intent == INTENT_NONE)
		task_go_again(t);
	else
		task_settle(t);
}

const struct worker_ops task_worker_ops = {
	.on_ready = task_on_ready,
	.on_msg = task_on_msg,
	.on_reaped = task_on_reaped,
	.on_resumed = task_on_resumed,
};
