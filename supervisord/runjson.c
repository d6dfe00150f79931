/*
 * The Run object, written by supervisord from what is committed.
 */
#include <string.h>

#include "common/clock.h"
#include "json/tape.h"
#include "storage/artifact_sums.h"
#include "storage/store.h"
#include "supervisord/reply.h"
#include "supervisord/runjson.h"
#include "supervisord/shorten.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/taskresult.h"

#define OTHERS_BYTES 512 /* keys and what is short */
#define ID_BYTES     (ID_CHARS + 3)

/* One member; cut when it is longer than max_bytes, which 0 never says. */
static void
put_within(struct json_writer *w, const char *key, const uint8_t *bytes,
    size_t len, size_t max_bytes)
{
	struct json_doc *doc = NULL;

	if (max_bytes == 0 || len <= max_bytes ||
	    !json_parse(bytes, len, NULL, JSON_BORROW, &doc, NULL)) {
		json_put_raw(w, key, bytes, len);
		return;
	}
	json_write_key(w, key);
	shorten_write(json_root(doc), max_bytes, w);
	json_doc_free(&doc);
}

static void
put_doc(struct json_writer *w, const char *key, struct store_txn *txn,
    const struct run_record *rec, enum run_doc doc, const char *absent,
    size_t max_bytes)
{
	const uint8_t *bytes;
	size_t len;

	if (run_doc_get(txn, &rec->id, doc, &bytes, &len) == STORE_OK)
		put_within(w, key, bytes, len, max_bytes);
	else
		json_put_raw(w, key, absent, strlen(absent));
}

/* The artifact that has all of the outcome; NULL: it is gone. */
static const struct artifact_row *
find_envelope(const struct artifact_rows *arts)
{
	const struct artifact_row *row = NULL;

	for (size_t i = 0; i < arts->count; i++)
		if (arts->rows[i].kind == ARTIFACT_TASK_RESULT &&
		    arts->rows[i].state != ARTIFACT_TOMBSTONE)
			row = &arts->rows[i];
	return row;
}

static void
put_cut_result(struct json_writer *w, struct store_txn *txn,
    const struct run_record *rec, const struct artifact_rows *arts,
    size_t max_bytes)
{
	const struct artifact_row *all = find_envelope(arts);
	struct json_doc *doc = NULL;
	const uint8_t *bytes;
	size_t len;

	if (max_bytes == 0 ||
	    run_doc_get(txn, &rec->id, RUN_DOC_RESULT, &bytes, &len) !=
		STORE_OK ||
	    len <= max_bytes ||
	    !json_parse(bytes, len, NULL, JSON_BORROW, &doc, NULL)) {
		put_doc(w, "result", txn, rec, RUN_DOC_RESULT, "{}", 0);
		return;
	}
	json_write_key(w, "result");
	shorten_result(
	    json_root(doc), max_bytes, all == NULL ? NULL : &all->id, w);
	json_doc_free(&doc);
}

/*
 * The envelope without trace lines, for when its artifact is gone or too long
 * for an answer.
 */
static void
write_short_output(struct store_txn *txn, const struct run_record *rec,
    const struct artifact_rows *arts, struct json_writer *w)
{
	char message[512] = "", step[STEP_NAME_CHARS + 1] = "start";
	struct taskresult t = { .rec = rec,
		.artifacts = arts->rows,
		.nartifacts = arts->count,
		.code = err_by_name(rec->error_code) };
	const uint8_t *result = NULL, *steps = NULL, *error;
	struct json_doc *doc = NULL;
	struct json_val v;
	size_t len;

	if (run_doc_get(txn, &rec->id, RUN_DOC_ERROR, &error, &len) ==
		STORE_OK &&
	    json_parse(error, len, NULL, 0, &doc, NULL)) {
		v = json_root(doc);
		json_str_copy(
		    json_obj_get(v, "message"), message, sizeof(message));
		json_get_bool(json_obj_get(v, "retryable"), &t.retryable);
		json_str_copy(
		    json_obj_get(json_obj_get(v, "details"), "failedStep"),
		    step, sizeof(step));
		json_doc_free(&doc);
	}
	t.message = message;
	t.failed_step = step;
	run_doc_get(txn, &rec->id, RUN_DOC_RESULT, &result, &t.result_len);
	run_doc_get(txn, &rec->id, RUN_DOC_STEPS, &steps, &t.steps_len);
	t.result = result;
	t.steps = steps;
	taskresult_write(&t, w);
}

