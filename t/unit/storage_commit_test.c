/* Unit tests of storage/: commits, refusals, growth, damage. */
#include <errno.h>
#include <sys/stat.h>

#include "storage/crc32c.h"
#include "storage/store_impl.h"
#include "storage/spool.h"
#include "t/unit/storage_fixture.h"

static void
test_crc(void)
{
	uint8_t zeros[32] = { 0 }, up[32];

	for (int i = 0; i < 32; i++)
		up[i] = (uint8_t)i;
	is_int(crc32c(0, "123456789", 9), 0xe3069283, "check value");
	is_int(crc32c(0, zeros, 32), 0x8a9136aa, "RFC 3720: zeros");
	is_int(crc32c(0, up, 32), 0x46dd794e, "RFC 3720: incrementing");
	is_int(crc32c(crc32c(0, up, 13), up + 13, 19), 0x46dd794e,
	    "goes on in the middle");
}

/* A store must be readable on a machine without the instruction. */
static void
test_crc_by_table(void)
{
	uint8_t bytes[300];
	int wrong = 0;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i + 7 * i);
	for (size_t at = 0; at < 9; at++)
		for (size_t len = 0; len < sizeof(bytes) - at; len++) {
			uint32_t crc = (uint32_t)(at * 0x9e3779b9u);

			wrong += crc32c(crc, bytes + at, len) !=
			    crc32c_by_table(crc, bytes + at, len);
		}
	is_int(wrong, 0, "the processor and the tables agree");
	is_int(crc32c_by_table(0, "123456789", 9), 0xe3069283,
	    "check value by table");
}

static void
test_group_commit(void)
{
	struct run_record runs[50];
	struct store *s;
	struct store_stats st;
	int results[50], bad = 0;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 50; i++) {
		runs[i] = fx_run();
		store_write(s, fx_insert, &runs[i], fx_done, &results[i]);
	}
	ok(store_pending(s), "queued writes are pending");
	is_int(store_commit(s, FX_NOW + 5), STORE_OK, "commit");
	for (int i = 0; i < 50; i++)
		bad += results[i] != STORE_OK;
	st = store_stats(s);
	is_int(bad, 0, "50 writes done");
	is_int(st.commits, 1, "by one commit");
	is_int(st.writes, 50, "with 50 functions");
	is_int(store_commit(s, FX_NOW + 9), STORE_OK, "nothing to commit");
	is_int(store_stats(s).commits, 1, "an empty turn commits nothing");
	store_free(&s);
	s = fx_open();
	is_int(store_floor_ms(s), FX_NOW + 5, "the last stamp is the floor");
	is_int(fx_get(s, &runs[49].id, &runs[0]), STORE_OK, "durable");
	store_free(&s);
}

static int pended, deferred;

static void
on_pending(void *arg)
{
	pended++;
}

static void
on_deferred(void *arg)
{
	deferred++;
}

static void
test_later(void)
{
	struct store_options opt = { .now_ms = FX_NOW,
		.on_pending = on_pending,
		.on_deferred = on_deferred };
	struct run_record runs[40];
	int results[40], bad = 0, i;
	struct store *s;

	fx_new();
	s = fx_open_with(&opt);
	for (i = 0; i < 40; i++)
		runs[i] = fx_run();
	store_write_later(s, fx_insert, &runs[0], fx_done, &results[0]);
	store_write_later(s, fx_insert, &runs[1], fx_done, &results[1]);
	ok(pended == 0 && deferred == 1, "what can wait waits, announced once");
	ok(store_pending(s), "and is pending");
	store_write(s, fx_insert, &runs[2], fx_done, &results[2]);
	ok(pended == 1, "until something cannot");
	store_hurry(s);
	ok(pended == 1, "which is announced once, too");
	is_int(store_commit(s, FX_NOW + 1), STORE_OK, "commit");
	is_int(store_stats(s).commits, 1, "one for all three");
	ok(results[0] == STORE_OK && results[2] == STORE_OK, "all were done");
	store_hurry(s);
	ok(pended == 1, "no hurry for nothing");
	store_write_later(s, fx_insert, &runs[3], fx_done, &results[3]);
	ok(deferred == 2, "after the commit waiting begins anew");
	store_hurry(s);
	ok(pended == 2, "and can be ended");
	store_commit(s, FX_NOW + 2);
	for (i = 4; i < 40; i++)
		store_write_later(s, fx_insert, &runs[i], fx_done, &results[i]);
	ok(pended == 3, "many do not wait");
	store_commit(s, FX_NOW + 3);
	for (i = 0; i < 40; i++)
		bad += results[i] != STORE_OK;
	is_int(bad, 0, "40 writes done");
	store_free(&s);
}

