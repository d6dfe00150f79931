/*
 * Putting a run's results together, in supervisord. Works from the store and
 * the spool alone, so that it does the same for a run that was found running
 * after a crash. An artifact that cannot be stored makes a success a partial
 * one, with a warning; it never costs the terminal state.
 */
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
#include "supervisord/change.h"
#include "supervisord/envelope.h"
#include "supervisord/intake.h"
#include "supervisord/registry.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/verdict.h"

#define SLICE_BYTES        (1u << 20)
#define SLICE_ITEMS        64
#define RETRY_MS           1000
#define ARTIFACT_BYTES_MAX (UINT64_C(2) << 30)

enum assembly_phase {
	ASM_SETTLE,   /* queue a write behind all that are to be stored */
	ASM_ITEMS,    /* count and copy the items' records */
	ASM_PART,     /* open the artifact of the next part */
	ASM_COPY,     /* copy its items, a slice at a time */
	ASM_KEPT,     /* see whether it is on the disk */
	ASM_ENVELOPE, /* open the TaskResult */
	ASM_WRITE,    /* write it, a slice at a time */
	ASM_WRITTEN,  /* see whether it is on the disk */
	ASM_COMMIT,
	ASM_WAIT, /* for the commit */
	ASM__MAX
};

struct assembly {
	struct task *task;
	enum assembly_phase phase;
	enum assembly_phase settled; /* the phase after ASM_SETTLE */
	struct event *next;
	struct items items;
	struct outcome outcome;
	unsigned part;
	uint32_t index;
	struct collect_row collect; /* texts are copies */
	struct buf suffix, separator;
	bool first;
	struct spool *spool;
	struct artifact_writer *writer;
	struct ulid envelope_id;
	struct buf envelope;
	size_t written;
	bool envelope_stored;  /* as far as it depends on this change */
	struct change *change; /* collects the artifacts */
};

static void
assembly_arm(struct assembly *a, int64_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	evtimer_add(a->next, &tv);
}

/* A run has succeeded only when all that it made is stored. */
static void
assembly_lose(struct assembly *a, const char *what, const char *why)
{
	log_warn("%s: %s: %s", a->task->name, what, why);
	lines_addf(&a->task->warnings, "%s could not be stored: %s", what, why);
	if (a->outcome.status == RUN_SUCCEEDED) {
		a->outcome.status = RUN_PARTIAL_SUCCESS;
		a->task->rec.status = RUN_PARTIAL_SUCCESS;
	}
}

/* All that was queued before is stored, or is known to have failed. */
static void
assembly_settle(struct assembly *a, enum assembly_phase next)
{
	a->phase = ASM_SETTLE;
	a->settled = next;
	assembly_arm(a, 0);
}

static bool
assembly_settled(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (t == NULL || t->assembly == NULL || err == STORE_CLOSED)
		return false;
	t->assembly->phase = t->assembly->settled;
	assembly_arm(t->assembly, 0);
	return false;
}

static void
asm_settle(struct assembly *a)
{
	struct task *t = a->task;
	struct change *c = change_new(t->sup, &t->rec, CHANGE_KEEP);

	if (c == NULL) {
		assembly_arm(a, RETRY_MS);
		return;
	}
	a->phase = ASM_WAIT;
	change_commit(c, assembly_settled, NULL);
}

/* Items. */

static void
asm_items(struct assembly *a)
{
	struct task *t = a->task;
	struct journal_row row;
	struct store_txn *txn;
	size_t start = a->items.text.len;
	unsigned n = 0;

	if (store_read_begin(t->sup->store, &txn) != STORE_OK) {
		assembly_arm(a, RETRY_MS);
		return;
	}
	while (a->index < LIMIT_ITEMS && n++ < SLICE_ITEMS &&
	    a->items.text.len - start < SLICE_BYTES) {
		if (journal_get(txn, &t->rec.id, a->index, &row) == STORE_OK)
			items_add(
			    &a->items, row.record, row.record_len, row.ok);
		a->index++;
	}
	store_read_end(t->sup->store);
	if (a->index == LIMIT_ITEMS ||
	    (t->rec.total > 0 && a->index >= t->rec.total)) {
		verdict_reach(t, &a->items, &a->outcome);
		a->phase = ASM_PART;
	}
	assembly_arm(a, 0);
}

/* Artifacts made of items. */

static void
part_drop(struct assembly *a, const char *why)
{
	assembly_lose(a, a->collect.name, why);
	artifact_writer_free(&a->writer);
	a->part++;
	a->phase = ASM_PART;
}

static enum store_err
part_open(struct assembly *a, const struct collect_row *row)
{
	struct ulid id = ulid_new(clock_stamp_ms());
	enum store_err err;

	a->collect = *row;
	buf_reset(&a->separator);
	buf_reset(&a->suffix);
	buf_add(&a->separator, row->separator, row->separator_len);
	buf_add(&a->suffix, row->suffix, row->suffix_len);
	err = artifact_writer_new(
	    a->task->sup->store, &id, ARTIFACT_BYTES_MAX, &a->writer);
	if (err == STORE_OK)
		err = artifact_writer_append(
		    a->writer, row->prefix, row->prefix_len);
	return err;
}

