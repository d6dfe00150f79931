/*
 * Items of a run, as supervisord takes them in: bytes to the spool, then one
 * write with the journal row, the record and the progress event.
 */
#include <stdlib.h>
#include <string.h>

#include "json/tape.h"
#include "json/writer.h"
#include "model/limits.h"
#include "storage/spool.h"
#include "storage/store.h"
#include "supervisord/intake_int.h"
#include "supervisord/task.h"

#define ITEMS_OPEN_MAX   64 /* items whose bytes are still coming */
#define EVENT_TEXT_CHARS 256

void
intake_total(struct intake *in, const struct ipc_params *p)
{
	int64_t total = ipc_int(p, F_TOTAL, 0);
	struct change *c;

	if (total > LIMIT_ITEMS) {
		task_abort(
		    in->task, ERR_WORKER_PROTOCOL, "more items than allowed");
		return;
	}
	in->task->rec.total = (uint32_t)total;
	if ((c = intake_change(in)) != NULL)
		change_commit_later(c, intake_written, NULL);
}

void
intake_collect(struct intake *in, const struct ipc_params *p)
{
	struct collect_row row;
	enum artifact_kind kind;
	struct change *c;

	memset(&row, 0, sizeof(row));
	if (!artifact_kind_by_name(ipc_str(p, F_KIND), &kind)) {
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "there is no such kind of artifact");
		return;
	}
	if (!intake_label_is_valid(in, p))
		return;
	row.part = (uint8_t)ipc_int(p, F_PART, 0);
	strlcpy(row.kind, ipc_str(p, F_KIND), sizeof(row.kind));
	strlcpy(row.mime, ipc_str(p, F_MIME), sizeof(row.mime));
	strlcpy(row.name, ipc_str(p, F_NAME), sizeof(row.name));
	row.prefix = ipc_bin(p, F_PREFIX, &row.prefix_len);
	row.separator = ipc_bin(p, F_SEPARATOR, &row.separator_len);
	row.suffix = ipc_bin(p, F_SUFFIX, &row.suffix_len);
	if ((c = intake_change(in)) == NULL)
		return;
	if (!change_collect(c, &row)) {
		change_free(&c);
		task_abort(in->task, ERR_INTERNAL, "no memory");
		return;
	}
	change_commit_later(c, intake_written, NULL);
}

static struct item *
intake_item(struct intake *in, uint32_t index)
{
	struct item *item;

	TAILQ_FOREACH(item, &in->items, entry)
		if (item->row.index == index)
			return item;
	if (in->nitems == ITEMS_OPEN_MAX || index >= LIMIT_ITEMS)
		return NULL;
	item = calloc(1, sizeof(*item));
	if (item == NULL)
		return NULL;
	item->first = in->number;
	item->row.index = index;
	TAILQ_INSERT_TAIL(&in->items, item, entry);
	in->nitems++;
	return item;
}

static void
intake_forget_item(struct intake *in, struct item *item)
{
	TAILQ_REMOVE(&in->items, item, entry);
	in->nitems--;
	free(item);
}

/* Appends bytes of an item to the spool; the run ends when that fails. */
static bool
item_append(struct intake *in, struct item *item, const struct ipc_params *p)
{
	struct journal_extent *extent;
	enum store_err err;
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (len == 0)
		return true;
	if (item->row.nextents == JOURNAL_EXTENTS) {
		task_abort(in->task, ERR_TEMPLATE_LIMIT,
		    "an item is larger than allowed");
		return false;
	}
	extent = &item->row.extents[item->row.nextents];
	err = spool_append(in->spool, data, len, extent);
	if (err != STORE_OK) {
		intake_store_failed(in, err);
		return false;
	}
	extent->part = (uint8_t)ipc_int(p, F_PART, 0);
	item->row.nextents++;
	return true;
}

void
intake_item_data(struct intake *in, const struct ipc_params *p)
{
	struct item *item = intake_item(in, (uint32_t)ipc_int(p, F_INDEX, 0));

	if (item == NULL)
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "more items at once than allowed");
	else
		(void)item_append(in, item, p);
}

