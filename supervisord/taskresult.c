/*
 * The envelope of a run's outcome (TaskResult v0): always its eleven keys,
 * whether the run succeeded or not. Built in supervisord, never by a worker.
 */
#include <string.h>

#include "storage/store.h"
#include "supervisord/reply.h"
#include "supervisord/taskresult.h"

/* What has the outcome of a run comes before what was made on the way. */
static int
row_rank(const struct artifact_row *row)
{
	return row->kind == ARTIFACT_TASK_RESULT ? 2
	    : row->kind == ARTIFACT_EXTRACTION   ? 1
						 : 0;
}

/* The newest of those that may be left out first. */
static size_t
row_least(const struct artifact_rows *rows)
{
	size_t least = rows->count - 1;

	for (size_t i = least; i-- > 0;)
		if (row_rank(&rows->rows[i]) < row_rank(&rows->rows[least]))
			least = i;
	return least;
}

void
artifact_rows_add(struct artifact_rows *rows, const struct artifact_row *row)
{
	size_t i;

	if (rows->count < ARTIFACT_ROWS_MAX) {
		rows->rows[rows->count++] = *row;
		return;
	}
	rows->omitted++;
	i = row_least(rows);
	if (row_rank(&rows->rows[i]) >= row_rank(row))
		return;
	memmove(&rows->rows[i], &rows->rows[i + 1],
	    (ARTIFACT_ROWS_MAX - 1 - i) * sizeof(*row));
	rows->rows[ARTIFACT_ROWS_MAX - 1] = *row;
}

static bool
artifact_rows_visit(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	struct artifact_rows *rows = arg;

	if (err == STORE_OK)
		artifact_rows_add(rows, row);
	return true;
}

void
artifact_rows_read(
    struct artifact_rows *rows, struct store_txn *txn, const struct ulid *run)
{
	rows->count = rows->omitted = 0;
	artifact_list(txn, run, artifact_rows_visit, rows);
}

static void
taskresult_write_artifact(const struct artifact_row *row, struct json_writer *w)
{
	json_write_begin_object(w);
	json_put_id(w, "artifact_id", "art_", &row->id);
	json_put_str(w, "name", row->name);
	json_put_str(w, "mime_type", row->mime);
	json_put_int64(w, "size_bytes", (int64_t)row->size);
	json_write_end_object(w);
}

/* By category: an array for each kind that is there. */
static void
taskresult_write_artifacts(const struct taskresult *t, struct json_writer *w)
{
	bool open;

	json_write_begin_object(w);
	for (int kind = 0; kind < ARTIFACT__MAX; kind++) {
		open = false;
		for (size_t i = 0; i < t->nartifacts; i++) {
			if ((int)t->artifacts[i].kind != kind ||
			    kind == ARTIFACT_TASK_RESULT)
				continue;
			if (!open) {
				json_write_key(w,
				    artifact_kind_name(
					(enum artifact_kind)kind));
				json_write_begin_array(w);
				open = true;
			}
			taskresult_write_artifact(&t->artifacts[i], w);
		}
		if (open)
			json_write_end_array(w);
	}
	json_write_end_object(w);
}

static void
taskresult_write_error(const struct taskresult *t, struct json_writer *w)
{
	if (t->code == ERR_NONE) {
		json_write_null(w);
		return;
	}
	json_write_begin_object(w);
	json_put_str(w, "code", err_name(t->code));
	json_put_str(w, "message", t->message);
	json_put_bool(w, "retryable", t->retryable);
	json_put_str(w, "step", t->failed_step);
	json_write_end_object(w);
}

static void
put_document(struct json_writer *w, const char *key, const void *json,
    size_t len, const char *absent)
{
	if (json != NULL)
		json_put_raw(w, key, json, len);
	else
		json_put_raw(w, key, absent, 2);
}

void
taskresult_write(const struct taskresult *t, struct json_writer *w)
{
	const struct run_record *rec = t->rec;
	bool facts = rec->facts_snapshot_id[0] != '\0';

	json_write_begin_object(w);
	json_put_str(w, "version", "task_result_v0");
	json_put_bool(w, "ok",
	    rec->status == RUN_SUCCEEDED || rec->status == RUN_PARTIAL_SUCCESS);
	json_put_str(w, "trace_id", rec->trace_id);
	json_put_str(
	    w, "facts_snapshot_id", facts ? rec->facts_snapshot_id : NULL);
	json_put_str(w, "facts_snapshot_source", facts ? "input_json" : NULL);
	json_put_str(w, "task_type", rec->template_id);
	put_document(w, "result", t->result, t->result_len, "{}");
	json_write_key(w, "artifacts");
	taskresult_write_artifacts(t, w);
	put_document(w, "steps", t->steps, t->steps_len, "[]");
	put_document(
	    w, "trace_lines", t->trace_lines, t->trace_lines_len, "[]");
	json_write_key(w, "error");
	taskresult_write_error(t, w);
	json_write_end_object(w);
}
