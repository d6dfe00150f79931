/* What a crash image must hold. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <nettle/sha2.h>

#include "storage/audit.h"
#include "storage/journal.h"
#include "storage/sweep.h"
#include "t/torn/oracle.h"

#define RUNS_MAX 600

struct oracle {
	const char *dir;
	const struct work *work;
	size_t cut;
	struct store *store;
	const char *wrong; /* the first thing */
	/* What rows say. */
	struct run_record runs[RUNS_MAX];
	unsigned nruns;
	unsigned artifact_files;
	unsigned sessions;
	unsigned left; /* runs whose state may be there without a session */
};

static bool
must(struct oracle *o, bool holds, const char *wrong)
{
	if (!holds && o->wrong == NULL)
		o->wrong = wrong;
	return holds;
}

/* The database is what it was behind the last commit, or the one in work. */
static void
check_state(struct oracle *o)
{
	const struct work *w = o->work;
	uint8_t hash[WORK_HASH_BYTES];
	size_t acked = 0;

	while (acked < w->nstates && w->states[acked].at <= o->cut)
		acked++;
	/* A store that nobody was told of may be made anew, with other keys. */
	if (acked == 0)
		return;
	work_hash(o->store, hash);
	must(o,
	    memcmp(hash, w->states[acked - 1].hash, sizeof(hash)) == 0 ||
		(acked < w->nstates &&
		    memcmp(hash, w->states[acked].hash, sizeof(hash)) == 0),
	    "the database is neither what was acknowledged nor the next");
}

static bool
run_seen(const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	struct oracle *o = arg;

	(void)id;
	if (must(o, err == STORE_OK && o->nruns < RUNS_MAX,
		"a run cannot be read"))
		o->runs[o->nruns++] = *r;
	return true;
}

static bool
file_is(struct oracle *o, const struct artifact_row *row)
{
	static uint8_t bytes[128 * 1024];
	uint8_t sum[SHA256_DIGEST_SIZE];
	size_t len = sizeof(bytes);
	struct sha256_ctx sha;

	if (artifact_file_read(o->store, row, 0, bytes, &len) != STORE_OK ||
	    len != row->size)
		return false;
	sha256_init(&sha);
	sha256_update(&sha, len, bytes);
	sha256_digest(&sha, sizeof(sum), sum);
	return memcmp(sum, row->sha256, sizeof(sum)) == 0;
}

static bool
artifact_seen(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	struct oracle *o = arg;

	(void)id;
	if (!must(o, err == STORE_OK, "an artifact's row cannot be read") ||
	    row->state != ARTIFACT_IN_FILE)
		return true;
	o->artifact_files++;
	must(o, file_is(o, row), "an artifact's file is not what its row says");
	return true;
}

/* Is a state that was acknowledged older than the one that is there? */
static bool
state_is(const struct oracle *o, const struct ulid *session, long version)
{
	const struct work_version *v;
	long last = -1;

	for (size_t i = 0; i < o->work->nversions; i++) {
		v = &o->work->versions[i];
		if (memcmp(&v->session, session, sizeof(*session)) != 0)
			continue;
		if (v->done <= o->cut)
			last = (long)i;
		if ((long)i == version && v->begun > o->cut)
			return false;
	}
	return version >= last;
}

static bool
session_seen(
    const struct ulid *id, const struct session_record *rec, int err, void *arg)
{
	struct oracle *o = arg;
	enum store_err got;
	long version = -1;
	struct buf bytes;

	(void)rec;
	o->sessions++;
	must(o, err == STORE_OK, "a session cannot be read");
	buf_init(&bytes, STATE_FILE_BYTES);
	got = session_state_read(o->store, id, &bytes);
	if (got != STORE_NOT_FOUND) {
		if (got == STORE_OK)
			version = work_version_of(bytes.data, bytes.len);
		must(o, version >= 0, "a session's state is half there");
	}
	buf_clear(&bytes);
	must(o, state_is(o, id, version), "a session's state was lost");
	return true;
}

struct items {
	struct oracle *o;
	struct spool *spool;
	const struct ulid *run;
	unsigned count;
};

static bool
item_seen(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	struct items *it = arg;
	struct artifact_writer *w;
	struct ulid id = *it->run;

	(void)index;
	if (!must(it->o, err == STORE_OK, "an item cannot be read"))
		return true;
	it->count++;
	id.b[6] = 'x';
	if (artifact_writer_new(it->o->store, &id, 1 << 20, &w) != STORE_OK)
		return must(it->o, false, "no artifact can be begun");
	for (unsigned i = 0; i < row->nextents; i++)
		must(it->o,
		    spool_copy(it->spool, &row->extents[i], w) == STORE_OK,
		    "an item's bytes are not what its row says");
	artifact_writer_free(&w);
	return true;
}

