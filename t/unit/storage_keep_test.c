/* Unit tests of storage/: idempotency keys, artifact rows, retention. */
#include "storage/artifact.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/sweep.h"
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

#define TOMB 5000

struct reserve {
	uint8_t identity[STORE_IDENTITY_BYTES];
	struct idem_row row;
	struct run_record run;
	int64_t now_ms;
	bool insert;
};

static int
reserve(struct store_txn *txn, void *arg)
{
	struct reserve *rs = arg;
	int rc;

	rc = idem_reserve(txn, rs->identity, rs->now_ms, &rs->row);
	if (rc != STORE_OK || !rs->insert)
		return rc;
	return run_insert(txn, &rs->run);
}

static int
get_key(struct store *s, const struct reserve *rs, int64_t now_ms,
    struct idem_row *ret)
{
	int rc = idem_get(fx_read(s), rs->identity, now_ms, ret);

	store_read_end(s);
	return rc;
}

static void
test_identity(void)
{
	const char *a[] = { "ab", "c", NULL }, *b[] = { "a", "bc", NULL };
	uint8_t ia[STORE_IDENTITY_BYTES], ib[STORE_IDENTITY_BYTES];

	idem_identity(IDEM_MCP, a, ia);
	idem_identity(IDEM_MCP, b, ib);
	ok(memcmp(ia, ib, sizeof(ia)) != 0, "parts do not run together");
	idem_identity(IDEM_GW, a, ib);
	ok(ia[0] == IDEM_MCP && ib[0] == IDEM_GW &&
		memcmp(ia + 1, ib + 1, 32) == 0,
	    "scopes are apart");
}

static void
test_window(void)
{
	struct reserve rs = { .now_ms = FX_NOW };
	struct idem_row got;
	struct store *s;
	int64_t end = FX_NOW + 1000;

	fx_new();
	s = fx_open();
	rs.identity[0] = IDEM_GW;
	rs.row = (struct idem_row){ .uid = 7,
		.expires_ms = end,
		.answer = (const uint8_t *)"first",
		.answer_len = 5 };
	rs.row.run = ulid_new(FX_NOW);
	rs.row.params[31] = 9;
	is_int(get_key(s, &rs, FX_NOW, &got), STORE_NOT_FOUND, "no key yet");
	is_int(fx_write(s, reserve, &rs), STORE_OK, "reserved");
	is_int(idem_get(fx_read(s), rs.identity, end - 1, &got), STORE_OK,
	    "live 1 ms before its end");
	ok(got.uid == 7 && got.params[31] == 9 && got.answer_len == 5 &&
		memcmp(got.answer, "first", 5) == 0 &&
		memcmp(&got.run, &rs.row.run, ULID_BYTES) == 0,
	    "with actor, digest, run and first answer");
	store_read_end(s);
	is_int(get_key(s, &rs, end, &got), STORE_NOT_FOUND, "gone at its end");
	is_int(get_key(s, &rs, end + 1, &got), STORE_NOT_FOUND, "and after");
	rs.now_ms = end - 1;
	is_int(fx_write(s, reserve, &rs), STORE_EXISTS, "taken before its end");
	rs.now_ms = end;
	rs.row.uid = 8;
	rs.row.expires_ms = end + 1000;
	is_int(fx_write(s, reserve, &rs), STORE_OK, "free at its end");
	is_int(get_key(s, &rs, end + 999, &got), STORE_OK, "a new window");
	is_int(got.uid, 8, "for a new actor");
	rs.row.expires_ms = 0;
	rs.now_ms = end + 5000;
	is_int(fx_write(s, reserve, &rs), STORE_INVALID, "no window at all");
	store_free(&s);
}

static void
reserve_for_run(struct reserve *rs, int64_t now_ms)
{
	memset(rs, 0, sizeof(*rs));
	rs->run = fx_run_at(now_ms);
	rs->run.has_identity = true;
	memcpy(rs->run.identity, rs->identity, STORE_IDENTITY_BYTES);
	rs->row.run = rs->run.id;
	rs->row.with_run = true;
	rs->insert = true;
	rs->now_ms = now_ms;
}

static int
set_answer(struct store_txn *txn, void *arg)
{
	struct reserve *rs = arg;

	return idem_set_answer(txn, rs->identity, FX_NOW, "done", 4);
}