#define OWN_REFUSAL (STORE__MAX + 7)

static int calls;

static int
refuse_early(struct store_txn *txn, void *arg)
{
	calls++;
	return OWN_REFUSAL;
}

static int
refuse_late(struct store_txn *txn, void *arg)
{
	int rc = run_insert(txn, arg);

	calls++;
	return rc != STORE_OK ? rc : OWN_REFUSAL;
}

static void
test_refusals(void)
{
	struct run_record a = fx_run(), b = fx_run(), late = fx_run(), got;
	int ra = -1, rb = -1, re = -1, rl = -1, again = -1;
	struct store *s;

	fx_new();
	s = fx_open();
	calls = 0;
	store_write(s, fx_insert, &a, fx_done, &ra);
	store_write(s, refuse_early, NULL, fx_done, &re);
	store_write(s, refuse_late, &late, fx_done, &rl);
	store_write(s, fx_insert, &a, fx_done, &again);
	store_write(s, fx_insert, &b, fx_done, &rb);
	is_int(store_commit(s, FX_NOW), STORE_OK, "commit with refusals");
	ok(ra == STORE_OK && rb == STORE_OK, "the others are stored");
	is_int(re, OWN_REFUSAL, "own refusal comes back");
	is_int(rl, OWN_REFUSAL, "late refusal comes back");
	is_int(again, STORE_EXISTS, "an id is taken once");
	is_int(calls, 3, "the late one was taken out, not run again");
	is_int(store_stats(s).reruns, 1, "one turn run again");
	is_int(fx_get(s, &late.id, &got), STORE_NOT_FOUND,
	    "nothing of the late refusal is stored");
	is_int(fx_get(s, &b.id, &got), STORE_OK, "what came after it is");
	is_int(fx_write(s, refuse_early, NULL), OWN_REFUSAL, "alone");
	is_int(store_stats(s).commits, 1, "a turn of refusals commits nothing");
	store_free(&s);
}

struct chain {
	struct store *s;
	struct run_record r;
	int result;
	int pendings;
};

static void
chain_done(void *arg, int err)
{
	struct chain *c = arg;

	store_write(c->s, fx_insert, &c->r, fx_done, &c->result);
}

static void
chain_pending(void *arg)
{
	((struct chain *)arg)->pendings++;
}

static void
test_done_callbacks(void)
{
	struct chain c = { .result = -1 };
	struct store_options opt = { .on_pending = chain_pending,
		.on_pending_arg = &c };
	struct run_record first = fx_run();
	int closed = -1;

	fx_new();
	c.s = fx_open_with(&opt);
	c.r = fx_run();
	store_write(c.s, fx_insert, &first, chain_done, &c);
	store_write(c.s, refuse_early, NULL, NULL, NULL);
	is_int(c.pendings, 1, "told once when a turn has its first write");
	store_commit(c.s, FX_NOW);
	is_int(c.pendings, 2, "and again for one queued by a callback");
	is_int(c.result, -1, "which belongs to the next commit");
	store_commit(c.s, FX_NOW);
	is_int(c.result, STORE_OK, "and is done there");
	store_write(c.s, fx_insert, &first, fx_done, &closed);
	store_free(&c.s);
	is_int(closed, STORE_CLOSED, "closing answers what is queued");
}

