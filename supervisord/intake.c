/*
 * The worker's reports, as supervisord takes them in. Item bytes go to the
 * spool as they come; the journal row that names them is committed with the
 * record and the progress event, and the spool is synced before it. Every
 * count and size a worker can choose is bounded here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "json/tape.h"
#include "model/limits.h"
#include "storage/artifact.h"
#include "storage/journal.h"
#include "storage/session.h"
#include "storage/spool.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/change.h"
#include "supervisord/feed.h"
#include "supervisord/intake.h"
#include "supervisord/intake_int.h"
#include "supervisord/registry.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker.h"

#define SPOOL_BYTES_MAX   (UINT64_C(2) << 30)
#define RESULT_BYTES_MAX  (4u << 20)
#define PROGRESS_UNSTORED 256
#define FILLS_MAX         200
#define CHANGES_BURST     400 /* of a worker, then: */
#define CHANGES_PER_S     200
#define REST_MS           20

static struct intake *
intake_make(struct task *task)
{
	struct intake *in = calloc(1, sizeof(*in));

	if (in == NULL)
		return NULL;
	in->task = task;
	in->credit = CHANGES_BURST * 1000;
	in->credit_ms = clock_mono_ms();
	TAILQ_INIT(&in->items);
	buf_init(&in->result, RESULT_BYTES_MAX);
	return in;
}

struct intake *
intake_new_ended(struct task *task)
{
	struct intake *in = intake_make(task);

	if (in != NULL && !intake_load_end(in))
		intake_free(&in);
	return in;
}

struct intake *
intake_new(struct task *task, char *ret_why, size_t size)
{
	struct store *store = task->sup->store;
	struct intake *in = intake_make(task);
	struct store_txn *txn;
	uint64_t end = 0;
	enum store_err err;

	if (in == NULL) {
		strlcpy(ret_why, "no memory", size);
		return NULL;
	}
	if (store_read_begin(store, &txn) == STORE_OK) {
		if (journal_spool_end(txn, &task->rec.id, &end) != STORE_OK)
			end = 0;
		intake_count_artifacts(in, txn);
		store_read_end(store);
	}
	err =
	    spool_open(store, &task->rec.id, end, SPOOL_BYTES_MAX, &in->spool);
	if (err == STORE_OK)
		return in;
	snprintf(ret_why, size, "its spool cannot be opened: %s%s%s",
	    store_strerror((int)err), errno != 0 ? ": " : "",
	    errno != 0 ? strerror(errno) : "");
	intake_free(&in);
	return NULL;
}

void
intake_free(struct intake **intake)
{
	struct intake *in = *intake;
	struct item *item;

	if (in == NULL)
		return;
	while ((item = TAILQ_FIRST(&in->items)) != NULL) {
		TAILQ_REMOVE(&in->items, item, entry);
		free(item);
	}
	for (int i = 0; i < ARTIFACT_SLOTS; i++)
		artifact_writer_free(&in->slots[i]);
	session_state_free(&in->state);
	spool_free(&in->spool);
	buf_clear(&in->result);
	free(in);
	*intake = NULL;
}

const void *
intake_result(const struct intake *in, size_t *ret_len)
{
	*ret_len = in->result.failed ? 0 : in->result.len;
	return *ret_len == 0 ? NULL : in->result.data;
}

struct spool *
intake_spool(struct intake *in)
{
	return in == NULL ? NULL : in->spool;
}

void
intake_store_failed(struct intake *in, int err)
{
	task_abort(in->task, reply_store_code(err), store_strerror(err));
}

/* Progress that could not be written ends the run: nothing may be lost. */
bool
intake_written(struct sup *sup, struct change *c, int err)
{
	struct task *task = tasks_find(sup->tasks, &c->rec.id);

	if (err == STORE_OK || err == STORE_CLOSED || task == NULL)
		return false;
	log_err(
	    "%s: progress was not stored: %s", task->name, store_strerror(err));
	task_abort(task, reply_store_code(err), store_strerror(err));
	return false;
}

bool
intake_has_heard(const struct intake *in)
{
	return in != NULL && in->number > 0;
}

bool
intake_is_repeated(const struct intake *in)
{
	return in->number <= in->replayed;
}

void
intake_resume(struct intake *in, uint64_t stored)
{
	in->replayed = stored;
}

static void
before(uint64_t first, uint64_t *n)
{
	if (first != 0 && first <= *n)
		*n = first - 1;
}

/*
 * What the worker need not keep any more when this message is stored: nothing
 * of which only the beginning has come, for that is in memory alone.
 */
static uint64_t
intake_durable(const struct intake *in)
{
	const struct item *item;
	uint64_t n = in->number;

	before(in->result_first, &n);
	before(in->state_first, &n);
	for (int i = 0; i < ARTIFACT_SLOTS; i++)
		before(in->slot_firsts[i], &n);
	TAILQ_FOREACH(item, &in->items, entry)
		before(item->first, &n);
	return n;
}

/*
 * One worker may not keep the store, and so all others, busy: what it says
 * beyond its rate is read a little later, and then it waits by itself.
 */