static void
swept(void *arg, int err, const struct sweep_result *r)
{
	if (err == STORE_OK)
		*(struct sweep_result *)arg = *r;
}

static struct sweep_result
sweep(struct store *s, int64_t now_ms, unsigned max)
{
	struct sweep_result r = { .rows = 999999 };

	store_sweep(s, now_ms, TOMB, max, swept, NULL, &r);
	store_commit(s, FX_NOW);
	return r;
}

static unsigned
rows(struct store *s, enum store_table table)
{
	struct txn_walk w;
	struct key all;
	unsigned n = 0;

	key_init(&all);
	walk_up(&w, fx_read(s), table, &all, NULL);
	while (walk_next(&w))
		n++;
	walk_end(&w);
	store_read_end(s);
	return n;
}

static void
test_key_with_run(void)
{
	struct reserve a, b;
	struct run_record got_run;
	struct idem_row got;
	struct store *s;
	int64_t end = FX_NOW + 2000;

	fx_new();
	s = fx_open();
	reserve_for_run(&a, FX_NOW);
	is_int(fx_write(s, reserve, &a), STORE_OK, "reserved with its run");
	is_int(fx_write(s, set_answer, &a), STORE_OK, "answer frozen");
	is_int(fx_write(s, set_answer, &a), STORE_EXISTS, "once");
	is_int(get_key(s, &a, FX_NOW + 999999999, &got), STORE_OK,
	    "live as long as the run is");
	reserve_for_run(&b, FX_NOW);
	is_int(fx_write(s, reserve, &b), STORE_EXISTS, "not twice");
	is_int(fx_get(s, &b.run.id, &got_run), STORE_NOT_FOUND,
	    "no run without its key");
	fx_end_run(&a.run, RUN_CANCELED, FX_NOW, end);
	fx_write(s, fx_update, &a.run);
	is_int(get_key(s, &a, end - 1, &got), STORE_OK, "T-1: live");
	is_int(get_key(s, &a, end, &got), STORE_NOT_FOUND, "T: gone, unswept");
	is_int(get_key(s, &a, end + 1, &got), STORE_NOT_FOUND, "T+1: gone");
	reserve_for_run(&b, end);
	is_int(fx_write(s, reserve, &b), STORE_OK, "another run takes it");
	is_int(sweep(s, end, 100).runs, 1, "the old run is swept");
	is_int(get_key(s, &b, end, &got), STORE_OK, "its key is not");
	ok(memcmp(&got.run, &b.run.id, ULID_BYTES) == 0, "it is the new run's");
	fx_end_run(&b.run, RUN_CANCELED, end, end + 10);
	fx_write(s, fx_update, &b.run);
	is_int(sweep(s, end + 10, 100).runs, 1, "the new run is swept");
	is_int(rows(s, TABLE_IDEM), 0, "and its key with it");
	store_free(&s);
}

static int
add_artifact(struct store_txn *txn, void *arg)
{
	return artifact_insert(txn, arg, "0123456789");
}

static struct artifact_row
inline_row(const struct ulid *run)
{
	struct artifact_row a = { .run = *run,
		.kind = ARTIFACT_TASK_RESULT,
		.state = ARTIFACT_IN_ROW,
		.size = 10,
		.uid = 1000 };

	a.id = ulid_new(FX_NOW);
	strlcpy(a.mime, "application/json", sizeof(a.mime));
	return a;
}

struct expire {
	struct ulid run;
	int64_t at;
};

static int
expire_all(struct store_txn *txn, void *arg)
{
	struct expire *e = arg;

	return artifact_set_expiry(txn, &e->run, e->at);
}

static bool
count_artifact(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	++*(int *)arg;
	return true;
}

static int
state_at(struct store *s, const struct ulid *id, int64_t now_ms)
{
	struct artifact_row got;
	int rc = artifact_get_live(fx_read(s), id, now_ms, &got);

	store_read_end(s);
	return rc == STORE_OK ? (int)got.state : -rc;
}

