/*
 * storage_rest: a store with something of every kind in it, for tests of what
 * is checked, copied and damaged; and what of it is answered.
 */
#ifndef T_UNIT_STORAGE_REST_H
#define T_UNIT_STORAGE_REST_H

#include <nettle/sha2.h>

#include "storage/artifact.h"
#include "storage/audit.h"
#include "storage/check.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/session.h"
#include "storage/spool.h"
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

#define REST_RUNS 24
#define REST_BIG  20000 /* bytes of an artifact in a file */

struct rest_run {
	struct run_record rec;
	uint8_t identity[STORE_IDENTITY_BYTES];
	char doc[200];
	struct ulid small, big;
};

static struct rest {
	struct rest_run runs[REST_RUNS]; /* the last one is running */
	struct session_record session;
	struct spool *spool;
	uint8_t bytes[REST_BIG];
} rest;

static inline int
rest_put_events(struct store_txn *txn, const struct rest_run *r)
{
	struct event_row e = { .kind = EVENT_RUN_CREATED,
		.stamp_ms = FX_NOW,
		.doc = (const uint8_t *)r->doc,
		.doc_len = strlen(r->doc) };
	uint64_t seq;
	int rc = STORE_OK;

	for (int i = 0; i < 4 && rc == STORE_OK; i++)
		rc = event_append(txn, &r->rec.id, &e, &seq);
	return rc;
}

static inline int
rest_put_small(struct store_txn *txn, const struct rest_run *r)
{
	struct artifact_row row = { .id = r->small,
		.run = r->rec.id,
		.uid = r->rec.uid,
		.state = ARTIFACT_IN_ROW,
		.mime = "text/plain",
		.size = strlen(r->doc),
		.created_ms = FX_NOW };
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, row.size, (const uint8_t *)r->doc);
	sha256_digest(&sha, sizeof(row.sha256), row.sha256);
	return artifact_insert(txn, &row, r->doc);
}

static inline int
rest_put_run(struct store_txn *txn, void *arg)
{
	struct rest_run *r = arg;
	struct idem_row key = {
		.uid = r->rec.uid, .run = r->rec.id, .with_run = true
	};
	struct audit_entry a = { .time_ms = FX_NOW,
		.actor = r->rec.uid,
		.action = AUDIT_RUN_SUBMIT,
		.run = r->rec.id };
	int rc;

	if ((rc = idem_reserve(txn, r->identity, FX_NOW, &key)) != STORE_OK ||
	    (rc = run_insert(txn, &r->rec)) != STORE_OK ||
	    (rc = run_doc_put(txn, &r->rec.id, RUN_DOC_INPUTS, r->doc,
		 strlen(r->doc))) != STORE_OK ||
	    (rc = rest_put_events(txn, r)) != STORE_OK ||
	    (rc = rest_put_small(txn, r)) != STORE_OK)
		return rc;
	return audit_append(txn, &a);
}

struct rest_file {
	struct artifact_row row;
	const void *bytes;
};

static inline int
rest_put_file(struct store_txn *txn, void *arg)
{
	struct rest_file *f = arg;

	return artifact_insert(txn, &f->row, f->bytes);
}

/* An artifact in a file. */
static inline void
rest_make_file(struct store *s, struct rest_run *r)
{
	struct rest_file f = { .row = { .run = r->rec.id,
				   .uid = r->rec.uid,
				   .mime = "text/plain",
				   .created_ms = FX_NOW } };
	struct artifact_writer *w;

	rest.bytes[0]++;
	if (artifact_writer_new(s, &r->big, REST_BIG, &w) != STORE_OK ||
	    artifact_writer_append(w, rest.bytes, REST_BIG) != STORE_OK ||
	    artifact_writer_finish(w, &f.row, &f.bytes) != STORE_OK)
		errx(1, "an artifact");
	if (fx_write(s, rest_put_file, &f) != STORE_OK)
		errx(1, "a file");
	artifact_writer_free(&w);
}

static inline int
rest_end_run(struct store_txn *txn, void *arg)
{
	struct rest_run *r = arg;
	int rc = run_update(txn, &r->rec);

	return rc != STORE_OK
	    ? rc
	    : artifact_set_expiry(txn, &r->rec.id, r->rec.expires_ms);
}

static inline int
rest_put_session(struct store_txn *txn, void *arg)
{
	(void)arg;
	return session_insert(txn, &rest.session);
}

static inline int
rest_put_journal(struct store_txn *txn, void *arg)
{
	struct journal_row *row = arg;

	return journal_insert(txn, &rest.runs[REST_RUNS - 1].rec.id, row);
}

