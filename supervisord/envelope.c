/*
 * The documents supervisord writes when a run ends.
 */
#include <string.h>

#include "common/clock.h"
#include "json/tape.h"
#include "storage/store.h"
#include "supervisord/change.h"
#include "supervisord/envelope.h"
#include "supervisord/intake.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/taskresult.h"

#define ITEMS_BYTES_MAX (24u << 20)

void
items_init(struct items *items)
{
	memset(items, 0, sizeof(*items));
	buf_init(&items->text, ITEMS_BYTES_MAX);
}

void
items_clear(struct items *items)
{
	buf_clear(&items->text);
}

static struct items_cause *
items_find_cause(struct items *items, enum err_code code)
{
	for (size_t i = 0; i < items->ncauses; i++)
		if (items->causes[i].code == code)
			return &items->causes[i];
	if (items->ncauses == ITEMS_CAUSES_MAX)
		return NULL;
	items->causes[items->ncauses].code = code;
	return &items->causes[items->ncauses++];
}

/* Counts the error of a record, by its finest code. */
static void
items_count_error(struct items *items, const void *record, size_t len)
{
	struct json_doc *doc = NULL;
	struct items_cause *cause = NULL;
	struct json_val error;
	char name[64];

	if (!json_parse(record, len, NULL, JSON_BORROW, &doc, NULL))
		return;
	error = json_obj_get(json_root(doc), "error");
	if (json_str_copy(json_obj_get(error, "cause"), name, sizeof(name)) ||
	    json_str_copy(json_obj_get(error, "errorCode"), name, sizeof(name)))
		cause = items_find_cause(items, err_by_name(name));
	if (cause != NULL && cause->n++ == 0)
		json_str_cut(json_obj_get(error, "message"), cause->message,
		    sizeof(cause->message));
	json_doc_free(&doc);
}

const struct items_cause *
items_commonest(const struct items *items)
{
	const struct items_cause *best = NULL;

	for (size_t i = 0; i < items->ncauses; i++) {
		if (items->causes[i].code != ERR_NONE &&
		    (best == NULL || items->causes[i].n > best->n))
			best = &items->causes[i];
	}
	return best;
}

void
items_add(struct items *items, const void *record, size_t len, bool good)
{
	bool whole = items->shown == items->succeeded + items->failed;

	if (items->text.len > 0)
		buf_add(&items->text, ",", 1);
	buf_add(&items->text, record, len);
	if (good)
		items->succeeded++;
	else {
		items->failed++;
		items_count_error(items, record, len);
	}
	if (whole && items->text.len <= RESULT_INLINE_MAX) {
		items->shown++;
		items->shown_len = items->text.len;
	}
}

static void
write_items(
    const struct items *items, uint32_t total, bool cut, struct json_writer *w)
{
	struct buf array;
	size_t len = cut ? items->shown_len : items->text.len;

	json_write_key(w, "summary");
	json_write_begin_object(w);
	json_put_int64(w, "total", total);
	json_put_int64(w, "succeeded", items->succeeded);
	json_put_int64(w, "failed", items->failed);
	json_write_end_object(w);
	buf_init(&array, ITEMS_BYTES_MAX + 2);
	buf_add(&array, "[", 1);
	if (len > 0)
		buf_add(&array, items->text.data, len);
	buf_add(&array, "]", 1);
	if (array.failed || items->text.failed)
		json_put_raw(w, "items", "[]", 2);
	else
		json_put_raw(w, "items", array.data, array.len);
	buf_clear(&array);
}

static void
write_cut(const struct items *items, const struct ulid *artifact,
    struct json_writer *w)
{
	json_write_key(w, "truncated");
	json_write_begin_object(w);
	if (items->by_items) {
		json_put_int64(w, "shownItems", items->shown);
		json_put_int64(
		    w, "totalItems", items->succeeded + items->failed);
	}
	json_put_id(w, "artifactId", "art_", artifact);
	json_write_end_object(w);
}

