/*
 * The end of a run, as its worker tells it to supervisord. It is stored before
 * the worker may go, with the result, which is nowhere else: from then on the
 * run can be settled by any supervisord.
 */
#include <string.h>

#include "common/crashpoint.h"
#include "common/log.h"
#include "json/tape.h"
#include "json/writer.h"
#include "storage/store.h"
#include "supervisord/change.h"
#include "supervisord/intake_int.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker.h"

#define END_BYTES 8192

static void
write_end(const struct run_end *end, struct json_writer *w)
{
	json_write_begin_object(w);
	json_put_bool(w, "ok", end->ok);
	json_put_str(w, "code", err_name(end->code));
	json_put_str(w, "message", end->message);
	json_put_str(w, "failedStep", end->failed_step);
	json_put_str(w, "cause", end->cause);
	json_write_end_object(w);
}

static bool
read_end(const void *json, size_t len, struct run_end *ret)
{
	char code[STEP_CODE_CHARS + 1];
	struct run_end end = { .given = true };
	struct json_doc *doc;
	struct json_val root;
	bool good;

	if (!json_parse(json, len, NULL, 0, &doc, NULL))
		return false;
	root = json_root(doc);
	good = json_get_bool(json_obj_get(root, "ok"), &end.ok) &&
	    json_str_copy(json_obj_get(root, "code"), code, sizeof(code)) &&
	    json_str_copy(json_obj_get(root, "message"), end.message,
		sizeof(end.message)) &&
	    json_str_copy(json_obj_get(root, "failedStep"), end.failed_step,
		sizeof(end.failed_step)) &&
	    json_str_copy(
		json_obj_get(root, "cause"), end.cause, sizeof(end.cause));
	json_doc_free(&doc);
	if (!good)
		return false;
	end.code = err_by_name(code);
	*ret = end;
	return true;
}

static void
take_end(const struct ipc_params *p, struct run_end *end)
{
	const char *text;

	end->given = true;
	end->ok = ipc_bool(p, F_SUCCESS, false);
	if ((text = ipc_str(p, F_ERROR_CODE)) != NULL) {
		end->code = err_by_name(text);
		if (end->code == ERR_NONE)
			strlcpy(end->cause, text, sizeof(end->cause));
	}
	if ((text = ipc_str(p, F_MESSAGE)) != NULL)
		strlcpy(end->message, text, sizeof(end->message));
	if ((text = ipc_str(p, F_FAILED_STEP)) != NULL)
		strlcpy(end->failed_step, text, sizeof(end->failed_step));
	if ((text = ipc_str(p, F_CAUSE)) != NULL)
		strlcpy(end->cause, text, sizeof(end->cause));
}

/*
 * Those of now, when the files that it was about are written or not: whoever
 * settles the run may be another supervisord.
 */
static int
put_warnings(struct store_txn *txn, struct change *c)
{
	const struct task *t = tasks_find(c->sup->tasks, &c->rec.id);
	struct json_writer w;
	struct buf b;
	int err;

	if (t == NULL || t->warnings.count == 0)
		return STORE_OK;
	buf_init(&b, STORE_DOC_BYTES);
	json_writer_init(&w, &b);
	lines_write(&t->warnings, &w);
	err = b.failed
	    ? STORE_NO_MEMORY
	    : run_doc_put(txn, &c->rec.id, RUN_DOC_WARNINGS, b.data, b.len);
	buf_clear(&b);
	return err;
}

/* Its terminal state is written anyway, when there is room again. */
static bool
last_word_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (err != STORE_OK && err != STORE_CLOSED && t != NULL)
		log_err("%s: its worker's last word was not stored: %s",
		    t->name, store_strerror(err));
	CRASH_POINT(run_end_stored);
	if (t != NULL && t->worker != NULL)
		worker_release(t->worker);
	return false;
}

const struct run_end *
intake_end(const struct intake *in)
{
	static const struct run_end none;

	return in == NULL ? &none : &in->end;
}

void
intake_run_end(struct intake *in, const struct ipc_params *p)
{
	struct task *t = in->task;
	struct json_writer w;
	struct change *c;
	struct buf b;

	take_end(p, &in->end);
	CRASH_POINT(run_end_heard);
	task_trace(t, "worker: run ended, %s", in->end.ok ? "ok" : "not ok");
	/* The next start decides on a run that was told to stop for ours. */
	if (t->abandoned && !in->end.ok && t->rec.intent == INTENT_NONE) {
		store_hurry(t->sup->store);
		worker_release(t->worker);
		return;
	}
	if ((c = intake_change(in)) == NULL)
		return;
	buf_init(&b, END_BYTES);
	json_writer_init(&w, &b);
	write_end(&in->end, &w);
	change_doc(c, RUN_DOC_END, &b);
	if (in->result.len > 0 && !in->result.failed) {
		buf_init(&b, in->result.len);
		buf_add(&b, in->result.data, in->result.len);
		change_doc(c, RUN_DOC_OUTPUT, &b);
	}
	/* What has only begun will never be more. */
	c->ack = in->number;
	c->guard = put_warnings;
	change_commit(c, last_word_written, NULL);
}

bool
intake_end_is_stored(struct store_txn *txn, const struct ulid *run)
{
	const uint8_t *bytes;
	size_t len;

	return run_doc_get(txn, run, RUN_DOC_END, &bytes, &len) == STORE_OK;
}

bool
intake_load_end(struct intake *in)
{
	struct task *t = in->task;
	struct store_txn *txn;
	const uint8_t *bytes;
	size_t len;
	bool good;

	if (store_read_begin(t->sup->store, &txn) != STORE_OK)
		return false;
	good = run_doc_get(txn, &t->rec.id, RUN_DOC_END, &bytes, &len) ==
		STORE_OK &&
	    read_end(bytes, len, &in->end);
	if (good &&
	    run_doc_get(txn, &t->rec.id, RUN_DOC_OUTPUT, &bytes, &len) ==
		STORE_OK)
		buf_add(&in->result, bytes, len);
	store_read_end(t->sup->store);
	return good;
}