static enum store_err
part_open_spool(struct assembly *a)
{
	struct task *t = a->task;
	struct store_txn *txn;
	uint64_t end = 0;
	enum store_err err;

	if (a->spool != NULL || intake_spool(t->intake) != NULL)
		return STORE_OK;
	err = store_read_begin(t->sup->store, &txn);
	if (err != STORE_OK)
		return err;
	journal_spool_end(txn, &t->rec.id, &end);
	store_read_end(t->sup->store);
	return spool_open(
	    t->sup->store, &t->rec.id, end, ARTIFACT_BYTES_MAX, &a->spool);
}

static void
asm_part(struct assembly *a)
{
	struct task *t = a->task;
	struct collect_row row;
	struct store_txn *txn;
	enum store_err err;

	assembly_arm(a, 0);
	if (a->part == LIMIT_ARTIFACT_PARTS ||
	    a->items.succeeded + a->items.failed == 0) {
		a->phase = ASM_ENVELOPE;
		return;
	}
	if (store_read_begin(t->sup->store, &txn) != STORE_OK) {
		assembly_arm(a, RETRY_MS);
		return;
	}
	err = collect_get(txn, &t->rec.id, (uint8_t)a->part, &row) == STORE_OK
	    ? part_open(a, &row)
	    : STORE_NOT_FOUND;
	store_read_end(t->sup->store);
	if (err == STORE_NOT_FOUND) {
		a->part++;
		return;
	}
	if (err == STORE_OK)
		err = part_open_spool(a);
	if (err != STORE_OK) {
		part_drop(a, store_strerror(err));
		return;
	}
	a->index = 0;
	a->first = true;
	a->phase = ASM_COPY;
}

static enum store_err
part_copy_item(struct assembly *a, const struct journal_row *row, size_t *bytes)
{
	struct spool *spool =
	    a->spool != NULL ? a->spool : intake_spool(a->task->intake);
	enum store_err err = STORE_OK;
	bool begun = false;

	for (unsigned i = 0; err == STORE_OK && i < row->nextents; i++) {
		if (row->extents[i].part != a->part)
			continue;
		if (!begun && !a->first)
			err = artifact_writer_append(
			    a->writer, a->separator.data, a->separator.len);
		begun = true;
		a->first = false;
		if (err == STORE_OK)
			err = spool_copy(spool, &row->extents[i], a->writer);
		*bytes += row->extents[i].len;
	}
	return err;
}

static void
part_finish(struct assembly *a)
{
	enum artifact_kind kind;
	enum store_err err;

	if (!artifact_kind_by_name(a->collect.kind, &kind)) {
		part_drop(a, "it is of no known kind");
		return;
	}
	err = artifact_writer_append(a->writer, a->suffix.data, a->suffix.len);
	if (err == STORE_OK)
		err = change_artifact(a->change, kind, a->collect.mime,
		    a->collect.name, &a->writer);
	if (err != STORE_OK) {
		part_drop(a, store_strerror(err));
		return;
	}
	assembly_settle(a, ASM_KEPT);
}

static void
asm_kept(struct assembly *a)
{
	enum store_err err = change_artifact_error(a->change);

	assembly_arm(a, 0);
	if (err != STORE_OK) {
		change_artifact_drop(a->change);
		part_drop(a, store_strerror(err));
		return;
	}
	a->part++;
	a->phase = ASM_PART;
}

static void
asm_copy(struct assembly *a)
{
	struct task *t = a->task;
	enum store_err err = STORE_OK;
	struct journal_row row;
	struct store_txn *txn;
	size_t bytes = 0;
	unsigned n = 0;
	int got;

	assembly_arm(a, 0);
	while (err == STORE_OK && a->index < LIMIT_ITEMS && n++ < SLICE_ITEMS &&
	    bytes < SLICE_BYTES) {
		if (store_read_begin(t->sup->store, &txn) != STORE_OK)
			return;
		got = journal_get(txn, &t->rec.id, a->index, &row);
		store_read_end(t->sup->store);
		a->index++;
		if (got == STORE_OK)
			err = part_copy_item(a, &row, &bytes);
	}
	if (err != STORE_OK)
		part_drop(a, store_strerror(err));
	else if (a->index == LIMIT_ITEMS ||
	    (t->rec.total > 0 && a->index >= t->rec.total))
		part_finish(a);
}

/* The TaskResult. */

static void
result_lost(struct assembly *a, enum store_err err)
{
	assembly_lose(a, "the TaskResult", store_strerror(err));
	artifact_writer_free(&a->writer);
	a->phase = ASM_COMMIT;
}