static void
intake_spend(struct intake *in)
{
	int64_t now = clock_mono_ms();

	in->credit += (now - in->credit_ms) * CHANGES_PER_S;
	in->credit_ms = now;
	if (in->credit > CHANGES_BURST * 1000)
		in->credit = CHANGES_BURST * 1000;
	in->credit -= 1000;
	if (in->credit < 0 && in->task->worker != NULL)
		worker_rest(in->task->worker, REST_MS);
}

struct change *
intake_change(struct intake *in)
{
	struct change *c;

	intake_spend(in);
	in->unstored = 0;
	task_touch(in->task);
	c = change_new(in->task->sup, &in->task->rec, CHANGE_UPDATE);
	if (c == NULL)
		task_abort(in->task, ERR_INTERNAL, "no memory");
	else
		c->ack = intake_durable(in);
	return c;
}

/* Steps. */

static void
put_steps(struct intake *in, struct change *c)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, STORE_DOC_BYTES);
	json_writer_init(&w, &b);
	steps_write(&in->task->steps, &w);
	change_doc(c, RUN_DOC_STEPS, &b);
}

static void
on_step(struct intake *in, const struct ipc_params *p, enum event_kind kind,
    const char *code)
{
	struct json_writer w;
	struct change *c = intake_change(in);
	struct buf b;

	if (c == NULL)
		return;
	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "step", ipc_str(p, F_NAME));
	if (p->msg == MSG_S_STEP_END)
		json_put_int64(&w, "durationMs", ipc_int(p, F_DURATION_MS, 0));
	if (code != NULL)
		json_put_str(&w, "errorCode", code);
	json_write_end_object(&w);
	change_event(c, kind, &b);
	put_steps(in, c);
	change_commit_later(c, intake_written, NULL);
}

static void
on_step_start(struct intake *in, const struct ipc_params *p)
{
	steps_start(&in->task->steps, ipc_str(p, F_NAME), clock_mono_ms());
	task_trace(in->task, "step %s", ipc_str(p, F_NAME));
	on_step(in, p, EVENT_STEP_STARTED, NULL);
}

static void
on_step_retry(struct intake *in, const struct ipc_params *p)
{
	steps_retry(&in->task->steps, ipc_str(p, F_NAME));
	on_step(in, p, EVENT_STEP_RETRIED, ipc_str(p, F_ERROR_CODE));
}

/*
 * Some failed items leave their step good. Too many of them fail the run, and
 * the step that ends with the last one is the one at fault.
 */
static bool
items_fail_step(const struct task *t)
{
	const struct template *template =
	    registry_find(t->sup->registry, t->rec.template_id);
	uint32_t total = t->rec.total;

	return template != NULL && template->by_items && t->failed > 0 &&
	    t->rec.done >= total && steps_failed(&t->steps) == NULL &&
	    outcome_too_few(total, t->failed < total ? total - t->failed : 0,
		template->partial_ok, template->threshold);
}

static void
on_step_end(struct intake *in, const struct ipc_params *p)
{
	bool good = ipc_bool(p, F_SUCCESS, false);
	const char *code = ipc_str(p, F_ERROR_CODE);
	struct json_doc *doc = NULL;
	size_t len;
	const char *meta = ipc_bin(p, F_META, &len);

	if (meta != NULL &&
	    (!json_parse((const uint8_t *)meta, len, NULL, 0, &doc, NULL) ||
		!json_is_object(json_root(doc)))) {
		json_doc_free(&doc);
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "step metadata is no JSON object");
		return;
	}
	json_doc_free(&doc);
	if (good && items_fail_step(in->task)) {
		good = false;
		code = err_name(ERR_BELOW_THRESHOLD);
	}
	steps_end(&in->task->steps, ipc_str(p, F_NAME), good,
	    ipc_int(p, F_DURATION_MS, 0), code, meta, len);
	task_trace(in->task, "step %s %s", ipc_str(p, F_NAME),
	    good ? "done" : "failed");
	on_step(in, p, good ? EVENT_STEP_SUCCEEDED : EVENT_STEP_FAILED, code);
}

/* Phase, progress, warnings. */

static void
on_phase(struct intake *in, const struct ipc_params *p)
{
	const char *phase = ipc_str(p, F_PHASE);
	struct run_record *rec = &in->task->rec;
	struct change *c;
	struct buf b;

	/* Others tell people that they or the service have to do something. */
	if (!run_phase_is_templates(phase)) {
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "a phase that is not for templates");
		return;
	}
	strlcpy(rec->phase, phase, sizeof(rec->phase));
	if ((c = intake_change(in)) == NULL)
		return;
	buf_init(&b, EVENT_DOC_BYTES);
	buf_addf(&b, "{\"phase\":\"%s\"}", phase);
	change_event(c, EVENT_PHASE_CHANGED, &b);
	change_commit(c, intake_written, NULL);
}

