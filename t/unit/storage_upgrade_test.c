/*
 * Stores of every earlier schema, as storage_old.h writes them, opened as they
 * are today: what was there is there, what came later is there, too, and a
 * check finds nothing.
 */
#include "storage/artifact.h"
#include "storage/audit.h"
#include "storage/check.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/session.h"
#include "t/unit/storage_old.h"

/* What is answered today. */

static void
test_run(struct store_txn *txn, int schema)
{
	struct run_filter f = { .by_uid = true, .uid = 1000 };
	struct run_record r;
	const uint8_t *p;
	uint64_t total = 0;
	size_t len = 0;

	is_int(run_get(txn, &old.run, &r), STORE_OK, "its run is there");
	is_int(r.status, RUN_SUCCEEDED, "... its status");
	is_str(r.template_id, old_template, "... its template");
	is_int(r.ended_ms, old.ended, "... its end");
	is_int(r.trust, schema == 1 ? TRUST_LOCAL : TRUST_REMOTE,
	    "... its level of trust");
	is_int(r.heard, schema < 3 ? 0 : OLD_HEARD,
	    "... what it heard of its worker");
	ok(!r.acted, "... it is not known to have changed anything");
	is_int(run_total(txn, &f, &total), STORE_OK, "a total");
	is_int(total, 1, "... counts it");
	is_int(run_doc_get(txn, &old.run, RUN_DOC_INPUTS, &p, &len), STORE_OK,
	    "its inputs");
	is_int(len, 7, "... as they were");
}

static void
test_others(struct store_txn *txn)
{
	struct session_record session;
	struct artifact_row row;
	struct idem_row key;
	const uint8_t *p;
	size_t len = 0;
	uint64_t seq = 0;

	is_int(idem_get(txn, old.identity, old.ended, &key), STORE_OK,
	    "its key is there");
	ok(memcmp(&key.run, &old.run, ULID_BYTES) == 0, "... and leads to it");
	is_int(artifact_get(txn, &old.artifact, &row), STORE_OK, "an artifact");
	is_int(artifact_bytes(txn, &old.artifact, &p, &len), STORE_OK,
	    "... with its bytes");
	ok(len == strlen(OLD_TEXT) && memcmp(p, OLD_TEXT, len) == 0,
	    "... unchanged");
	is_int(event_next_seq(txn, &old.run, &seq), STORE_OK, "its events");
	is_int(seq, 2, "... go on");
	is_int(session_get(txn, &old.kept, &session), STORE_OK, "a session");
}

static void
test_state(struct store *s)
{
	struct buf b;

	buf_init(&b, STATE_FILE_BYTES);
	is_int(session_state_read(s, &old.kept, &b), STORE_OK,
	    "the state of its browser");
	ok(b.len == strlen(OLD_STATE) && memcmp(b.data, OLD_STATE, b.len) == 0,
	    "... unchanged");
	buf_clear(&b);
}

static void
on_fault(void *arg, const struct check_fault *f)
{
	(void)arg;
	printf("# %s in %s %s: %s\n", fault_name(f->fault), f->table, f->key,
	    f->detail);
}

static void
on_progress(void *arg, const char *what, uint64_t done, uint64_t total)
{
	(void)arg;
	(void)what;
	(void)done;
	(void)total;
}

static void
test_sound(struct store *s)
{
	const struct check_watch watch = { on_fault, on_progress, NULL };
	struct check_totals t;

	is_int(store_check(s, false, &watch, &t), STORE_OK, "it is checked");
	is_int(
	    t.faults[FAULT_LOST] + t.faults[FAULT_WRONG] + t.faults[FAULT_LEFT],
	    0, "and sound");
}

static int
append_audit(struct store_txn *txn, void *arg)
{
	struct audit_entry e = { .time_ms = FX_NOW,
		.actor = AUDIT_SERVICE,
		.action = AUDIT_SERVICE_START };

	(void)arg;
	return audit_append(txn, &e);
}

static int
renew(struct store_txn *txn, void *arg)
{
	struct run_record r;
	int rc = run_get(txn, &old.run, &r);

	(void)arg;
	r.updated_ms++;
	return rc == STORE_OK ? run_update(txn, &r) : rc;
}

static void
test_from(int schema)
{
	struct store_options reader = { .read_only = true };
	struct store_error e;
	struct store_txn *txn;
	struct audit_state a;
	int64_t now = 0;
	struct store *s = NULL;

	printf("# from schema %d\n", schema);
	old_build(schema);
	is_int(store_open(fx_dir, &reader, &s, &e), STORE_OLDER,
	    "a reader does not take it");
	for (int round = 0; round < 2; round++) {
		s = fx_open();
		is_int(store_floor_ms(s),
		    round == 0 ? old.ended : old.ended + 9,
		    "the service opens it");
		txn = fx_read(s);
		is_int(meta_get(txn, "schema", &now), STORE_OK, "its schema");
		is_int(now, SCHEMA_VERSION, "... is today's");
		test_run(txn, schema);
		test_others(txn);
		is_int(audit_state(txn, &a), STORE_OK, "an audit log");
		is_int(a.rows, (schema == 1 ? 0 : 1) + round, "... of its own");
		store_read_end(s);
		test_state(s);
		test_sound(s);
		is_int(fx_write_at(s, append_audit, NULL, old.ended + 9),
		    STORE_OK, "it goes on");
		is_int(fx_write_at(s, renew, NULL, old.ended + 9), STORE_OK,
		    "and a record that changes is today's");
		test_sound(s);
		store_free(&s);
	}
}

static int
put_schema(struct store_txn *txn, void *arg)
{
	return meta_put(txn, "schema", *(int *)arg);
}

/* An upgrade that ended behind the files, before its commit: it is done anew. */
static void
test_twice(void)
{
	int schema = 3;
	struct store *s;

	old_build(schema);
	s = fx_open();
	is_int(fx_write(s, put_schema, &schema), STORE_OK,
	    "with its files upgraded");
	store_free(&s);
	s = fx_open();
	test_state(s);
	test_sound(s);
	store_free(&s);
}

int
main(void)
{
	for (int schema = 1; schema < SCHEMA_VERSION; schema++)
		test_from(schema);
	test_twice();
	return done_testing();
}
