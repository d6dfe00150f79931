/*
 * A backup, and the store made of it, are entry for entry what was there;
 * what retention removes meanwhile has expired; and bytes that are no backup
 * make no store.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "storage/backup.h"
#include "storage/backup_int.h"
#include "storage/sweep.h"
#include "t/unit/size.h"
#include "t/unit/storage_rest.h"

#define FILES_MAX 64

struct file {
	char name[BACKUP_NAME_CHARS + 1];
	struct buf bytes;
	uint8_t sum[BACKUP_SUM_BYTES];
};

struct copy {
	struct file files[FILES_MAX];
	size_t count;
	unsigned faults;
	struct backup_totals totals;
	/* Retention takes all artifacts when the first of them is copied. */
	struct store *trim;
};

static void
on_trimmed(void *arg, int err, const struct sweep_result *r)
{
	unsigned *n = arg;

	*n = err == STORE_OK ? r->artifacts : 0;
}

/* Of one user after the other. */
static void
trim_all(struct store *s)
{
	unsigned all = 0, n = 1;

	while (n > 0) {
		n = 0;
		store_trim(s, FX_NOW, 1000000, 0, 1000, on_trimmed, &n);
		store_commit(s, FX_NOW);
		all += n;
	}
	ok(all > 1, "retention removes %u artifacts", all);
}

static bool
take_file(void *arg, const char *name)
{
	struct copy *c = arg;
	struct file *f = &c->files[c->count++];

	if (c->count > FILES_MAX)
		errx(1, "too many files");
	strlcpy(f->name, name, sizeof(f->name));
	buf_init(&f->bytes, SIZE_MAX);
	if (c->trim != NULL && strncmp(name, "artifacts/", 10) == 0) {
		trim_all(c->trim);
		c->trim = NULL;
	}
	return true;
}

static bool
take_data(void *arg, const void *bytes, size_t len)
{
	struct copy *c = arg;

	return buf_add(&c->files[c->count - 1].bytes, bytes, len);
}

static bool
take_end(void *arg, const uint8_t sum[BACKUP_SUM_BYTES])
{
	struct copy *c = arg;

	memcpy(c->files[c->count - 1].sum, sum, BACKUP_SUM_BYTES);
	return true;
}

static void
take_progress(void *arg, uint64_t done, uint64_t total)
{
	(void)arg;
	if (done > total)
		errx(1, "more than all");
}

static void
take_fault(void *arg, const char *what)
{
	struct copy *c = arg;

	printf("# %s\n", what);
	c->faults++;
}

static enum store_err
copy_take(struct store *s, struct copy *c)
{
	const struct backup_sink sink = { take_file, take_data, take_end,
		take_progress, take_fault, c };

	return store_backup(s, &sink, &c->totals);
}

static void
copy_clear(struct copy *c)
{
	for (size_t i = 0; i < c->count; i++)
		buf_clear(&c->files[i].bytes);
	memset(c, 0, sizeof(*c));
}

static const struct file *
copy_find(const struct copy *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->files[i].name, name) == 0)
			return &c->files[i];
	return NULL;
}

/* A new directory beside the fixture's. */
static char made[256];

static void
made_remove(void)
{
	if (made[0] != '\0')
		nftw(made, fx_unlink, 16, FTW_DEPTH | FTW_PHYS);
	made[0] = '\0';
}

static void
made_new(void)
{
	static bool registered;

	made_remove();
	if (!registered)
		registered = atexit(made_remove) == 0;
	snprintf(made, sizeof(made), "%.200s/made.XXXXXX", fx_dir);
	if (mkdtemp(made) == NULL)
		err(1, "mkdtemp");
}

static bool
made_is_empty(void)
{
	return rmdir(made) == 0 && mkdir(made, 0700) == 0;
}

static enum store_err
give_file(struct restore *r, const struct file *f)
{
	enum store_err err = restore_file(r, f->name, f->bytes.len);

	for (size_t at = 0; err == STORE_OK && at < f->bytes.len;) {
		size_t n = f->bytes.len - at;

		/* Pieces of any length do. */
		n = n > 1777 ? 1777 : n;
		err = restore_data(r, f->bytes.data + at, n);
		at += n;
	}
	return err == STORE_OK ? restore_end(r, f->sum) : err;
}

static enum store_err
give(const struct copy *c, bool keep)
{
	struct restore *r = NULL;
	enum store_err err = restore_new(made, &r, NULL);

	for (size_t i = 0; err == STORE_OK && i < c->count; i++)
		err = give_file(r, &c->files[i]);
	if (err == STORE_OK)
		err = restore_finish(r, NULL);
	if (err == STORE_OK && keep)
		restore_keep(r);
	restore_free(&r);
	return err;
}

