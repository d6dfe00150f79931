/*
 * Unit tests of storage/ on a machine that is exhausted: each call of a workload
 * is refused in turn, once or from then on. Nothing breaks, every error has its
 * code, and what was acknowledged is there when the store is opened again.
 */
#include <dirent.h>
#include <string.h>

#include "storage/artifact.h"
#include "storage/audit.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/spool.h"
#include "storage/sweep.h"
#include "t/faults/shim.h"
#include "t/unit/size.h"
#include "t/unit/storage_fixture.h"

#define FILE_BYTES 20000
#define UNTOUCHED  2 /* so many without a refusal are the end */

static struct control *control;
static unsigned wrong;
static char where[64];

/* What one workload was told. */
struct told {
	struct run_record run[3];
	bool kept[3], ended;
	struct ulid artifact;
	bool has_artifact;
	struct artifact_row row;
	const void *inline_bytes;
};

static void
fault_wrong(const char *what)
{
	printf("# %s: %s\n", where, what);
	wrong++;
}

static int
write_run(struct store_txn *txn, void *arg)
{
	struct run_record *r = arg;
	struct idem_row idem = {
		.uid = r->uid, .run = r->id, .with_run = true
	};
	struct event_row event = { .kind = EVENT_RUN_CREATED,
		.stamp_ms = FX_NOW,
		.doc = (const uint8_t *)"{}",
		.doc_len = 2 };
	struct audit_entry audit = { .time_ms = FX_NOW,
		.actor = 1000,
		.action = AUDIT_RUN_SUBMIT,
		.run = r->id,
		.detail = "x" };
	static const uint8_t inputs[3000];
	uint64_t seq;
	int rc;

	rc = idem_reserve(txn, r->identity, FX_NOW, &idem);
	if (rc == STORE_OK)
		rc = run_insert(txn, r);
	if (rc == STORE_OK)
		rc = run_doc_put(
		    txn, &r->id, RUN_DOC_INPUTS, inputs, sizeof(inputs));
	if (rc == STORE_OK)
		rc = event_append(txn, &r->id, &event, &seq);
	if (rc == STORE_OK)
		rc = audit_append(txn, &audit);
	return rc;
}

static int
write_end(struct store_txn *txn, void *arg)
{
	struct told *t = arg;
	struct run_record r = t->run[0];
	int rc;

	r.status = RUN_RUNNING;
	rc = run_update(txn, &r);
	fx_end_run(&r, RUN_SUCCEEDED, FX_NOW + 1, FX_NOW + 1000);
	if (rc == STORE_OK)
		rc = run_update(txn, &r);
	if (rc == STORE_OK)
		rc = artifact_insert(txn, &t->row, t->inline_bytes);
	return rc;
}

static void
keep_artifact(struct store *s, struct told *t)
{
	static const uint8_t bytes[FILE_BYTES] = "artifact";
	struct artifact_writer *w = NULL;
	int result = -1;

	t->artifact = ulid_new(FX_NOW);
	if (artifact_writer_new(s, &t->artifact, sizeof(bytes), &w) ==
		STORE_OK &&
	    artifact_writer_append(w, bytes, sizeof(bytes)) == STORE_OK &&
	    artifact_writer_finish(w, &t->row, &t->inline_bytes) == STORE_OK) {
		t->row.run = t->run[0].id;
		t->row.created_ms = FX_NOW;
		strlcpy(t->row.mime, "text/plain", sizeof(t->row.mime));
		result = fx_write_at(s, write_end, t, FX_NOW + 1);
	}
	artifact_writer_free(&w);
	t->has_artifact = t->ended = result == STORE_OK;
}

static void
spool_some(struct store *s, const struct ulid *run)
{
	struct spool *sp = NULL;
	struct journal_extent at;

	if (spool_open(s, run, 0, UINT64_MAX, &sp) == STORE_OK)
		(void)spool_append(sp, "item", 4, &at);
	spool_free(&sp);
	(void)spool_remove(s, run);
}

/* Two runs that share a commit, one by itself, one that ends. */
static void
work(struct told *t)
{
	struct store_options opt = { .map_bytes = 4 << 20, .now_ms = FX_NOW };
	int results[2] = { -1, -1 };
	struct store *s = NULL;
	struct purge_result purged;
	struct store_error e;
	enum store_err err;

	err = store_open(fx_dir, &opt, &s, &e);
	if (err != STORE_OK) {
		if (s != NULL || err >= STORE__MAX)
			fault_wrong("an error without its code");
		return;
	}
	(void)store_purge(s, &purged);
	for (int i = 0; i < 2; i++)
		store_write(s, write_run, &t->run[i], fx_done, &results[i]);
	err = store_commit(s, FX_NOW + 1);
	for (int i = 0; i < 2; i++) {
		t->kept[i] = results[i] == STORE_OK;
		if (results[i] < 0 || (t->kept[i] && err != STORE_OK))
			fault_wrong("not every write is told its end");
	}
	if (t->kept[0])
		keep_artifact(s, t);
	spool_some(s, &t->run[0].id);
	t->kept[2] =
	    fx_write_at(s, write_run, &t->run[2], FX_NOW + 2) == STORE_OK;
	store_free(&s);
}

