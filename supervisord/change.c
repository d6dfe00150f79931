/*
 * Writes of supervisord about runs. The function that runs in the transaction
 * can be run again, so it only reads the change and sets sequence numbers.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/panic.h"
#include "json/writer.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/change.h"
#include "supervisord/feed.h"
#include "supervisord/sup.h"
#include "supervisord/sweep.h"
#include "supervisord/task.h"
#include "supervisord/worker.h"

struct change *
change_new(
    struct sup *sup, const struct run_record *rec, enum change_record record)
{
	struct change *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->sup = sup;
	c->rec = *rec;
	c->record = record;
	return c;
}

static void
change_free_journal(struct journal_row **row)
{
	if (*row == NULL)
		return;
	free((void *)(uintptr_t)(*row)->record);
	free(*row);
	*row = NULL;
}

static void
change_free_collect(struct collect_row **row)
{
	if (*row == NULL)
		return;
	free((void *)(uintptr_t)(*row)->prefix);
	free((void *)(uintptr_t)(*row)->separator);
	free((void *)(uintptr_t)(*row)->suffix);
	free(*row);
	*row = NULL;
}

void
change_free(struct change **change)
{
	struct change *c = *change;

	if (c == NULL)
		return;
	for (size_t i = 0; i < c->nevents; i++)
		free(c->events[i].doc);
	for (size_t i = 0; i < RUN_DOC__MAX; i++)
		free(c->docs[i].bytes);
	for (size_t i = 0; i < c->nartifacts; i++)
		artifact_writer_free(&c->artifacts[i].writer);
	free(c->artifacts);
	change_free_journal(&c->journal);
	change_free_collect(&c->collect);
	free(c);
	*change = NULL;
}

bool
change_event(struct change *c, enum event_kind kind, struct buf *data)
{
	struct change_event *e;

	if (c->nevents == CHANGE_EVENTS || data->failed) {
		buf_clear(data);
		return false;
	}
	e = &c->events[c->nevents];
	e->doc = buf_take(data, &e->len);
	if (e->doc == NULL)
		return false;
	e->kind = kind;
	e->stamp_ms = clock_stamp_ms();
	c->nevents++;
	return true;
}

bool
change_doc(struct change *c, enum run_doc doc, struct buf *b)
{
	size_t len;
	uint8_t *bytes = b->failed ? NULL : buf_take(b, &len);

	if (bytes == NULL) {
		buf_clear(b);
		return false;
	}
	free(c->docs[doc].bytes);
	c->docs[doc].bytes = bytes;
	c->docs[doc].len = len;
	return true;
}

void
change_audit(struct change *c, int64_t actor, enum audit_action action,
    const char *fmt, ...)
{
	struct change_audit *a;
	va_list ap;

	ASSERT(c->naudits < CHANGE_AUDITS);
	a = &c->audits[c->naudits++];
	va_start(ap, fmt);
	vsnprintf(a->text, sizeof(a->text), fmt, ap);
	va_end(ap);
	a->entry = (struct audit_entry){ .time_ms = clock_stamp_ms(),
		.actor = actor,
		.action = action,
		.run = c->rec.id,
		.detail = a->text };
}

static bool
change_artifact_event(struct change *c, const struct artifact_row *row)
{
	char id[ULID_CHARS + 1], art[ULID_CHARS + 5] = "art_";
	struct json_writer w;
	struct buf b;

	ulid_format(&row->id, id);
	strlcat(art, id, sizeof(art));
	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "artifactId", art);
	json_put_str(&w, "kind", artifact_kind_name(row->kind));
	json_put_str(&w, "mimeType", row->mime);
	json_put_str(&w, "name", row->name);
	json_put_int64(&w, "totalSize", (int64_t)row->size);
	json_write_end_object(&w);
	return change_event(c, EVENT_ARTIFACT_CREATED, &b);
}

enum store_err
change_artifact(struct change *c, enum artifact_kind kind, const char *mime,
    const char *name, struct artifact_writer **writer)
{
	struct change_artifact a = { .row.kind = kind };
	enum store_err err;

	if (c->nartifacts == CHANGE_ARTIFACTS)
		return STORE_LIMIT;
	if (c->artifacts == NULL)
		c->artifacts = calloc(CHANGE_ARTIFACTS, sizeof(*c->artifacts));
	if (c->artifacts == NULL)
		return STORE_NO_MEMORY;
	err = artifact_writer_finish(*writer, &a.row, &a.bytes);
	if (err != STORE_OK)
		return err;
	a.row.run = c->rec.id;
	a.row.uid = c->rec.uid;
	a.row.created_ms = clock_stamp_ms();
	strlcpy(a.row.mime, mime, sizeof(a.row.mime));
	strlcpy(a.row.name, name, sizeof(a.row.name));
	if (!change_artifact_event(c, &a.row))
		return STORE_NO_MEMORY;
	a.writer = *writer;
	*writer = NULL;
	c->artifacts[c->nartifacts++] = a;
	return STORE_OK;
}

enum store_err
change_artifact_error(const struct change *c)
{
	ASSERT(c->nartifacts > 0);
	return artifact_writer_error(c->artifacts[c->nartifacts - 1].writer);
}

void
change_artifact_drop(struct change *c)
{
	ASSERT(c->nartifacts > 0 && c->nevents > 0);
	artifact_writer_free(&c->artifacts[--c->nartifacts].writer);
	free(c->events[--c->nevents].doc);
}

static const uint8_t *
bytes_dup(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len + 1);

	if (copy == NULL)
		return NULL;
	if (len > 0)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

bool
change_journal(struct change *c, const struct journal_row *row)
{
	struct journal_row *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return false;
	*copy = *row;
	copy->record = bytes_dup(row->record, row->record_len);
	if (copy->record == NULL) {
		free(copy);
		return false;
	}
	change_free_journal(&c->journal);
	c->journal = copy;
	return true;
}

bool
change_collect(struct change *c, const struct collect_row *row)
{
	struct collect_row *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return false;
	*copy = *row;
	copy->prefix = bytes_dup(row->prefix, row->prefix_len);
	copy->separator = bytes_dup(row->separator, row->separator_len);
	copy->suffix = bytes_dup(row->suffix, row->suffix_len);
	change_free_collect(&c->collect);
	if (copy->prefix == NULL || copy->separator == NULL ||
	    copy->suffix == NULL) {
		change_free_collect(&copy);
		return false;
	}
	c->collect = copy;
	return true;
}

/* In the transaction. */

