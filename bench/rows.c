/*
 * rows: works on a store without the service, for bench/service. It is no part
 * of the service and trusts its arguments.
 *
 * usage: rows fill STATEDIR RUNS
 *        rows bare STATEDIR SCRATCHDIR GROUP SECONDS
 *
 * fill writes ended runs as the service leaves them: record, documents, events
 * and a result of 1 KiB each. bare takes the rows that one submission left in
 * a store of the service, and commits the same keys and sizes again and again
 * with nothing around it: GROUP submissions per transaction, which is the best
 * that a group commit of so many clients can reach. It prints the submissions
 * per second and the processor time of each.
 */
#include <err.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/clock.h"
#include "storage/artifact.h"
#include "storage/event.h"
#include "storage/run.h"

#define FILL_GROUP   1000
#define FILL_YEAR_MS (365ll * 86400 * 1000)
#define RESULT_BYTES 1024
#define ROWS_MAX     128
#define TABLES_MAX   32

/* fill */

static const char inputs[] =
    "{\"urls\":[\"https://example.org/one\",\"https://example.org/two\","
    "\"https://example.org/three\"],\"extract\":{\"pageInfo\":true,"
    "\"content\":true},\"concurrency\":3}";
static const char result[] =
    "{\"summary\":{\"total\":3,\"succeeded\":3,\"failed\":0},\"items\":[]}";
static const char steps[] =
    "[{\"name\":\"queue\",\"ok\":true,\"duration_ms\":1},"
    "{\"name\":\"extract\",\"ok\":true,\"duration_ms\":812}]";

static struct run_record
fill_record(int64_t ms)
{
	struct run_record r;

	memset(&r, 0, sizeof(r));
	r.id = ulid_new(ms);
	r.session = ulid_new(ms);
	r.owns_session = true;
	r.uid = 0;
	r.status = RUN_SUCCEEDED;
	r.mode = MODE_ASYNC;
	r.priority = PRIORITY_NORMAL;
	r.attempt = 1;
	r.epoch = 1;
	r.created_ms = ulid_time_ms(&r.id);
	r.started_ms = r.created_ms + 1;
	r.updated_ms = r.ended_ms = r.created_ms + 1000;
	r.expires_ms = clock_stamp_ms() + FILL_YEAR_MS;
	r.limit_ms = 300000;
	r.done = r.total = 3;
	strlcpy(r.template_id, "batch_extract_pages", sizeof(r.template_id));
	strlcpy(r.template_version, "1.0.0", sizeof(r.template_version));
	strlcpy(r.phase, "acting", sizeof(r.phase));
	strlcpy(
	    r.trace_id, "0123456789abcdef0123456789abcdef", sizeof(r.trace_id));
	return r;
}

static int
fill_artifact(struct store_txn *txn, const struct run_record *r)
{
	static const char bytes[RESULT_BYTES];
	struct artifact_row row;

	memset(&row, 0, sizeof(row));
	row.id = ulid_new(r->ended_ms);
	row.run = r->id;
	row.kind = ARTIFACT_TASK_RESULT;
	row.state = ARTIFACT_IN_ROW;
	row.size = sizeof(bytes);
	row.created_ms = r->ended_ms;
	row.expires_ms = r->expires_ms;
	strlcpy(row.mime, "application/json", sizeof(row.mime));
	strlcpy(row.name, "result.json", sizeof(row.name));
	return artifact_insert(txn, &row, bytes);
}

static int
fill_run(struct store_txn *txn, void *arg)
{
	static const enum event_kind kinds[] = { EVENT_RUN_CREATED,
		EVENT_RUN_STARTED, EVENT_RUN_COMPLETED };
	struct run_record *r = arg;
	struct event_row event = { .stamp_ms = r->created_ms,
		.doc = (const uint8_t *)"{\"attempt\":1}",
		.doc_len = 13 };
	uint64_t seq;
	int rc = run_insert(txn, r);

	for (size_t i = 0; rc == STORE_OK && i < 3; i++) {
		event.kind = kinds[i];
		rc = event_append(txn, &r->id, &event, &seq);
	}
	if (rc == STORE_OK)
		rc = run_doc_put(
		    txn, &r->id, RUN_DOC_INPUTS, inputs, strlen(inputs));
	if (rc == STORE_OK)
		rc = run_doc_put(
		    txn, &r->id, RUN_DOC_RESULT, result, strlen(result));
	if (rc == STORE_OK)
		rc = run_doc_put(
		    txn, &r->id, RUN_DOC_STEPS, steps, strlen(steps));
	return rc == STORE_OK ? fill_artifact(txn, r) : rc;
}