static bool
read_artifact(struct sup *sup, struct store_txn *txn,
    const struct artifact_row *row, struct buf *b)
{
	const uint8_t *bytes;
	size_t len = (size_t)row->size;
	uint8_t *room;

	if (row->state == ARTIFACT_IN_ROW)
		return artifact_bytes(txn, &row->id, &bytes, &len) ==
		    STORE_OK &&
		    buf_add(b, bytes, len);
	if (row->state != ARTIFACT_IN_FILE || row->size > RUNJSON_OUTPUT_MAX)
		return false;
	room = buf_reserve(b, len);
	if (room == NULL ||
	    artifact_file_whole(sup->store, row, room) != STORE_OK)
		return false;
	b->len += len;
	return true;
}

static void
put_output(struct sup *sup, struct store_txn *txn, const struct run_record *rec,
    const struct artifact_rows *arts, size_t max_bytes, struct json_writer *w)
{
	const struct artifact_row *row = find_envelope(arts);
	struct json_writer text;
	struct buf b;

	if (!run_status_terminal(rec->status)) {
		json_put_null(w, "output");
		return;
	}
	buf_init(&b, RUNJSON_OUTPUT_MAX);
	if (row == NULL || !read_artifact(sup, txn, row, &b)) {
		buf_reset(&b);
		json_writer_init(&text, &b);
		write_short_output(txn, rec, arts, &text);
	}
	if (b.failed)
		json_put_null(w, "output");
	else
		put_within(w, "output", b.data, b.len, max_bytes);
	buf_clear(&b);
}

/* How long the parts of an answer may be; all 0 when it has no limit. */
struct room {
	size_t result, warnings, output;
};

static struct room
make_room(const struct runjson_want *want, size_t written, size_t nartifacts)
{
	size_t taken = written + nartifacts * ID_BYTES + OTHERS_BYTES;
	size_t left = want->max_bytes > taken ? want->max_bytes - taken : 0;
	struct room room = { 0, 0, 0 };

	if (want->max_bytes == 0)
		return room;
	room.warnings = left / 8 + 1;
	left -= left / 8;
	if ((want->parts & RUNJSON_OUTPUT) != 0) {
		room.output = left / 2 + 1;
		left -= left / 2;
	}
	room.result = left + 1;
	return room;
}

/* Where its caller let it go, as it was submitted; nothing when anywhere. */
static void
put_domains(
    struct json_writer *w, struct store_txn *txn, const struct run_record *rec)
{
	static const char *const names[] = { "allowedDomains",
		"forbiddenDomains" };
	struct json_doc *doc = NULL;
	const uint8_t *bytes, *raw;
	struct json_val list;
	size_t len;

	if (run_doc_get(txn, &rec->id, RUN_DOC_OPTIONS, &bytes, &len) !=
		STORE_OK ||
	    !json_parse(bytes, len, NULL, 0, &doc, NULL))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		list = json_obj_get(json_root(doc), names[i]);
		if (json_len(list) > 0 && json_raw(list, &raw, &len))
			json_put_raw(w, names[i], raw, len);
	}
	json_doc_free(&doc);
}