/* What nobody asks for once the run is terminal. */
static void
change_drop_end(struct store_txn *txn, const struct change *c)
{
	(void)run_doc_delete(txn, &c->rec.id, RUN_DOC_INPUTS);
	(void)run_doc_delete(txn, &c->rec.id, RUN_DOC_END);
	(void)run_doc_delete(txn, &c->rec.id, RUN_DOC_OUTPUT);
}

static int
change_write_record(struct store_txn *txn, struct change *c)
{
	int err = STORE_OK;

	if (c->record == CHANGE_UPDATE)
		err = run_update(txn, &c->rec);
	else if (c->record == CHANGE_INSERT)
		err = run_insert(txn, &c->rec);
	if (err == STORE_OK && c->record != CHANGE_KEEP &&
	    run_status_terminal(c->rec.status))
		change_drop_end(txn, c);
	for (int i = 0; err == STORE_OK && i < RUN_DOC__MAX; i++)
		if (c->docs[i].bytes != NULL)
			err = run_doc_put(txn, &c->rec.id, (enum run_doc)i,
			    c->docs[i].bytes, c->docs[i].len);
	return err;
}

static int
change_write_events(struct store_txn *txn, struct change *c)
{
	int err = STORE_OK;

	for (size_t i = 0; err == STORE_OK && i < c->nevents; i++) {
		struct change_event *e = &c->events[i];
		struct event_row row = { .kind = e->kind,
			.stamp_ms = e->stamp_ms,
			.doc = e->doc,
			.doc_len = e->len };

		err = event_append(txn, &c->rec.id, &row, &e->seq);
	}
	return err;
}