static void
fill_done(void *arg, int error)
{
	if (error != STORE_OK)
		errx(1, "write: %s", store_strerror(error));
}

static void
fill(const char *dir, long runs)
{
	static struct run_record group[FILL_GROUP];
	struct store_options options = { .now_ms = clock_stamp_ms() };
	int64_t ms = options.now_ms - 7ll * 86400 * 1000;
	struct store_error e;
	struct store *store;

	mkdir(dir, 0700);
	if (store_open(dir, &options, &store, &e) != STORE_OK)
		errx(1, "%s: %s: %s", dir, e.text, store_strerror(e.code));
	for (long i = 0; i < runs; i++) {
		struct run_record *r = &group[i % FILL_GROUP];

		*r = fill_record(ms + i / 2);
		store_write(store, fill_run, r, fill_done, NULL);
		if ((i + 1) % FILL_GROUP == 0 || i + 1 == runs)
			store_commit(store, clock_stamp_ms());
	}
	store_free(&store);
}

/* bare */

struct row {
	MDB_dbi dbi;
	uint8_t key[512];
	size_t key_len, len;
	size_t run_at, session_at; /* of the ids in the key; SIZE_MAX: none */
	bool numbered;             /* the key is a number that rises */
};

static struct {
	MDB_env *env;
	MDB_dbi dbi[TABLES_MAX];
	char name[TABLES_MAX][64];
	unsigned tables;
	struct row rows[ROWS_MAX];
	unsigned count;
} bare;

static void
check(int rc, const char *what)
{
	if (rc != 0)
		errx(1, "%s: %s", what, mdb_strerror(rc));
}

static MDB_env *
env_open(const char *dir, size_t map, unsigned flags)
{
	MDB_env *env;

	check(mdb_env_create(&env), "env");
	check(mdb_env_set_maxdbs(env, TABLES_MAX), "maxdbs");
	check(mdb_env_set_mapsize(env, map), "mapsize");
	check(mdb_env_open(env, dir, flags, 0600), dir);
	return env;
}

static size_t
find(const MDB_val *key, const uint8_t *id)
{
	const uint8_t *at = memmem(key->mv_data, key->mv_size, id, ULID_BYTES);

	return at == NULL ? SIZE_MAX : (size_t)(at - (uint8_t *)key->mv_data);
}

/* The session of a run: behind the run's id in its record (run_fields). */
static void
session_of(const MDB_val *record, const struct ulid *run, struct ulid *ret)
{
	const uint8_t *at =
	    memmem(record->mv_data, record->mv_size, run->b, ULID_BYTES);

	if (at == NULL)
		errx(1, "a record without its id");
	memcpy(ret->b, at + ULID_BYTES + 2, ULID_BYTES);
}

static void
take_row(MDB_dbi dbi, const MDB_val *k, const MDB_val *v, size_t run_at,
    size_t session_at)
{
	struct row *row = &bare.rows[bare.count++];

	if (bare.count == ROWS_MAX || k->mv_size > sizeof(row->key))
		errx(1, "too many rows");
	row->dbi = dbi;
	memcpy(row->key, k->mv_data, k->mv_size);
	row->key_len = k->mv_size;
	row->len = v->mv_size;
	row->run_at = run_at;
	row->session_at = session_at;
}

/* Is it the total of one of the index rows taken? */
static bool
is_total(const MDB_val *k)
{
	for (unsigned i = 0; i < bare.count; i++)
		if (bare.rows[i].run_at == k->mv_size &&
		    bare.rows[i].key_len == k->mv_size + ULID_BYTES &&
		    memcmp(bare.rows[i].key, k->mv_data, k->mv_size) == 0)
			return true;
	return false;
}

/* Its own rows of one table, and the totals of its index rows. */
static void
take_table(MDB_txn *txn, unsigned table, const struct ulid *run,
    const struct ulid *session)
{
	bool totals = strcmp(bare.name[table], "run_totals") == 0;
	bool numbered = strcmp(bare.name[table], "audit") == 0;
	MDB_cursor *cursor;
	MDB_val k, v;

	check(mdb_cursor_open(txn, bare.dbi[table], &cursor), "cursor");
	while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
		size_t run_at = find(numbered ? &v : &k, run->b);
		size_t session_at = find(&k, session->b);

		if (numbered && run_at != SIZE_MAX) {
			take_row(table, &k, &v, SIZE_MAX, SIZE_MAX);
			bare.rows[bare.count - 1].numbered = true;
		} else if (totals ? is_total(&k) : run_at != SIZE_MAX)
			take_row(table, &k, &v, run_at, session_at);
	}
	mdb_cursor_close(cursor);
}