/* What a program that ends in the middle of its runs does. */
static void
test_given_up(void)
{
	struct run_record first = fx_run(), second = fx_run();
	struct spool *spool = NULL;
	int waits = -1, late = -1;
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(spool_open(s, &first.id, 0, 100, &spool), STORE_OK, "a spool");
	store_write(s, fx_insert, &first, fx_done, &waits);
	store_give_up(s);
	is_int(waits, STORE_CLOSED, "giving up answers what is queued");
	store_write(s, fx_insert, &second, fx_done, &late);
	is_int(late, STORE_CLOSED, "and what comes later");
	spool_free(&spool);
	store_free(&s);
	ok(s == NULL, "what was open was closed in between");
}

static bool
doc_is(struct store *s, const struct fx_doc *d)
{
	const uint8_t *p;
	bool same;
	size_t len;

	same = run_doc_get(fx_read(s), &d->r.id, RUN_DOC_INPUTS, &p, &len) ==
		STORE_OK &&
	    len == d->len && memcmp(p, d->bytes, len) == 0;
	store_read_end(s);
	return same;
}

static void
test_map_growth(void)
{
	static uint8_t big[3 << 20];
	struct store_options opt = { .map_bytes = 1 };
	struct fx_doc docs[8];
	struct store *s;
	int results[8], good = 0;

	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (uint8_t)(i * 2654435761u >> 24);
	fx_new();
	s = fx_open_with(&opt);
	fx_get(s, &(struct ulid){ { 1 } }, &docs[0].r); /* an idle reader */
	for (int i = 0; i < 8; i++) {
		docs[i] = (struct fx_doc){ fx_run(), big, sizeof(big) };
		store_write(s, fx_write_doc, &docs[i], fx_done, &results[i]);
	}
	is_int(store_commit(s, FX_NOW), STORE_OK, "24 MiB into a 1 MiB map");
	for (int i = 0; i < 8; i++)
		good += results[i] == STORE_OK && doc_is(s, &docs[i]);
	is_int(good, 8, "all there after growing");
	ok(store_stats(s).map_growths == 5, "doubled to 32 MiB");
	is_int(store_stats(s).commits, 1, "still one commit");
	store_free(&s);
	opt.map_max_bytes = 1;
	s = fx_open_with(&opt);
	ok(doc_is(s, &docs[7]),
	    "opens with a map that is smaller than the data");
	docs[0].r = fx_run();
	is_int(fx_write(s, fx_write_doc, &docs[0]), STORE_FULL,
	    "the highest map size is a full disk");
	docs[1].r = fx_run();
	is_int(fx_get(s, &docs[0].r.id, &docs[2].r), STORE_NOT_FOUND,
	    "of which nothing is stored");
	store_free(&s);
}

/* Changes one byte of the stored value behind a key, unseen by storage. */
static void
flip(struct store *s, enum store_table table, const void *key, size_t len,
    size_t at)
{
	MDB_val k = { len, (void *)(uintptr_t)key }, v;
	uint8_t copy[8192];
	MDB_txn *txn;

	if (mdb_txn_begin(s->env, NULL, 0, &txn) != 0 ||
	    mdb_get(txn, s->dbi[table], &k, &v) != 0 ||
	    v.mv_size > sizeof(copy) || at >= v.mv_size)
		errx(1, "flip");
	memcpy(copy, v.mv_data, v.mv_size);
	copy[at] ^= 0x20;
	v.mv_data = copy;
	if (mdb_put(txn, s->dbi[table], &k, &v, 0) != 0 ||
	    mdb_txn_commit(txn) != 0)
		errx(1, "flip");
}

/* Puts the stored value of one document in the place of another one. */
static void
move_doc(struct store *s, const struct ulid *from, const struct ulid *to)
{
	uint8_t a[ULID_BYTES + 1], b[ULID_BYTES + 1], copy[64];
	MDB_val k = { sizeof(a), a }, v;
	MDB_txn *txn;

	memcpy(a, from, ULID_BYTES);
	memcpy(b, to, ULID_BYTES);
	a[ULID_BYTES] = b[ULID_BYTES] = RUN_DOC_INPUTS;
	if (mdb_txn_begin(s->env, NULL, 0, &txn) != 0 ||
	    mdb_get(txn, s->dbi[TABLE_RUN_DOCS], &k, &v) != 0 ||
	    v.mv_size > sizeof(copy))
		errx(1, "move_doc");
	memcpy(copy, v.mv_data, v.mv_size);
	v.mv_data = copy;
	k.mv_data = b;
	if (mdb_put(txn, s->dbi[TABLE_RUN_DOCS], &k, &v, 0) != 0 ||
	    mdb_txn_commit(txn) != 0)
		errx(1, "move_doc");
}