static void
put_short(struct json_writer *w, struct json_val record, const char *key)
{
	char text[EVENT_TEXT_CHARS + 1];
	struct json_val v = json_obj_get(record, key);
	char *full;
	size_t len;

	if (!json_is_string(v)) {
		if (json_is_bool(v) || json_is_number(v))
			json_put_val(w, key, v);
		return;
	}
	full = json_str_dup(v, &len);
	if (full == NULL)
		return;
	if (len > EVENT_TEXT_CHARS)
		len = EVENT_TEXT_CHARS;
	while (len > 0 && (full[len] & 0xc0) == 0x80)
		len--;
	memcpy(text, full, len);
	text[len] = '\0';
	free(full);
	json_put_str(w, key, text);
}

/* What a person wants to see of an item that is done. */
static void
put_item(struct json_writer *w, struct json_val record)
{
	json_write_key(w, "item");
	json_write_begin_object(w);
	put_short(w, record, "url");
	put_short(w, record, "title");
	put_short(w, record, "status");
	put_short(w, record, "pageType");
	put_short(w, record, "success");
	put_short(w, record, "elapsedMs");
	put_short(w, json_obj_get(record, "error"), "errorCode");
	put_short(w, json_obj_get(record, "error"), "message");
	json_write_end_object(w);
}

static bool
put_progress(struct intake *in, struct change *c, const struct item *item)
{
	struct task *task = in->task;
	struct json_doc *doc;
	struct json_writer w;
	struct buf b;

	if (!json_parse(item->row.record, item->row.record_len, NULL,
		JSON_BORROW, &doc, NULL))
		return false;
	if (!json_is_object(json_root(doc))) {
		json_doc_free(&doc);
		return false;
	}
	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_int64(&w, "done", task->rec.done);
	json_put_int64(&w, "total", task->rec.total);
	json_put_int64(&w, "failed", task->failed);
	json_put_int64(&w, "index", item->row.index);
	json_put_bool(&w, "ok", item->row.ok);
	put_item(&w, json_root(doc));
	json_write_end_object(&w);
	json_doc_free(&doc);
	return change_event(c, EVENT_PROGRESS, &b);
}

void
intake_item_end(struct intake *in, const struct ipc_params *p)
{
	struct task *task = in->task;
	struct item *item = intake_item(in, (uint32_t)ipc_int(p, F_INDEX, 0));
	struct change *c;
	size_t len;

	if (item == NULL) {
		task_abort(task, ERR_WORKER_PROTOCOL, "item out of range");
		return;
	}
	item->first = 0;
	if (intake_is_repeated(in)) {
		intake_forget_item(in, item);
		return;
	}
	if (ipc_has(p, F_DATA) && !item_append(in, item, p))
		return;
	memcpy(item->row.digest, ipc_bin(p, F_DIGEST, &len),
	    sizeof(item->row.digest));
	item->row.ok = ipc_bool(p, F_SUCCESS, false);
	item->row.record = ipc_bin(p, F_RECORD, &item->row.record_len);
	task->rec.done = (uint32_t)ipc_int(p, F_DONE, 0);
	if (task->rec.total < task->rec.done)
		task->rec.total = task->rec.done;
	if (!item->row.ok)
		task->failed++;
	c = intake_change(in);
	if (c != NULL && !put_progress(in, c, item)) {
		task_abort(task, ERR_WORKER_PROTOCOL,
		    "an item's record is no JSON object");
		change_free(&c);
	} else if (c != NULL && !change_journal(c, &item->row)) {
		task_abort(task, ERR_INTERNAL, "no memory");
		change_free(&c);
	}
	/*
	 * The worker does not wait for it: items share commits. Only the first
	 * of several is hurried, for whoever watches to see that it works.
	 */
	if (c != NULL && task->rec.done == 1 && task->rec.total > 1)
		change_commit(c, intake_written, NULL);
	else if (c != NULL)
		change_commit_later(c, intake_written, NULL);
	intake_forget_item(in, item);
}