/* The next attempt goes on behind them. */
static void
check_items(struct oracle *o, const struct run_record *r, bool go_on)
{
	struct items it = { .o = o, .run = &r->id };
	struct store_txn *txn;
	uint64_t end = 0;

	if (run_status_terminal(r->status))
		return;
	if (store_read_begin(o->store, &txn) != STORE_OK)
		return;
	must(o, journal_spool_end(txn, &r->id, &end) == STORE_OK, "spool end");
	store_read_end(o->store);
	if (!must(o,
		spool_open(o->store, &r->id, end, 1 << 20, &it.spool) ==
		    STORE_OK,
		"a spool does not hold what rows name"))
		return;
	if (store_read_begin(o->store, &txn) == STORE_OK) {
		journal_list(txn, &r->id, item_seen, &it);
		store_read_end(o->store);
	}
	must(o, it.count == r->done, "items and their count differ");
	if (go_on)
		must(o,
		    work_item(o->store, it.spool, &r->id, 900, 5000,
			WORK_NOW) == STORE_OK,
		    "no item can be added");
	spool_free(&it.spool);
}

/* All rows, and the files that they name. */
static void
check_rows(struct oracle *o)
{
	struct run_filter all = { 0 };
	struct store_txn *txn;
	uint64_t total = 0;

	o->nruns = o->artifact_files = o->sessions = 0;
	if (!must(o, store_read_begin(o->store, &txn) == STORE_OK, "read"))
		return;
	run_list(txn, &all, 0, UINT64_MAX, run_seen, o, &total);
	must(o, total == o->nruns, "runs and their total differ");
	for (unsigned i = 0; i < o->nruns; i++)
		artifact_list(txn, &o->runs[i].id, artifact_seen, o);
	session_list(txn, false, 0, NULL, session_seen, o);
	store_read_end(o->store);
	for (unsigned i = 0; i < o->nruns; i++)
		check_items(o, &o->runs[i], false);
}

static void
check_audit(struct oracle *o)
{
	struct audit_check c = { 0 };
	struct store_txn *txn;

	if (store_read_begin(o->store, &txn) != STORE_OK)
		return;
	audit_check(txn, &c, 100000);
	store_read_end(o->store);
	must(o, c.done && c.fault == AUDIT_SOUND, "the audit log has a fault");
}

static unsigned
count_files(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	unsigned count = 0;
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		count += e->d_type == DT_DIR ? count_files(fd, e->d_name) : 1;
	}
	if (d != NULL)
		closedir(d);
	return count;
}

static void
check_strays(struct oracle *o)
{
	int at = openat(AT_FDCWD, o->dir, O_RDONLY | O_DIRECTORY);
	unsigned live = 0;

	for (unsigned i = 0; i < o->nruns; i++) {
		live += !run_status_terminal(o->runs[i].status);
		must(o, o->runs[i].status != RUN_RUNNING,
		    "a run still counts as running");
	}
	must(o, count_files(at, "incoming") == 0, "incoming is not empty");
	must(o, count_files(at, "artifacts") == o->artifact_files,
	    "there are files of no artifact");
	must(o, count_files(at, "spool") <= live, "there are spools of no run");
	must(o, count_files(at, "sessions") <= o->sessions + o->left,
	    "there are states of no session");
	close(at);
}

/* As a service that goes on. */
static void
check_work(struct oracle *o)
{
	struct run_record r;

	for (unsigned i = 0; i < o->nruns; i++)
		check_items(o, &o->runs[i], true);
	work_run_make(&r, 60000, WORK_NOW);
	must(o, work_submit(o->store, &r, WORK_NOW) == STORE_OK,
	    "no run can be submitted");
	check_audit(o);
}

static void
check_open(struct oracle *o)
{
	struct purge_result purged;
	int64_t now = store_floor_ms(o->store);

	check_state(o);
	check_audit(o);
	check_rows(o);
	/* They may be making a session: the purge is before the recovery. */
	for (unsigned i = 0; i < o->nruns; i++)
		o->left += o->runs[i].status == RUN_RUNNING;
	if (o->wrong != NULL ||
	    !must(o, work_recover(o->store, now, &purged) == STORE_OK,
		"it cannot recover"))
		return;
	check_rows(o);
	check_strays(o);
	check_work(o);
}

const char *
oracle_check(const char *dir, const struct work *work, size_t cut)
{
	static struct oracle o;
	struct purge_result purged;
	enum store_err rc;

	o = (struct oracle){ .dir = dir, .work = work, .cut = cut };
	o.store = work_open(dir, &rc);
	if (rc != STORE_OK)
		return "it cannot be opened";
	check_open(&o);
	store_free(&o.store);
	if (o.wrong != NULL)
		return o.wrong;
	/* The next start finds what this one wrote. */
	o.store = work_open(dir, &rc);
	if (rc != STORE_OK)
		return "it cannot be opened again";
	o.left = 0;
	must(&o, work_recover(o.store, WORK_NOW, &purged) == STORE_OK,
	    "it cannot recover again");
	check_rows(&o);
	check_strays(&o);
	store_free(&o.store);
	return o.wrong;
}