/* The worker's own members, unless the document is broken or too long. */
static void
write_worker(
    const void *worker, size_t len, bool by_items, struct json_writer *w)
{
	struct json_doc *doc = NULL;
	struct json_iter it;
	char key[128];

	if (worker == NULL ||
	    !json_parse(
		worker, len, NULL, JSON_BORROW | JSON_DUP_ERROR, &doc, NULL))
		return;
	for (it = json_iter(json_root(doc)); json_iter_next(&it);) {
		if (!json_str_copy(it.key, key, sizeof(key)) ||
		    strcmp(key, "truncated") == 0 ||
		    (by_items &&
			(strcmp(key, "summary") == 0 ||
			    strcmp(key, "items") == 0)))
			continue;
		json_put_val(w, key, it.val);
	}
	json_doc_free(&doc);
}

void
result_write(const struct items *items, uint32_t total, const void *worker,
    size_t worker_len, const struct ulid *cut, struct json_writer *w)
{
	json_write_begin_object(w);
	if (items->by_items)
		write_items(items, total, cut != NULL, w);
	if (cut == NULL || worker_len <= RESULT_INLINE_MAX / 4)
		write_worker(worker, worker_len, items->by_items, w);
	if (cut != NULL)
		write_cut(items, cut, w);
	json_write_end_object(w);
}

/* The envelope. */

/* Those that are stored and those that come with the terminal state. */
static void
find_artifacts(
    struct task *t, const struct change *c, struct artifact_rows *rows)
{
	struct store_txn *txn;

	rows->count = rows->omitted = 0;
	if (store_read_begin(t->sup->store, &txn) == STORE_OK) {
		artifact_rows_read(rows, txn, &t->rec.id);
		store_read_end(t->sup->store);
	}
	for (size_t i = 0; i < c->nartifacts; i++)
		artifact_rows_add(rows, &c->artifacts[i].row);
	if (rows->omitted > 0)
		lines_addf(&t->warnings,
		    "%zu artifacts are not named in the result: the list of "
		    "artifacts has all",
		    rows->omitted);
}

static const void *
worker_result(struct task *t, size_t *len)
{
	*len = 0;
	return t->intake == NULL ? NULL : intake_result(t->intake, len);
}

bool
envelope_build(struct task *t, const struct outcome *o,
    const struct items *items, const struct change *c, struct buf *ret)
{
	struct buf result, steps, trace;
	struct taskresult tr = { .rec = &t->rec,
		.code = o->code,
		.message = o->message,
		.retryable = o->retryable,
		.failed_step = o->failed_step };
	struct artifact_rows rows;
	struct json_writer w;
	const void *worker;
	size_t worker_len;
	bool good;

	buf_init(&result, ENVELOPE_BYTES_MAX / 2);
	buf_init(&steps, STORE_DOC_BYTES);
	buf_init(&trace, STORE_DOC_BYTES);
	find_artifacts(t, c, &rows);
	worker = worker_result(t, &worker_len);
	json_writer_init(&w, &result);
	result_write(items, t->rec.total, worker, worker_len, NULL, &w);
	good = json_writer_finish(&w);
	json_writer_init(&w, &steps);
	steps_write(&t->steps, &w);
	good = json_writer_finish(&w) && good;
	json_writer_init(&w, &trace);
	lines_write(&t->trace, &w);
	good = json_writer_finish(&w) && good;
	if (good) {
		tr.result = result.data;
		tr.result_len = result.len;
		tr.artifacts = rows.rows;
		tr.nartifacts = rows.count;
		tr.steps = steps.data;
		tr.steps_len = steps.len;
		tr.trace_lines = trace.data;
		tr.trace_lines_len = trace.len;
		json_writer_init(&w, ret);
		taskresult_write(&tr, &w);
		good = json_writer_finish(&w);
	}
	buf_clear(&result);
	buf_clear(&steps);
	buf_clear(&trace);
	return good;
}