static void
test_artifact_life(void)
{
	struct run_record r = fx_run();
	struct artifact_row a = inline_row(&r.id), b = inline_row(&r.id);
	struct expire e = { r.id, FX_NOW + 100 };
	struct sweep_result sr;
	const uint8_t *p;
	struct store *s;
	int64_t at = 0;
	size_t len;
	int n = 0;

	fx_new();
	s = fx_open();
	is_int(fx_write(s, add_artifact, &a), STORE_OK, "inline artifact");
	is_int(fx_write(s, add_artifact, &a), STORE_EXISTS, "once");
	fx_write(s, add_artifact, &b);
	ok(artifact_bytes(fx_read(s), &a.id, &p, &len) == STORE_OK &&
		len == 10 && memcmp(p, "0123456789", 10) == 0,
	    "its bytes");
	store_read_end(s);
	artifact_list(fx_read(s), &r.id, count_artifact, &n);
	store_read_end(s);
	is_int(n, 2, "both are the run's");
	is_int(store_next_expiry(fx_read(s), &at), STORE_NOT_FOUND,
	    "none expires yet");
	store_read_end(s);
	fx_write(s, expire_all, &e);
	store_next_expiry(fx_read(s), &at);
	store_read_end(s);
	is_int(at, FX_NOW + 100, "then they do");
	is_int(state_at(s, &a.id, FX_NOW + 99), ARTIFACT_IN_ROW, "T-1: there");
	is_int(state_at(s, &a.id, FX_NOW + 100), ARTIFACT_TOMBSTONE,
	    "T: expired before the sweep");
	sr = sweep(s, FX_NOW + 99, 10);
	is_int(sr.rows, 0, "a sweep before that takes nothing");
	sr = sweep(s, FX_NOW + 150, 10);
	ok(sr.artifacts == 2 && sr.rows == 2 && !sr.more, "both are swept");
	is_int(artifact_bytes(fx_read(s), &a.id, &p, &len), STORE_NOT_FOUND,
	    "the bytes are gone");
	store_read_end(s);
	is_int(state_at(s, &a.id, FX_NOW + 151), ARTIFACT_TOMBSTONE,
	    "a tombstone is left");
	fx_write(s, expire_all, &e);
	is_int(sweep(s, FX_NOW + 150 + TOMB - 1, 10).rows, 0,
	    "for as long as asked");
	is_int(sweep(s, FX_NOW + 150 + TOMB, 10).tombstones, 2, "then it goes");
	is_int(state_at(s, &a.id, FX_NOW), -STORE_NOT_FOUND, "unknown now");
	n = 0;
	artifact_list(fx_read(s), &r.id, count_artifact, &n);
	store_read_end(s);
	is_int(n, 0, "and not listed");
	store_free(&s);
}

static void
take_result(void *arg, int err, const struct sweep_result *r)
{
	*(struct sweep_result *)arg = *r;
}

static struct sweep_result
trim(struct store *s, uint64_t budget, unsigned max)
{
	struct sweep_result r = { 0 };

	if (store_trim(s, FX_NOW + 50, TOMB, budget, max, take_result, &r) ==
	    STORE_OK)
		store_commit(s, FX_NOW + 50);
	return r;
}

static int64_t
held(struct store *s)
{
	uint64_t n = 0;
	int rc = artifact_total(fx_read(s), &n);

	store_read_end(s);
	return rc == STORE_OK ? (int64_t)n : -1;
}

static int
forget_total(struct store_txn *txn, void *arg)
{
	return meta_put(txn, "artifact_bytes", *(int64_t *)arg);
}

#define TRIM_RUNS 8

/* Each has an artifact of 10 bytes; the last run has not ended. */
static void
trim_fill(struct store *s, struct artifact_row *a)
{
	for (int i = 0; i < TRIM_RUNS; i++) {
		struct run_record r = fx_run();
		struct expire e = { r.id, FX_NOW + 100 + i };

		a[i] = inline_row(&r.id);
		fx_write(s, add_artifact, &a[i]);
		if (i < TRIM_RUNS - 1)
			fx_write(s, expire_all, &e);
	}
}