static bool
same_files(const struct copy *a, const struct copy *b)
{
	for (size_t i = 0; i < a->count; i++) {
		const struct file *f = &a->files[i], *g = copy_find(b, f->name);

		if (g == NULL || f->bytes.len != g->bytes.len ||
		    memcmp(f->bytes.data, g->bytes.data, f->bytes.len) != 0) {
			printf("# %s is not the same\n", f->name);
			return false;
		}
	}
	return a->count == b->count;
}

static void
test_round(void)
{
	static struct copy a, b;
	struct check_totals totals;
	struct store *s, *t;

	rest_new();
	s = rest_open(fx_dir);
	is_int(copy_take(s, &a), STORE_OK, "a copy");
	is_int(a.faults, 0, "without faults");
	is_int(a.totals.runs, REST_RUNS, "of all runs");
	is_int(a.totals.sessions, 1, "and sessions");
	is_int(a.count, 1 + REST_RUNS / 4 + 2,
	    "records, artifacts, a spool, a state");
	made_new();
	is_int(give(&a, true), STORE_OK, "makes a store");
	t = rest_open(made);
	is_int(rest_check(t, &totals), 0, "which is sound");
	is_int(totals.runs, REST_RUNS, "and has all runs");
	is_int(copy_take(t, &b), STORE_OK, "it can be copied");
	ok(same_files(&a, &b), "and is byte for byte the same");
	store_free(&t);
	store_free(&s);
	is_int(give(&a, true), STORE_EXISTS, "never over another store");
	t = rest_open(made);
	is_int(rest_check(t, &totals), 0, "which is left as it is");
	store_free(&t);
	copy_clear(&a);
	copy_clear(&b);
}

static void
test_gone(void)
{
	struct check_totals totals;
	struct artifact_row row;
	static struct copy a;
	struct store *s, *t;
	struct store_txn *txn;

	rest_new();
	s = fx_open();
	a.trim = s;
	is_int(copy_take(s, &a), STORE_OK, "a copy while retention is at work");
	is_int(a.faults, 0, "is no fault");
	ok(a.totals.gone > 0 && copy_find(&a, "gone") != NULL,
	    "%d files had gone", (int)a.totals.gone);
	store_free(&s);
	made_new();
	is_int(give(&a, true), STORE_OK, "makes a store");
	t = rest_open(made);
	if (!ok(rest_check(t, &totals) == 0, "which is sound"))
		printf("# %s\n", rest_last);
	txn = fx_read(t);
	is_int(artifact_get(txn, &rest.runs[4].big, &row), STORE_OK,
	    "an artifact that had gone");
	is_int(row.state, ARTIFACT_TOMBSTONE, "has expired");
	store_read_end(t);
	store_free(&t);
	copy_clear(&a);
}

/* ---- what is no backup ---- */

/* With other records, whose sum fits or does not. */
static enum store_err
give_changed(const struct copy *c, const uint8_t *bytes, size_t len,
    bool sum_fits, bool keep)
{
	struct copy other = *c;
	struct file *f = &other.files[0];
	struct sha256_ctx sha;

	f->bytes =
	    (struct buf){ .data = (uint8_t *)(uintptr_t)bytes, .len = len };
	if (sum_fits) {
		sha256_init(&sha);
		sha256_update(&sha, len, bytes);
		sha256_digest(&sha, sizeof(f->sum), f->sum);
	}
	return give(&other, keep);
}

/* Records cut anywhere, though their sum fits: no store, and no crash. */
static void
test_cut(const struct copy *c)
{
	const struct buf *b = &c->files[0].bytes;
	long refused = 0, tries = sized("cuts of the records", 60, 3000);

	for (long i = 0; i < tries; i++) {
		size_t len = b->len * (size_t)i / (size_t)tries;

		refused += give_changed(c, b->data, len, true, false) ==
			STORE_CORRUPT &&
		    made_is_empty();
	}
	is_int(refused, tries, "cut records make no store, and leave nothing");
}

static uint32_t
next_random(void)
{
	static uint32_t x = 1;

	x = x * 1664525u + 1013904223u;
	return x >> 8;
}

/*
 * Changed anywhere, with a sum that fits: refused, or made and then found, or
 * made and read without harm. What is in a record its checksum tells.
 */