static void
take_rows(const char *dir)
{
	char path[4096];
	struct ulid run, session;
	MDB_cursor *cursor;
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi main_dbi;
	MDB_val k, v;

	snprintf(path, sizeof(path), "%s/store", dir);
	env = env_open(path, 0, MDB_RDONLY);
	check(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), "read");
	check(mdb_dbi_open(txn, NULL, 0, &main_dbi), "main");
	check(mdb_cursor_open(txn, main_dbi, &cursor), "cursor");
	while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
		unsigned i = bare.tables++;

		snprintf(bare.name[i], sizeof(bare.name[i]), "%.*s",
		    (int)k.mv_size, (char *)k.mv_data);
		check(
		    mdb_dbi_open(txn, bare.name[i], 0, &bare.dbi[i]), "table");
	}
	mdb_cursor_close(cursor);
	for (unsigned i = 0; i < bare.tables; i++)
		if (strcmp(bare.name[i], "runs") == 0) {
			check(
			    mdb_cursor_open(txn, bare.dbi[i], &cursor), "runs");
			check(
			    mdb_cursor_get(cursor, &k, &v, MDB_LAST), "a run");
			memcpy(run.b, k.mv_data, ULID_BYTES);
			session_of(&v, &run, &session);
		}
	for (unsigned i = 0; i < bare.tables; i++)
		take_table(txn, i, &run, &session);
	mdb_env_close(env);
}

static void
put_rows(MDB_txn *txn, const struct ulid *run, const struct ulid *session)
{
	static const uint8_t value[65536];
	static uint64_t number;

	number++;
	for (unsigned i = 0; i < bare.count; i++) {
		struct row *row = &bare.rows[i];
		MDB_val k = { row->key_len, row->key };
		MDB_val v = { row->len, NULL };

		for (size_t b = 0; row->numbered && b < row->key_len; b++)
			row->key[b] = (uint8_t)(number >> (56 - 8 * b));
		if (row->run_at != SIZE_MAX)
			memcpy(row->key + row->run_at, run->b, ULID_BYTES);
		if (row->session_at != SIZE_MAX)
			memcpy(
			    row->key + row->session_at, session->b, ULID_BYTES);
		check(mdb_put(txn, bare.dbi[row->dbi], &k, &v, MDB_RESERVE),
		    "put");
		memcpy(v.mv_data, value, row->len);
	}
}

static void
bare_commit(long group)
{
	struct ulid run, session;
	MDB_txn *txn;

	check(mdb_txn_begin(bare.env, NULL, 0, &txn), "begin");
	for (long i = 0; i < group; i++) {
		run = ulid_new(clock_stamp_ms());
		session = ulid_new(clock_stamp_ms());
		put_rows(txn, &run, &session);
	}
	check(mdb_txn_commit(txn), "commit");
}

static double
cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void
bare_loop(const char *from, const char *to, long group, long seconds)
{
	int64_t begin, now;
	double cpu;
	MDB_txn *txn;
	long n = 0;

	take_rows(from);
	mkdir(to, 0700);
	bare.env = env_open(to, 8ul << 30, 0);
	check(mdb_txn_begin(bare.env, NULL, 0, &txn), "begin");
	for (unsigned i = 0; i < bare.tables; i++)
		check(mdb_dbi_open(txn, bare.name[i], MDB_CREATE, &bare.dbi[i]),
		    "table");
	check(mdb_txn_commit(txn), "commit");
	cpu = cpu_us();
	begin = clock_mono_ms();
	do {
		bare_commit(group);
		n += group;
		now = clock_mono_ms();
	} while (now < begin + seconds * 1000);
	cpu = (cpu_us() - cpu) / (double)n;
	printf("%.1f submissions/s, %u rows and %.1f us each\n",
	    (double)n * 1000 / (double)(now - begin), bare.count, cpu);
	mdb_env_close(bare.env);
}

static long
number(const char *text)
{
	const char *why;
	long n = (long)strtonum(text, 1, 1000000000, &why);

	if (why != NULL)
		errx(2, "%s: %s", text, why);
	return n;
}

int
main(int argc, char *argv[])
{
	if (argc == 4 && strcmp(argv[1], "fill") == 0)
		fill(argv[2], number(argv[3]));
	else if (argc == 6 && strcmp(argv[1], "bare") == 0)
		bare_loop(argv[2], argv[3], number(argv[4]), number(argv[5]));
	else
		errx(2,
		    "usage: rows fill DIR RUNS | rows bare DIR SCRATCH"
		    " GROUP SECONDS");
	return 0;
}