static void
put_result(struct sup *sup, struct store_txn *txn, const struct run_record *rec,
    const struct runjson_want *want, struct json_writer *w)
{
	struct artifact_rows arts;
	struct room room;
	bool good =
	    rec->status == RUN_SUCCEEDED || rec->status == RUN_PARTIAL_SUCCESS;
	bool bad = run_status_terminal(rec->status) && !good;

	artifact_rows_read(&arts, txn, &rec->id);
	room = make_room(want, w->out->len, arts.count);
	if (good)
		put_cut_result(w, txn, rec, &arts, room.result);
	else
		json_put_null(w, "result");
	if (bad)
		put_doc(
		    w, "error", txn, rec, RUN_DOC_ERROR, "null", room.result);
	else
		json_put_null(w, "error");
	json_write_key(w, "artifactIds");
	json_write_begin_array(w);
	for (size_t i = 0; i < arts.count; i++) {
		char id[ID_CHARS + 1];

		id_format("art_", &arts.rows[i].id, id);
		json_write_str(w, id);
	}
	json_write_end_array(w);
	if (arts.omitted > 0)
		json_put_int64(w, "artifactsOmitted", (int64_t)arts.omitted);
	put_doc(w, "warnings", txn, rec, RUN_DOC_WARNINGS, "[]", room.warnings);
	if ((want->parts & RUNJSON_OUTPUT) != 0)
		put_output(sup, txn, rec, &arts, room.output, w);
}

static void
put_times(const struct run_record *rec, struct json_writer *w)
{
	int64_t now = rec->ended_ms != 0 ? rec->ended_ms : clock_stamp_ms();
	int64_t began = rec->started_ms != 0 ? rec->started_ms : now;

	json_write_key(w, "metrics");
	json_write_begin_object(w);
	json_put_int64(w, "elapsedMs", now > began ? now - began : 0);
	json_put_int64(w, "queueMs",
	    began > rec->created_ms ? began - rec->created_ms : 0);
	json_write_end_object(w);
	json_put_int64(w, "createdAt", rec->created_ms);
	json_put_int64(w, "updatedAt", rec->updated_ms);
	if (rec->started_ms != 0)
		json_put_int64(w, "startedAt", rec->started_ms);
	else
		json_put_null(w, "startedAt");
	if (rec->ended_ms != 0)
		json_put_int64(w, "endedAt", rec->ended_ms);
	else
		json_put_null(w, "endedAt");
}

void
runjson_write(struct sup *sup, struct store_txn *txn,
    const struct run_record *rec, const struct runjson_want *want,
    struct json_writer *w)
{
	struct task *task;

	json_put_id(w, "runId", "run_", &rec->id);
	json_put_str(w, "templateId", rec->template_id);
	json_put_str(w, "templateVersion", rec->template_version);
	json_put_id(w, "sessionId", "sess_", &rec->session);
	json_put_bool(w, "ownsSession", rec->owns_session);
	json_put_str(w, "status", run_status_name(rec->status));
	json_put_str(w, "phase", rec->phase[0] == '\0' ? NULL : rec->phase);
	json_put_str(w, "mode", run_mode_name(rec->mode));
	json_put_str(w, "priority", run_priority_name(rec->priority));
	json_put_str(w, "trustLevel", trust_level_name(rec->trust));
	json_put_int64(w, "attempt", rec->attempt);
	json_put_str(w, "traceId", rec->trace_id);
	json_put_int64(w, "timeoutMs", rec->limit_ms);
	json_write_key(w, "progress");
	json_write_begin_object(w);
	json_put_int64(w, "doneSteps", rec->done);
	json_put_int64(w, "totalSteps", rec->total);
	json_write_end_object(w);
	put_times(rec, w);
	if ((want->parts & RUNJSON_RESULT) != 0) {
		task = tasks_find(sup->tasks, &rec->id);
		if (task != NULL && rec->status == RUN_QUEUED)
			json_put_int64(w, "queuePosition",
			    (int64_t)tasks_position(
				sup->tasks, task, want->among_own));
		put_domains(w, txn, rec);
		put_result(sup, txn, rec, want, w);
	}
}