static void
test_changed(const struct copy *c)
{
	const struct buf *b = &c->files[0].bytes;
	long refused = 0, found = 0, tries = sized("changed records", 60, 3000);
	uint8_t *bytes = malloc(b->len);
	struct check_totals totals;
	enum store_err err;
	struct store *t;
	int left = 0;

	memcpy(bytes, b->data, b->len);
	for (long i = 0; i < tries; i++) {
		size_t at = next_random() % b->len;
		uint8_t old = bytes[at];

		bytes[at] ^= (uint8_t)(1u << (next_random() % 8));
		err = give_changed(c, bytes, b->len, false, false);
		left += err == STORE_OK;
		/* What its head says of its version is read before the sum. */
		if (err != STORE_CORRUPT && err != STORE_NEWER)
			printf("# byte %zu of %zu: error %d\n", at, b->len,
			    (int)err);
		if (give_changed(c, bytes, b->len, true, true) == STORE_OK) {
			t = rest_open(made);
			found += t == NULL || rest_check(t, &totals) != 0;
			store_free(&t);
			made_new();
		} else {
			refused++;
		}
		bytes[at] = old;
	}
	is_int(left, 0, "bytes that do not fit their sum are refused");
	is_int(refused + found, tries, "and a change that does is found");
	figure("%ld refused, %ld found", refused, found);
	free(bytes);
}

static void
test_names(const struct copy *c)
{
	static const char *const names[] = { "../x", "/etc/passwd", "store",
		"store/data.mdb", "artifacts/01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"artifacts/AA/01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"artifacts/../01ARZ3NDEKTSV4RRFFQ69G5FAV", "lock",
		"spool/../lock", "profiles/01ARZ3NDEKTSV4RRFFQ69G5FAV", "",
		"sessions/01arz3ndektsv4rrffq69g5fav", "spool/" };
	struct restore *r;
	int refused = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (restore_new(made, &r, NULL) != STORE_OK)
			errx(1, "restore_new");
		refused += restore_file(r, names[i], 0) == STORE_CORRUPT;
		restore_free(&r);
	}
	is_int(refused, sizeof(names) / sizeof(names[0]),
	    "names that no backup has are refused");
	if (restore_new(made, &r, NULL) != STORE_OK)
		errx(1, "restore_new");
	is_int(give_file(r, &c->files[1]), STORE_OK, "a file");
	is_int(give_file(r, &c->files[1]), STORE_CORRUPT, "is given once");
	restore_free(&r);
	if (restore_new(made, &r, NULL) != STORE_OK)
		errx(1, "restore_new");
	is_int(restore_finish(r, NULL), STORE_CORRUPT,
	    "without records there is no store");
	restore_free(&r);
	ok(made_is_empty(), "and nothing is left");
}

static int
put_schema(struct store_txn *txn, void *arg)
{
	return meta_put(txn, "schema", *(const int *)arg);
}

static void
test_newer(void)
{
	int later = SCHEMA_VERSION + 1;
	static struct copy a;
	struct store *s;

	rest_new();
	s = fx_open();
	is_int(fx_write(s, put_schema, &later), STORE_OK, "a later schema");
	is_int(copy_take(s, &a), STORE_OK, "is copied");
	store_free(&s);
	ok(rest_open(fx_dir) == NULL, "but not read");
	made_new();
	is_int(give(&a, true), STORE_NEWER, "and no store is made of it");
	ok(made_is_empty(), "and nothing is left");
	copy_clear(&a);
}

/* Of schema 3, when states of sessions had no seal: they are given theirs. */
static void
test_older(void)
{
	char path[512], name[ULID_CHARS + 1];
	struct check_totals totals;
	static struct copy a;
	struct store *s, *t;
	struct buf state;
	int older = 3;

	rest_new();
	ulid_format(&rest.session.id, name);
	snprintf(path, sizeof(path), "%s/sessions/%s", fx_dir, name);
	is_int(truncate(path, (off_t)strlen("cookies")), 0, "an older state");
	s = fx_open();
	is_int(fx_write(s, put_schema, &older), STORE_OK, "an older schema");
	is_int(copy_take(s, &a), STORE_OK, "is copied");
	store_free(&s);
	made_new();
	is_int(give(&a, true), STORE_OK, "makes a store");
	t = rest_open(made);
	is_int(rest_check(t, &totals), 0, "which is sound");
	buf_init(&state, STATE_FILE_BYTES);
	is_int(session_state_read(t, &rest.session.id, &state), STORE_OK,
	    "and has the state");
	ok(state.len == 7 && memcmp(state.data, "cookies", 7) == 0,
	    "as it was");
	buf_clear(&state);
	store_free(&t);
	copy_clear(&a);
}

int
main(void)
{
	static struct copy a;
	struct store *s;

	test_round();
	test_gone();
	test_newer();
	test_older();
	rest_new();
	s = rest_open(fx_dir);
	is_int(copy_take(s, &a), STORE_OK, "a copy");
	store_free(&s);
	made_new();
	test_names(&a);
	test_cut(&a);
	test_changed(&a);
	copy_clear(&a);
	return done_testing();
}