static void
test_trim(void)
{
	struct artifact_row a[TRIM_RUNS];
	struct sweep_result r;
	int64_t wrong = 1000;
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(held(s), 0, "nothing is held");
	trim_fill(s, a);
	is_int(held(s), 10 * TRIM_RUNS, "what artifacts hold");
	ok(trim(s, 80, 100).rows == 0 && held(s) == 80,
	    "as much as may be: nothing goes");
	r = trim(s, 79, 100);
	ok(r.artifacts == 1 && !r.more && held(s) == 70, "a byte more: one");
	is_int(state_at(s, &a[0].id, FX_NOW + 51), ARTIFACT_TOMBSTONE,
	    "that which would be next");
	is_int(state_at(s, &a[1].id, FX_NOW + 51), ARTIFACT_IN_ROW, "no other");
	r = trim(s, 35, 2);
	ok(r.artifacts == 2 && r.more && held(s) == 50, "in batches");
	r = trim(s, 35, 2);
	ok(r.artifacts == 2 && !r.more && held(s) == 30, "of which the last");
	is_int(sweep(s, FX_NOW + 101, 100).rows, 0,
	    "what expired early does not expire again in its time");
	while (trim(s, 0, 1).more)
		;
	is_int(held(s), 10, "what has no end yet stays");
	is_int(rows(s, TABLE_EXPIRY), TRIM_RUNS - 1, "each has one entry");
	is_int(sweep(s, FX_NOW + 50 + TOMB, 100).tombstones, TRIM_RUNS - 1,
	    "tombstones go in their time");
	fx_write(s, forget_total, &wrong);
	is_int(held(s), 1000, "a number that is wrong");
	while (trim(s, 10, 100).more)
		;
	is_int(held(s), 10, "is put right");
	store_free(&s);
}

static int
forget_owner(struct store_txn *txn, void *arg)
{
	return meta_put(txn, "artifact_bytes_7", *(int64_t *)arg);
}

static int64_t
held_by(struct store *s, uint32_t uid)
{
	uint64_t n = 0;
	int rc = artifact_total_of(fx_read(s), uid, &n);

	store_read_end(s);
	return rc == STORE_OK ? (int64_t)n : -1;
}

/* What one user holds does not cost another user anything. */
static void
test_trim_owners(void)
{
	struct artifact_row a[TRIM_RUNS];
	int64_t wrong = 1000;
	struct store *s;

	fx_new();
	s = fx_open();
	for (int i = 0; i < TRIM_RUNS; i++) {
		struct run_record r = fx_run();
		struct expire e = { r.id, FX_NOW + 100 + i };

		a[i] = inline_row(&r.id);
		a[i].uid = i < 3 ? 7 : 8;
		fx_write(s, add_artifact, &a[i]);
		fx_write(s, expire_all, &e);
	}
	ok(held_by(s, 7) == 30 && held_by(s, 8) == 50, "what each holds");
	while (trim(s, 60, 100).more)
		;
	ok(held_by(s, 7) == 30 && held_by(s, 8) == 30,
	    "who holds the most loses artifacts, though others are older");
	is_int(state_at(s, &a[3].id, FX_NOW + 51), ARTIFACT_TOMBSTONE,
	    "first that which would be next");
	is_int(state_at(s, &a[0].id, FX_NOW + 51), ARTIFACT_IN_ROW,
	    "not another user's");
	while (trim(s, 40, 100).more)
		;
	ok(held_by(s, 7) == 20 && held_by(s, 8) == 20,
	    "who hold as much lose as much");
	fx_write(s, forget_owner, &wrong);
	while (trim(s, 30, 100).more)
		;
	ok(held(s) == 30 && held_by(s, 7) + held_by(s, 8) == 30,
	    "a number that is wrong is put right");
	while (trim(s, 0, 100).more)
		;
	ok(held(s) == 0 && held_by(s, 7) == 0 && held_by(s, 8) == 0,
	    "all of it");
	store_free(&s);
}

static void
fill_for(struct store *s, struct artifact_row *row, uint32_t uid, bool ended)
{
	struct run_record r = fx_run();
	struct expire e = { r.id, FX_NOW + 100 };

	*row = inline_row(&r.id);
	row->uid = uid;
	fx_write(s, add_artifact, row);
	if (ended)
		fx_write(s, expire_all, &e);
}

