/* A check of the store finds every kind of fault, and none where there is none. */
#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>

#include "t/unit/storage_rest.h"

/* ---- what is done to a sound store ---- */

static int
put_mark(struct store_txn *txn, enum store_table t, struct key *k)
{
	return txn_mark(txn, t, k);
}

static struct key
id_key(const struct ulid *id)
{
	struct key k;

	key_init(&k);
	key_add_ulid(&k, id);
	return k;
}

static int
index_gone(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	run_index_list(&rest.runs[3].rec, INDEX_UID, &k);
	key_add_ulid(&k, &rest.runs[3].rec.id);
	return txn_delete(txn, TABLE_RUN_INDEX, &k);
}

static int
index_extra(struct store_txn *txn, void *arg)
{
	struct ulid other = ulid_new(FX_NOW);
	struct key k;

	(void)arg;
	run_index_list(&rest.runs[3].rec, 0, &k);
	key_add_ulid(&k, &other);
	return put_mark(txn, TABLE_RUN_INDEX, &k);
}

static int
total_wrong(struct store_txn *txn, void *arg)
{
	static const uint8_t seven = 7;
	struct key k;

	(void)arg;
	run_index_list(&rest.runs[3].rec, INDEX_STATUS, &k);
	return txn_put(txn, TABLE_RUN_TOTALS, &k, &seven, 1);
}

static int
event_gone(struct store_txn *txn, void *arg)
{
	struct key k = id_key(&rest.runs[3].rec.id);

	(void)arg;
	key_add_u64(&k, 2);
	return txn_delete(txn, TABLE_EVENTS, &k);
}

static int
run_gone(struct store_txn *txn, void *arg)
{
	struct key k = id_key(&rest.runs[3].rec.id);

	(void)arg;
	return txn_delete(txn, TABLE_RUNS, &k);
}

static int
run_garbage(struct store_txn *txn, void *arg)
{
	struct key k = id_key(&rest.runs[3].rec.id);

	(void)arg;
	return txn_put(txn, TABLE_RUNS, &k, "x", 1);
}

static int
bytes_gone(struct store_txn *txn, void *arg)
{
	struct key k = id_key(&rest.runs[3].small);

	(void)arg;
	return txn_delete(txn, TABLE_ARTIFACT_BYTES, &k);
}

static int
bytes_other(struct store_txn *txn, void *arg)
{
	struct key k = id_key(&rest.runs[3].small);

	(void)arg;
	return txn_put(txn, TABLE_ARTIFACT_BYTES, &k, "x", 1);
}

static int
key_gone(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	key_init(&k);
	key_add(&k, rest.runs[REST_RUNS - 1].identity, STORE_IDENTITY_BYTES);
	return txn_delete(txn, TABLE_IDEM, &k);
}

static int
expiry_gone(struct store_txn *txn, void *arg)
{
	const struct run_record *r = &rest.runs[3].rec;
	struct key k;

	(void)arg;
	expiry_key(&k, r->expires_ms, EXPIRY_RUN, r->id.b, ULID_BYTES);
	return txn_delete(txn, TABLE_EXPIRY, &k);
}

static int
expiry_extra(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	expiry_key(&k, 5, EXPIRY_RUN, rest.runs[3].rec.id.b, ULID_BYTES);
	return put_mark(txn, TABLE_EXPIRY, &k);
}

static int
session_mark_gone(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	key_init(&k);
	key_add_u32(&k, rest.session.uid);
	key_add_ulid(&k, &rest.session.id);
	return txn_delete(txn, TABLE_SESSIONS_BY_UID, &k);
}

static int
odd_key(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	key_init(&k);
	key_add_u8(&k, 200);
	return txn_put(txn, TABLE_EVENTS, &k, "x", 1);
}

static int
audit_gone(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	audit_key(&k, 5);
	return txn_delete(txn, TABLE_AUDIT, &k);
}

static int
artifacts_total(struct store_txn *txn, void *arg)
{
	(void)arg;
	return meta_put(txn, "artifact_bytes", 1);
}

static const struct {
	const char *name;
	store_write_fn *fn;
	enum fault fault;
} cases[] = {
	{ "an entry of a list is gone", index_gone, FAULT_ENTRY_MISSING },
	{ "... and so its total is wrong", index_gone, FAULT_TOTAL_WRONG },
	{ "a list names a run that is not there", index_extra,
	    FAULT_ENTRY_EXTRA },
	{ "a total is wrong", total_wrong, FAULT_TOTAL_WRONG },
	{ "an event is gone", event_gone, FAULT_LOG_WRONG },
	{ "a run's record is gone: its events", run_gone, FAULT_OWNER_MISSING },
	{ "... and its lists", run_gone, FAULT_ENTRY_EXTRA },
	{ "a record is not of its shape", run_garbage, FAULT_RECORD_DAMAGED },
	{ "bytes of an artifact are gone", bytes_gone, FAULT_BYTES_MISSING },
	{ "bytes of an artifact are others", bytes_other, FAULT_BYTES_WRONG },
	{ "a key is gone", key_gone, FAULT_ENTRY_MISSING },
	{ "something never expires", expiry_gone, FAULT_ENTRY_MISSING },
	{ "something expires twice", expiry_extra, FAULT_ENTRY_EXTRA },
	{ "a user's sessions are not all", session_mark_gone,
	    FAULT_ENTRY_MISSING },
	{ "a key of no form", odd_key, FAULT_KEY_WRONG },
	{ "a row of the audit log is gone", audit_gone, FAULT_AUDIT_BROKEN },
	{ "what all artifacts hold", artifacts_total, FAULT_TOTAL_WRONG },
};
#define NCASES (sizeof(cases) / sizeof(cases[0]))