static void
test_misplaced(void)
{
	struct fx_doc a = { fx_run(), (const uint8_t *)"a", 1 };
	struct fx_doc b = { fx_run(), (const uint8_t *)"b", 1 };
	const uint8_t *p;
	struct store *s;
	size_t len;

	fx_new();
	s = fx_open();
	fx_write(s, fx_write_doc, &a);
	fx_write(s, fx_write_doc, &b);
	move_doc(s, &a.r.id, &b.r.id);
	is_int(run_doc_get(fx_read(s), &b.r.id, RUN_DOC_INPUTS, &p, &len),
	    STORE_CORRUPT, "a sound record in another one's place is damage");
	store_read_end(s);
	ok(doc_is(s, &a), "in its own place it is not");
	store_free(&s);
}

struct seen {
	int good;
	int corrupt;
};

static bool
see(const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	struct seen *seen = arg;

	seen->good += r != NULL;
	seen->corrupt += r == NULL && err == STORE_CORRUPT;
	return true;
}

static void
test_damage(void)
{
	struct run_filter all = { 0 };
	struct run_record a = fx_run(), b = fx_run(), got;
	struct seen seen = { 0 };
	struct store *s;
	uint64_t total = 9;
	int bad = 0;

	fx_new();
	s = fx_open();
	fx_write(s, fx_insert, &a);
	fx_write(s, fx_insert, &b);
	/* Byte 0 is the version, which has an answer of its own. */
	for (size_t at = 1; at < 150; at++) {
		flip(s, TABLE_RUNS, a.id.b, ULID_BYTES, at);
		bad += fx_get(s, &a.id, &got) != STORE_CORRUPT;
		flip(s, TABLE_RUNS, a.id.b, ULID_BYTES, at);
	}
	is_int(bad, 0, "every flipped byte is seen");
	is_int(fx_get(s, &a.id, &got), STORE_OK, "and none is left behind");
	flip(s, TABLE_RUNS, a.id.b, ULID_BYTES, 0);
	is_int(fx_get(s, &a.id, &got), STORE_NEWER, "a newer record version");
	flip(s, TABLE_RUNS, a.id.b, ULID_BYTES, 0);
	flip(s, TABLE_RUNS, a.id.b, ULID_BYTES, 40);
	run_list(fx_read(s), &all, 0, 10, see, &seen, &total);
	store_read_end(s);
	ok(seen.good == 1 && seen.corrupt == 1 && total == 2,
	    "a list tells the damaged one from the good one");
	is_int(fx_write(s, fx_delete, &a.id), STORE_OK,
	    "a damaged run can be deleted");
	memset(&seen, 0, sizeof(seen));
	run_list(fx_read(s), &all, 0, 10, see, &seen, &total);
	store_read_end(s);
	ok(seen.good == 1 && seen.corrupt == 0 && total == 1,
	    "it leaves neither list nor total behind");
	flip(s, TABLE_RUN_TOTALS, "\0", 1, 5);
	a = fx_run();
	is_int(fx_write(s, fx_insert, &a), STORE_OK,
	    "a damaged total does not stop submissions");
	run_total(fx_read(s), &all, &total);
	store_read_end(s);
	is_int(total, 2, "it was counted anew");
	flip(s, TABLE_RUN_TOTALS, "\0", 1, 0);
	a = fx_run();
	is_int(fx_write(s, fx_insert, &a), STORE_OK,
	    "nor does one of a newer version");
	run_total(fx_read(s), &all, &total);
	store_read_end(s);
	is_int(total, 3, "it was counted anew, too");
	store_free(&s);
}

static int
schema_put(struct store_txn *txn, void *arg)
{
	return meta_put(txn, "schema", *(int *)arg);
}