/* Runs that go on may hold more than all may: others must not stop that. */
static void
test_trim_next_owner(void)
{
	struct artifact_row a[9];
	struct store *s;
	int calls = 0;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 9; i++)
		fill_for(s, &a[i], i < 4 ? 7 : i < 7 ? 8 : 9, i >= 4);
	ok(held_by(s, 7) == 40 && held_by(s, 8) == 30 && held_by(s, 9) == 20,
	    "who holds the most has only what may not go");
	while (trim(s, 70, 100).more && calls < 100)
		calls++;
	ok(held_by(s, 7) == 40 && held_by(s, 8) + held_by(s, 9) == 30,
	    "then the next ones lose artifacts");
	while (trim(s, 40, 1).more && calls < 100)
		calls++;
	ok(held(s) == 40 && held_by(s, 8) == 0 && held_by(s, 9) == 0,
	    "one after the other");
	while (trim(s, 10, 100).more && calls < 100)
		calls++;
	ok(held(s) == 40, "until nothing may go");
	ok(calls < 50, "which ends, after %d calls", calls);
	fill_for(s, &a[0], 8, true);
	while (trim(s, 40, 100).more && calls < 100)
		calls++;
	is_int(held(s), 40, "and begins anew");
	store_free(&s);
}

static int
put_stale(struct store_txn *txn, void *arg)
{
	int rc = meta_put(txn, "artifact_bytes_4711", 500);

	return rc == STORE_OK ? meta_put(txn, "artifact_bytes", 570) : rc;
}

/* Who has a number, and no artifacts. */
static void
test_trim_stale(void)
{
	struct artifact_row a[7];
	struct store *s;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 7; i++)
		fill_for(s, &a[i], i < 3 ? 7 : 8, true);
	fx_write(s, put_stale, NULL);
	is_int(held(s), 570, "a user who is gone seems to hold the most");
	while (trim(s, 60, 100).more)
		;
	is_int(held_by(s, 4711), 0, "and holds nothing when that is counted");
	ok(held(s) == 60 && held_by(s, 7) == 30 && held_by(s, 8) == 30,
	    "others lose what is too much, and no more");
	store_free(&s);
}

static int
insert_with_events(struct store_txn *txn, void *arg)
{
	struct event_row row = { .kind = EVENT_PROGRESS };
	struct run_record *r = arg;
	uint64_t seq;
	int rc = run_insert(txn, r);

	for (int i = 0; rc == STORE_OK && i < 30; i++)
		rc = event_append(txn, &r->id, &row, &seq);
	return rc;
}

static void
test_sweep_batches(void)
{
	struct run_filter all = { 0 };
	struct run_record r;
	struct sweep_result sr = { .more = true };
	struct store *s;
	unsigned runs = 0, batches = 0, largest = 0;
	uint64_t left = 9;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 20; i++) {
		r = fx_run();
		fx_write(s, insert_with_events, &r);
		if (i == 19)
			break;
		r.status = RUN_RUNNING;
		fx_write(s, fx_update, &r);
		fx_end_run(&r, RUN_SUCCEEDED, FX_NOW, FX_NOW + 10 + i);
		fx_write(s, fx_update, &r);
	}
	is_int(sweep(s, FX_NOW + 14, 1000).runs, 5, "only what is due");
	while (sr.more && batches < 100) {
		sr = sweep(s, FX_NOW + 1000, 50);
		runs += sr.runs;
		batches++;
		largest = sr.rows > largest ? sr.rows : largest;
	}
	ok(runs == 14 && largest <= 50, "14 runs, at most 50 rows at a time");
	is_int(batches, (14 * 32 + 49) / 50, "in as many batches as it takes");
	run_total(fx_read(s), &all, &left);
	store_read_end(s);
	is_int(left, 1, "the queued run is left");
	ok(rows(s, TABLE_EVENTS) == 30 && rows(s, TABLE_RUN_INDEX) == 16 &&
		rows(s, TABLE_RUN_TOTALS) == 16 && rows(s, TABLE_EXPIRY) == 0 &&
		rows(s, TABLE_EVENT_HEADS) == 1,
	    "with its events; nothing else is left in any table");
	store_free(&s);
}

int
main(void)
{
	test_identity();
	test_window();
	test_key_with_run();
	test_artifact_life();
	test_trim();
	test_trim_owners();
	test_trim_next_owner();
	test_trim_stale();
	test_sweep_batches();
	return done_testing();
}