static int
change_write_artifacts(struct store_txn *txn, struct change *c)
{
	int err = STORE_OK;

	for (size_t i = 0; err == STORE_OK && i < c->nartifacts; i++)
		err = artifact_insert(
		    txn, &c->artifacts[i].row, c->artifacts[i].bytes);
	if (err == STORE_OK && c->artifacts_expire_ms != 0)
		err = artifact_set_expiry(
		    txn, &c->rec.id, c->artifacts_expire_ms);
	return err;
}

static int
change_write_session(struct store_txn *txn, const struct change *c)
{
	const struct run_record *run = &c->rec;
	struct session_record rec = { .id = run->session,
		.uid = run->uid,
		.created_ms = ulid_time_ms(&run->session),
		.last_used_ms = run->ended_ms,
		.expires_ms = c->session_expires_ms,
		.last_run = run->id,
		.trust = run->trust };

	if (c->session == CHANGE_SESSION_BACK)
		return session_give_back(txn, &run->session, &run->id,
		    run->ended_ms, c->session_expires_ms);
	if (c->session != CHANGE_SESSION_KEPT)
		return STORE_OK;
	strlcpy(rec.template_id, run->template_id, sizeof(rec.template_id));
	strlcpy(rec.owner, run->owner, sizeof(rec.owner));
	rec.shared = run->share_session;
	return session_insert(txn, &rec);
}

static int
change_write_audits(struct store_txn *txn, const struct change *c)
{
	int err = STORE_OK;

	for (size_t i = 0; err == STORE_OK && i < c->naudits; i++)
		err = audit_append(txn, &c->audits[i].entry);
	return err;
}

static int
change_write(struct store_txn *txn, void *arg)
{
	struct change *c = arg;
	int err = c->guard == NULL ? STORE_OK : c->guard(txn, c);

	if (err == STORE_OK && c->journal != NULL)
		err = journal_insert(txn, &c->rec.id, c->journal);
	if (err == STORE_OK)
		err = change_write_record(txn, c);
	if (err == STORE_OK)
		err = change_write_session(txn, c);
	if (err == STORE_OK && c->collect != NULL)
		err = collect_put(txn, &c->rec.id, c->collect);
	if (err == STORE_OK)
		err = change_write_artifacts(txn, c);
	if (err == STORE_OK)
		err = change_write_events(txn, c);
	if (err == STORE_OK)
		err = change_write_audits(txn, c);
	return err;
}

static void
change_acknowledge(const struct change *c)
{
	struct task *t = tasks_find(c->sup->tasks, &c->rec.id);

	if (t != NULL && t->worker != NULL)
		worker_ack(t->worker, c->ack);
}

static void
change_written(void *arg, int err)
{
	struct change *c = arg;

	/* Nobody can wait for events of a run that is new. */
	if (err == STORE_OK && c->record != CHANGE_INSERT)
		feed_push(c->sup, c);
	if (err == STORE_OK && c->ack > 0)
		change_acknowledge(c);
	CRASH_POINT(events_pushed);
	if (err == STORE_OK && c->nartifacts > 0)
		sweep_arm(c->sup->sweep);
	if (c->done == NULL || !c->done(c->sup, c, err))
		change_free(&c);
}

void
change_commit(struct change *c, change_done_fn *done, void *arg)
{
	c->done = done;
	c->arg = arg;
	store_write(c->sup->store, change_write, c, change_written, c);
}

void
change_commit_soon(struct change *c, change_done_fn *done, void *arg)
{
	c->done = done;
	c->arg = arg;
	store_write_soon(c->sup->store, change_write, c, change_written, c);
}

void
change_commit_later(struct change *c, change_done_fn *done, void *arg)
{
	c->done = done;
	c->arg = arg;
	store_write_later(c->sup->store, change_write, c, change_written, c);
}