/* The terminal write. */

static bool
put_result(struct task *t, const struct items *items,
    const struct ulid *envelope, struct change *c)
{
	static const struct ulid none;
	struct json_writer w;
	const void *worker;
	size_t worker_len;
	struct buf b;

	worker = worker_result(t, &worker_len);
	buf_init(&b, 2 * RESULT_INLINE_MAX);
	json_writer_init(&w, &b);
	if (items->text.len + worker_len <= RESULT_INLINE_MAX) {
		result_write(items, t->rec.total, worker, worker_len, NULL, &w);
	} else {
		result_write(items, t->rec.total, worker, worker_len,
		    envelope != NULL ? envelope : &none, &w);
	}
	if (!json_writer_finish(&w)) {
		buf_clear(&b);
		return false;
	}
	return change_doc(c, RUN_DOC_RESULT, &b);
}

static bool
put_documents(struct task *t, const struct outcome *o, struct change *c)
{
	struct json_writer w;
	struct buf b;
	bool good = true;

	if (o->code != ERR_NONE) {
		buf_init(&b, 65536);
		json_writer_init(&w, &b);
		outcome_write_error(o, &w);
		good =
		    json_writer_finish(&w) && change_doc(c, RUN_DOC_ERROR, &b);
		buf_clear(&b);
	}
	buf_init(&b, STORE_DOC_BYTES);
	json_writer_init(&w, &b);
	lines_write(&t->warnings, &w);
	good = good && change_doc(c, RUN_DOC_WARNINGS, &b);
	buf_init(&b, STORE_DOC_BYTES);
	json_writer_init(&w, &b);
	steps_write(&t->steps, &w);
	return good && change_doc(c, RUN_DOC_STEPS, &b);
}

static bool
put_event(struct task *t, const struct outcome *o, const struct items *items,
    struct change *c)
{
	enum event_kind kind = EVENT_RUN_COMPLETED;
	struct json_writer w;
	struct buf b;

	if (o->status == RUN_CANCELED)
		kind = EVENT_RUN_CANCELED;
	else if (o->status == RUN_FAILED)
		kind = EVENT_RUN_FAILED;
	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "status", run_status_name(o->status));
	json_put_int64(&w, "done", t->rec.done);
	json_put_int64(&w, "total", t->rec.total);
	if (items->by_items)
		json_put_int64(&w, "failed", items->failed);
	if (o->code != ERR_NONE) {
		json_write_key(&w, "error");
		outcome_write_error(o, &w);
	}
	json_write_end_object(&w);
	return change_event(c, kind, &b);
}

static enum change_session
session_of(const struct task *t)
{
	bool good = t->rec.status == RUN_SUCCEEDED ||
	    t->rec.status == RUN_PARTIAL_SUCCESS;

	if (!t->rec.owns_session)
		return CHANGE_SESSION_BACK;
	return t->keep && good ? CHANGE_SESSION_KEPT : CHANGE_SESSION_NOT;
}

bool
envelope_terminal(struct task *t, const struct outcome *o,
    const struct items *items, const struct ulid *envelope, struct change *c)
{
	struct run_record *rec = &t->rec;
	struct settings *s = &t->sup->settings;

	rec->status = o->status;
	rec->phase[0] = '\0';
	rec->ended_ms = clock_stamp_ms();
	rec->updated_ms = rec->ended_ms;
	rec->expires_ms = rec->ended_ms + s->runTtlMs;
	c->rec = *rec;
	c->session = session_of(t);
	c->session_expires_ms = rec->ended_ms + s->sessionTtlMs;
	c->artifacts_expire_ms = rec->ended_ms + s->artifactTtlMs;
	task_audit_end(t, c);
	return (o->code != ERR_NONE || put_result(t, items, envelope, c)) &&
	    put_event(t, o, items, c) && put_documents(t, o, c);
}