/* The run that goes on: an item with bytes in its spool. */
static inline void
rest_make_spool(struct store *s)
{
	struct run_record *rec = &rest.runs[REST_RUNS - 1].rec;
	struct journal_row row = { .ok = true,
		.record = (const uint8_t *)"{}",
		.record_len = 2,
		.nextents = 1 };

	if (spool_open(s, &rec->id, 0, 1 << 20, &rest.spool) != STORE_OK ||
	    spool_append(rest.spool, rest.bytes, 5000, &row.extents[0]) !=
		STORE_OK)
		errx(1, "a spool");
	if (fx_write(s, rest_put_journal, &row) != STORE_OK)
		errx(1, "an item");
}

static inline void
rest_make_session(struct store *s)
{
	struct session_state *st;

	rest.session = (struct session_record){ .id = ulid_new(FX_NOW),
		.uid = 1000,
		.last_used_ms = FX_NOW,
		.expires_ms = FX_NOW + 1000000,
		.template_id = "login",
		.last_run = rest.runs[0].rec.id };
	rest.session.created_ms = ulid_time_ms(&rest.session.id);
	if (fx_write(s, rest_put_session, NULL) != STORE_OK)
		errx(1, "a session");
	if (session_state_new(s, &rest.session.id, &st) != STORE_OK ||
	    session_state_append(st, "cookies", 7) != STORE_OK ||
	    session_state_commit(st) != STORE_OK)
		errx(1, "a state");
	session_state_free(&st);
}

static inline void
rest_make_run(struct store *s, int n)
{
	struct rest_run *r = &rest.runs[n];
	const char *parts[] = { "a", r->doc, NULL };

	r->rec = fx_run_at(FX_NOW + n);
	r->rec.uid = 1000 + (uint32_t)n % 3;
	snprintf(r->doc, sizeof(r->doc),
	    "{\"n\":%d,\"text\":\"the quick brown fox jumps\"}", n);
	idem_identity(IDEM_MCP, parts, r->identity);
	r->rec.has_identity = true;
	memcpy(r->rec.identity, r->identity, sizeof(r->identity));
	r->small = ulid_new(FX_NOW);
	r->big = ulid_new(FX_NOW);
	if (fx_write(s, rest_put_run, r) != STORE_OK)
		errx(1, "run");
	if (n % 4 == 0)
		rest_make_file(s, r);
	r->rec.status = RUN_RUNNING;
	if (fx_write(s, fx_update, &r->rec) != STORE_OK)
		errx(1, "... runs");
	if (n == REST_RUNS - 1)
		return;
	fx_end_run(&r->rec, RUN_SUCCEEDED, FX_NOW + 100, FX_NOW + 5000000);
	if (fx_write(s, rest_end_run, r) != STORE_OK)
		errx(1, "... ends");
}

/* Fills a new store of fx_open(). */
static inline void
rest_fill(struct store *s)
{
	for (int i = 0; i < REST_RUNS; i++)
		rest_make_run(s, i);
	rest_make_session(s);
	rest_make_spool(s);
	spool_free(&rest.spool);
}

static char rest_base[sizeof(fx_dir)];

static inline void
rest_remove(void)
{
	nftw(rest_base, fx_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/*
 * A directory of its own with a filled store that nobody has open. To fill one
 * syncs very often, so that it is done once and copied.
 */
static inline void
rest_new(void)
{
	char order[2 * sizeof(fx_dir) + 64];
	struct store *s;

	if (rest_base[0] == '\0') {
		fx_new();
		s = fx_open();
		rest_fill(s);
		store_free(&s);
		memcpy(rest_base, fx_dir, sizeof(rest_base));
		fx_dir[0] = '\0';
		atexit(rest_remove);
	}
	fx_new();
	snprintf(order, sizeof(order), "cp -a '%s/.' '%s'", rest_base, fx_dir);
	if (system(order) != 0)
		errx(1, "%s", order);
}

static inline struct store *
rest_open(const char *dir)
{
	struct store_options opt = { .read_only = true };
	struct store *s = NULL;

	return store_open(dir, &opt, &s, NULL) == STORE_OK ? s : NULL;
}

/* Checking: how often each fault was told. */

static unsigned rest_told[FAULT__MAX];
static char rest_last[512];

static inline void
rest_on_fault(void *arg, const struct check_fault *f)
{
	(void)arg;
	rest_told[f->fault]++;
	snprintf(rest_last, sizeof(rest_last), "%s in %s %s: %s",
	    fault_name(f->fault), f->table, f->key, f->detail);
}

static inline void
rest_on_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)what;
	/* Perhaps in a child, whose parent's directories are not its own. */
	if (done > total)
		_exit(1);
}

/* How many faults; -1: it could not be looked at. */
static inline int
rest_check(struct store *s, struct check_totals *ret)
{
	const struct check_watch watch = { rest_on_fault, rest_on_progress,
		NULL };
	int n = 0;

	memset(rest_told, 0, sizeof(rest_told));
	if (store_check(s, false, &watch, ret) != STORE_OK)
		return -1;
	for (int i = 0; i < FAULT__MAX; i++)
		n += (int)rest_told[i];
	return n;
}

#endif