static void
asm_envelope(struct assembly *a)
{
	struct task *t = a->task;
	enum store_err err = STORE_NO_MEMORY;

	assembly_arm(a, 0);
	a->phase = ASM_WRITE;
	a->envelope_id = ulid_new(clock_stamp_ms());
	task_trace(t, "ended: %s", run_status_name(t->rec.status));
	if (envelope_build(t, &a->outcome, &a->items, a->change, &a->envelope))
		err = artifact_writer_new(t->sup->store, &a->envelope_id,
		    ARTIFACT_BYTES_MAX, &a->writer);
	if (err != STORE_OK)
		result_lost(a, err);
}

static void
asm_write(struct assembly *a)
{
	size_t n = a->envelope.len - a->written;
	enum store_err err;

	assembly_arm(a, 0);
	if (n > SLICE_BYTES)
		n = SLICE_BYTES;
	err =
	    artifact_writer_append(a->writer, a->envelope.data + a->written, n);
	a->written += n;
	if (err == STORE_OK && a->written < a->envelope.len)
		return;
	if (err == STORE_OK)
		err = change_artifact(a->change, ARTIFACT_TASK_RESULT,
		    "application/json", "task-result.json", &a->writer);
	if (err == STORE_OK)
		assembly_settle(a, ASM_WRITTEN);
	else
		result_lost(a, err);
}

static void
asm_written(struct assembly *a)
{
	enum store_err err = change_artifact_error(a->change);

	assembly_arm(a, 0);
	if (err != STORE_OK) {
		change_artifact_drop(a->change);
		result_lost(a, err);
		return;
	}
	a->envelope_stored = true;
	a->phase = ASM_COMMIT;
}

/* The terminal state; a full disk is waited for, it keeps some room for us. */
static bool
assembly_written(struct sup *sup, struct change *c, int err)
{
	struct task *t = tasks_find(sup->tasks, &c->rec.id);

	if (t == NULL || err == STORE_CLOSED)
		return false;
	if (err == STORE_OK) {
		task_over(&t);
		return false;
	}
	log_err("%s: its end was not stored: %s", t->name, store_strerror(err));
	t->assembly->change = c;
	t->assembly->phase = ASM_COMMIT;
	assembly_arm(t->assembly, RETRY_MS);
	return true;
}

static void
asm_commit(struct assembly *a)
{
	struct change *c = a->change;
	const struct ulid *envelope =
	    a->envelope_stored ? &a->envelope_id : NULL;

	if (c->docs[RUN_DOC_STEPS].bytes == NULL &&
	    !envelope_terminal(a->task, &a->outcome, &a->items, envelope, c)) {
		assembly_arm(a, RETRY_MS);
		return;
	}
	CRASH_POINT(end_ready);
	a->phase = ASM_WAIT;
	a->change = NULL;
	change_commit(c, assembly_written, NULL);
}

static void
assembly_on_next(evutil_socket_t fd, short what, void *arg)
{
	static void (*const phases[ASM__MAX])(struct assembly *) = {
		[ASM_SETTLE] = asm_settle,
		[ASM_ITEMS] = asm_items,
		[ASM_PART] = asm_part,
		[ASM_COPY] = asm_copy,
		[ASM_KEPT] = asm_kept,
		[ASM_ENVELOPE] = asm_envelope,
		[ASM_WRITE] = asm_write,
		[ASM_WRITTEN] = asm_written,
		[ASM_COMMIT] = asm_commit,
	};
	struct assembly *a = arg;

	if (phases[a->phase] != NULL)
		phases[a->phase](a);
}

struct assembly *
assembly_new(struct task *t)
{
	struct assembly *a = calloc(1, sizeof(*a));
	const struct template *template =
	    registry_find(t->sup->registry, t->rec.template_id);

	if (a == NULL)
		return NULL;
	a->task = t;
	items_init(&a->items);
	a->items.by_items = template != NULL && template->by_items;
	buf_init(&a->suffix, COLLECT_TEXT_BYTES);
	buf_init(&a->separator, COLLECT_TEXT_BYTES);
	buf_init(&a->envelope, ENVELOPE_BYTES_MAX);
	a->next = evtimer_new(t->sup->base, assembly_on_next, a);
	a->change = change_new(t->sup, &t->rec, CHANGE_UPDATE);
	if (a->next == NULL || a->change == NULL) {
		assembly_free(&a);
		return NULL;
	}
	/* The items that still wait for their commit are to be read. */
	assembly_settle(a, ASM_ITEMS);
	return a;
}

void
assembly_free(struct assembly **assembly)
{
	struct assembly *a = *assembly;

	if (a == NULL)
		return;
	if (a->next != NULL)
		event_free(a->next);
	items_clear(&a->items);
	buf_clear(&a->suffix);
	buf_clear(&a->separator);
	buf_clear(&a->envelope);
	spool_free(&a->spool);
	artifact_writer_free(&a->writer);
	change_free(&a->change);
	free(a);
	*assembly = NULL;
}