static struct store *
filled(void)
{
	rest_new();
	return fx_open();
}

static void
test_sound(void)
{
	struct store *s = filled();
	struct check_totals t;

	if (!ok(rest_check(s, &t) == 0, "a sound store has no fault"))
		printf("# %s\n", rest_last);
	is_int(t.runs, REST_RUNS, "all runs were looked at");
	is_int(t.artifacts, REST_RUNS + REST_RUNS / 4, "and artifacts");
	is_int(t.files, REST_RUNS / 4, "and their files");
	is_int(t.sessions, 1, "and sessions");
	is_int(t.keys, REST_RUNS, "and keys");
	is_int(t.audit_rows, REST_RUNS, "and rows of the audit log");
	store_free(&s);
	s = rest_open(fx_dir);
	ok(s != NULL && rest_check(s, &t) == 0, "also when it is only read");
	store_free(&s);
}

static void
test_cases(void)
{
	struct check_totals t;
	struct store *s;
	int n;

	for (size_t i = 0; i < NCASES; i++) {
		s = filled();
		is_int(fx_write(s, cases[i].fn, NULL), STORE_OK, "changed");
		n = rest_check(s, &t);
		ok(rest_told[cases[i].fault] > 0, "%s: %s, of %d",
		    cases[i].name, fault_name(cases[i].fault), n);
		store_free(&s);
	}
}

/* ---- files ---- */

static void
file_of(const char *dir, const struct ulid *id, char ret[512])
{
	char name[ULID_CHARS + 1];

	ulid_format(id, name);
	if (strcmp(dir, "artifacts") == 0)
		snprintf(ret, 512, "%s/artifacts/%s/%s", fx_dir,
		    name + ULID_CHARS - 2, name);
	else
		snprintf(ret, 512, "%s/%s/%s", fx_dir, dir, name);
}

static void
flip_file(const char *path, off_t at)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	if (fd == -1 || pread(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	byte ^= 4;
	if (pwrite(fd, &byte, 1, at) != 1)
		err(1, "%s", path);
	close(fd);
}

static void
touch(const char *dir)
{
	struct ulid id = ulid_new(FX_NOW);
	char path[512];
	int fd;

	file_of(dir, &id, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd == -1)
		err(1, "%s", path);
	close(fd);
}

static void
test_files(void)
{
	struct store *s = filled();
	struct check_totals t;
	char path[512];

	file_of("artifacts", &rest.runs[0].big, path);
	flip_file(path, 12345);
	is_int(rest_check(s, &t), 1, "a byte of an artifact's file");
	is_int(rest_told[FAULT_FILE_WRONG], 1, "is told");
	unlink(path);
	is_int(rest_check(s, &t), 1, "a file that is gone");
	is_int(rest_told[FAULT_FILE_MISSING], 1, "is told");
	file_of("spool", &rest.runs[REST_RUNS - 1].rec.id, path);
	flip_file(path, 4999);
	is_int(rest_check(s, &t), 2, "a byte of a spool, too");
	is_int(rest_told[FAULT_SPOOL_WRONG], 1, "is told");
	unlink(path);
	rest_check(s, &t);
	is_int(rest_told[FAULT_SPOOL_WRONG], 1, "and a spool that is gone");
	file_of("sessions", &rest.session.id, path);
	unlink(path);
	is_int(mkdir(path, 0700), 0, "a session's state that is no file");
	rest_check(s, &t);
	is_int(rest_told[FAULT_STATE_WRONG], 1, "is told");
	touch("spool");
	touch("incoming");
	touch("sessions");
	rest_check(s, &t);
	is_int(rest_told[FAULT_FILE_EXTRA], 3, "files that nobody names");
	store_free(&s);
}

/* Each byte of a session's state, and each shorter file. */
static void
test_state(void)
{
	struct store *s = filled();
	struct check_totals t;
	int told = 0, bytes;
	char path[512];
	struct stat st;

	file_of("sessions", &rest.session.id, path);
	if (stat(path, &st) == -1)
		err(1, "%s", path);
	bytes = (int)st.st_size;
	ok(bytes > 7, "a session's state of %d bytes", bytes);
	for (int at = 0; at < bytes; at++) {
		flip_file(path, at);
		told +=
		    rest_check(s, &t) == 1 && rest_told[FAULT_STATE_WRONG] == 1;
		flip_file(path, at);
	}
	is_int(told, bytes, "is told with any byte changed");
	is_int(rest_check(s, &t), 0, "and sound without the change");
	for (int len = bytes; len-- > 0;) {
		is_int(truncate(path, len), 0, "a shorter one");
		told -=
		    rest_check(s, &t) == 1 && rest_told[FAULT_STATE_WRONG] == 1;
	}
	is_int(told, 0, "each is told");
	unlink(path);
	is_int(rest_check(s, &t), 0, "a session may have none");
	store_free(&s);
}

int
main(void)
{
	test_sound();
	test_cases();
	test_files();
	test_state();
	return done_testing();
}