/* Only now the worker acts: a crash before finds a run that did nothing. */
static bool
effect_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);
	struct ipc_params p;

	CRASH_POINT(effect_stored);
	if (err == STORE_OK && t != NULL && t->worker != NULL) {
		ipc_params_init(&p, MSG_W_RUN_EFFECT);
		worker_send(t->worker, &p);
	}
	return intake_written(sup, c, err);
}

/* Also one that was stored: the supervisord before may not have answered. */
static void
on_effect(struct intake *in, const struct ipc_params *p)
{
	struct change *c;

	CRASH_POINT(effect_heard);
	if (!intake_is_repeated(in))
		task_trace(in->task, "acts: %s", ipc_str(p, F_ACTION));
	in->task->rec.acted = true;
	if ((c = intake_change(in)) != NULL)
		change_commit(c, effect_written, NULL);
}

static void
on_progress(struct intake *in, const struct ipc_params *p)
{
	struct run_record *rec = &in->task->rec;
	int64_t done = ipc_int(p, F_DONE, 0), total = ipc_int(p, F_TOTAL, 0);
	struct change *c;

	if (total > UINT32_MAX || done > total)
		return;
	rec->done = (uint32_t)done;
	rec->total = (uint32_t)total;
	rec->updated_ms = clock_stamp_ms();
	feed_progress(in->task, ipc_str(p, F_MESSAGE));
	/* Else the worker would have to keep all of it. */
	if (++in->unstored >= PROGRESS_UNSTORED &&
	    (c = intake_change(in)) != NULL)
		change_commit_later(c, intake_written, NULL);
}

static void
on_warning(struct intake *in, const struct ipc_params *p)
{
	struct json_writer w;
	struct change *c;
	struct buf b;

	lines_add(&in->task->warnings, ipc_str(p, F_TEXT));
	if ((c = intake_change(in)) == NULL)
		return;
	buf_init(&b, STORE_DOC_BYTES);
	json_writer_init(&w, &b);
	lines_write(&in->task->warnings, &w);
	change_doc(c, RUN_DOC_WARNINGS, &b);
	change_commit_later(c, intake_written, NULL);
}

/* Workers choose when: beyond so many rows of a run what is alike is counted. */
static void
on_secret(struct intake *in, const struct ipc_params *p)
{
	struct task *t = in->task;

	if (t->fills < FILLS_MAX && ++t->fills == FILLS_MAX)
		task_trace(t, "further uses of secrets are counted");
	(t->fills < FILLS_MAX ? auditlog_tell : auditlog_tell_often)(t->sup,
	    (int64_t)t->rec.uid,
	    ipc_bool(p, F_SUCCESS, false) ? AUDIT_SECRET_USE
					  : AUDIT_SECRET_REFUSE,
	    &t->rec.id, "%.64s, %.200s", ipc_str(p, F_NAME),
	    ipc_str(p, F_ORIGIN));
}

/* The result. */

static void
on_result_data(struct intake *in, const struct ipc_params *p)
{
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (in->result_first == 0)
		in->result_first = in->number;
	if (!buf_add(&in->result, data, len))
		task_abort(in->task, ERR_TEMPLATE_LIMIT,
		    "the result is larger than allowed");
}

typedef void intake_fn(struct intake *, const struct ipc_params *);

/*
 * Repeated: it is taken also when it was stored before, since it is (or was) in
 * memory only, or sees to that itself.
 */
static const struct {
	intake_fn *take;
	bool repeated;
} intake_table[MSG__MAX] = {
	[MSG_S_STEP_START] = { on_step_start, false },
	[MSG_S_STEP_END] = { on_step_end, false },
	[MSG_S_STEP_RETRY] = { on_step_retry, false },
	[MSG_S_PHASE] = { on_phase, false },
	[MSG_S_PROGRESS] = { on_progress, false },
	[MSG_S_EFFECT] = { on_effect, true },
	[MSG_S_COLLECT] = { intake_collect, false },
	[MSG_S_TOTAL] = { intake_total, false },
	[MSG_S_ITEM_DATA] = { intake_item_data, true },
	[MSG_S_ITEM_END] = { intake_item_end, true },
	[MSG_S_ARTIFACT_DATA] = { intake_artifact_data, true },
	[MSG_S_ARTIFACT_END] = { intake_artifact_end, true },
	[MSG_S_WARNING] = { on_warning, false },
	[MSG_S_SECRET] = { on_secret, false },
	[MSG_S_RESULT_DATA] = { on_result_data, true },
	[MSG_S_STATE_DATA] = { intake_state_data, true },
	[MSG_S_STATE_END] = { intake_state_end, true },
	[MSG_S_RUN_END] = { intake_run_end, true },
};

void
intake_msg(struct intake *in, const struct ipc_params *p)
{
	struct run_record *rec = &in->task->rec;

	in->number = worker_count(in->task->worker);
	if (in->number > rec->heard)
		rec->heard = in->number;
	if (intake_table[p->msg].take == NULL)
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "a message that is none of a run");
	else if (intake_table[p->msg].repeated || !intake_is_repeated(in))
		intake_table[p->msg].take(in, p);
}