static void
begin(struct told *t)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < 3; i++) {
		t->run[i] = fx_run();
		t->run[i].has_identity = true;
		memset(t->run[i].identity, i + 1, sizeof(t->run[i].identity));
	}
}

static void
check_run(struct store *s, const struct told *t, int i)
{
	struct run_record got;
	struct idem_row row;
	int rc = fx_get(s, &t->run[i].id, &got);
	int key = idem_get(fx_read(s), t->run[i].identity, FX_NOW, &row);

	store_read_end(s);
	if (t->kept[i] && (rc != STORE_OK || key != STORE_OK))
		fault_wrong("what was acknowledged is lost");
	else if (!t->kept[i] && (rc != STORE_NOT_FOUND || key != rc))
		fault_wrong("what was refused is there");
	if (i == 0 && t->ended &&
	    (rc != STORE_OK || got.status != RUN_SUCCEEDED))
		fault_wrong("an end is lost");
}

static void
check_artifact(struct store *s, const struct told *t)
{
	struct artifact_row row;
	char bytes[8];
	size_t n = sizeof(bytes);
	int rc = artifact_get(fx_read(s), &t->artifact, &row);

	store_read_end(s);
	if (!t->has_artifact)
		return;
	if (rc != STORE_OK || row.size != FILE_BYTES ||
	    artifact_file_read(s, &row, 0, bytes, &n) != STORE_OK ||
	    memcmp(bytes, "artifact", 8) != 0)
		fault_wrong("an artifact is lost");
}

/* The machine has recovered: another start finds all, and goes on. */
static void
check(const struct told *t)
{
	struct store_options opt = { .map_bytes = 4 << 20, .now_ms = FX_NOW };
	struct run_record more = fx_run();
	struct store *s = NULL;
	struct store_error e;

	if (store_open(fx_dir, &opt, &s, &e) != STORE_OK) {
		fault_wrong("the store does not open again");
		return;
	}
	for (int i = 0; i < 3; i++)
		check_run(s, t, i);
	check_artifact(s, t);
	if (fx_write(s, fx_insert, &more) != STORE_OK)
		fault_wrong("the store does not go on");
	store_free(&s);
}

static unsigned
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n;
}

/* Whether there was an n-th call. */
static bool
refuse_nth(enum fault kind, const char *name, unsigned n, bool for_ever)
{
	unsigned before = descriptors();
	struct told told;
	bool touched;

	snprintf(where, sizeof(where), "%s %u %s", name, n,
	    for_ever ? "for ever" : "once");
	fx_new();
	begin(&told);
	control->kind = kind;
	control->for_ever = for_ever;
	control->seen = control->refused = 0;
	control->nth = n;
	work(&told);
	control->nth = 0;
	touched = control->refused > 0;
	check(&told);
	if (descriptors() != before)
		fault_wrong("a descriptor is left open");
	return touched;
}

static void
test_kind(enum fault kind, const char *name, unsigned step)
{
	unsigned refused = 0, first = wrong;

	for (int for_ever = 0; for_ever < 2; for_ever++) {
		unsigned untouched = 0;

		for (unsigned n = 1; untouched < UNTOUCHED; n += step) {
			bool touched = refuse_nth(kind, name, n, for_ever != 0);

			untouched = touched ? 0 : untouched + 1;
			refused += touched;
		}
	}
	ok(wrong == first, "%s: %u calls refused, nothing lost", name, refused);
}

static const char *const names[] = {
#define KIND(name, error) #name,
#include "t/faults/kinds.def"
#undef KIND
};

int
main(void)
{
	unsigned step = (unsigned)sized("every so-many-th call", 2, 1);

	control = fault_control();
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Where the shim tells of each refusal. */
	if (freopen("/dev/null", "w", stderr) == NULL)
		err(1, "/dev/null");
	for (int k = 0; k < FAULT__MAX; k++) {
		if ((control->lacks & 1u << k) != 0)
			tap_skip(names[k], "the sanitizer has them");
		else
			test_kind((enum fault)k, names[k], step);
	}
	return done_testing();
}