static void
test_schema(void)
{
	struct store_options opt = { 0 };
	struct store_error e = { 0 };
	struct store *s, *none = NULL;
	int newer = 1000;
	struct stat st;
	char path[300];

	fx_new();
	s = fx_open();
	is_int(store_open("/nonexistent/dir", &opt, &none, &e), STORE_IO,
	    "a directory that is not there");
	ok(e.sys == ENOENT && none == NULL, "with its errno, output untouched");
	snprintf(path, sizeof(path), "%s/store/data.mdb", fx_dir);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "0600");
	snprintf(path, sizeof(path), "%s/artifacts", fx_dir);
	ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0700, "0700");
	fx_write(s, schema_put, &newer);
	store_free(&s);
	is_int(store_open(fx_dir, &opt, &none, &e), STORE_NEWER,
	    "a schema from the future is refused");
	ok(none == NULL, "output untouched");
	store_free(&none);
}

struct number {
	const char *name;
	int64_t value;
	int result;
};

static int
number_put(struct store_txn *txn, void *arg)
{
	const struct number *n = arg;
	int rc = store_number_put(txn, n->name, n->value);

	return rc == STORE_OK ? n->result : rc;
}

static int64_t
number_of(struct store *s, const char *name)
{
	int64_t value = -1;

	is_int(store_number_get(fx_read(s), name, &value), STORE_OK, name);
	store_read_end(s);
	return value;
}

static void
test_numbers(void)
{
	struct number big = { "big", INT64_MAX, STORE_OK };
	struct number small = { "small", INT64_MIN, STORE_OK };
	struct number refused = { "big", 7, STORE_EXISTS };
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(number_of(s, "big"), 0, "0 until it is written");
	is_int(fx_write(s, number_put, &big), STORE_OK, "written");
	is_int(fx_write(s, number_put, &small), STORE_OK, "another");
	is_int(fx_write(s, number_put, &refused), STORE_EXISTS, "refused");
	store_free(&s);
	s = fx_open();
	ok(number_of(s, "big") == INT64_MAX, "kept, and not what was refused");
	ok(number_of(s, "small") == INT64_MIN, "each by its name");
	is_int(number_of(s, "bi"), 0, "not by its beginning");
	store_free(&s);
}

static void
test_digest(void)
{
	uint8_t a[32], b[32], c[32], key[32];
	struct store *s;

	fx_new();
	s = fx_open();
	memset(key, 0x0b, sizeof(key));
	hmac_sha256_set_key(&s->digest, sizeof(key), key);
	/* The value was computed with another implementation. */
	store_digest(s, "Hi There", 8, a);
	ok(memcmp(a, "\x19\x8a\x60\x7e\xb4\x4b\xfb\xc6", 8) == 0,
	    "is HMAC-SHA256");
	store_free(&s);
	s = fx_open();
	store_digest(s, "x", 1, a);
	store_digest(s, "y", 1, b);
	store_free(&s);
	s = fx_open();
	store_digest(s, "x", 1, c);
	ok(memcmp(a, c, 32) == 0 && memcmp(a, b, 32) != 0,
	    "the key outlives a restart");
	store_free(&s);
}

static void
test_manual(void)
{
	static const char *const names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
	};
	const char *top = getenv("srcdir");
	char path[512], page[16384], row[64];
	size_t len, missing = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/man/browsertask-store.5",
	    top != NULL ? top : ".");
	if ((f = fopen(path, "r")) == NULL)
		err(1, "%s", path);
	len = fread(page, 1, sizeof(page) - 1, f);
	page[len] = '\0';
	fclose(f);
	for (size_t i = 0; i < TABLE__MAX; i++) {
		snprintf(row, sizeof(row), "\n.It %s Ta ", names[i]);
		missing += strstr(page, row) == NULL;
	}
	is_int(missing, 0, "every table is in the manual page");
}

int
main(void)
{
	test_crc();
	test_crc_by_table();
	test_group_commit();
	test_later();
	test_refusals();
	test_done_callbacks();
	test_given_up();
	test_map_growth();
	test_damage();
	test_misplaced();
	test_schema();
	test_numbers();
	test_digest();
	test_manual();
	return done_testing();
}
