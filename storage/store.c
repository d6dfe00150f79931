/*
 * Opens and closes the store and keeps its meta records: schema version,
 * epoch, last stamp, digest key. Runs in supervisord. The file is trusted, so
 * its directory is ours alone; LMDB itself has no defence against a forged one.
 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "ipc/mp.h"
#include "storage/store_impl.h"

#define SCHEMA_VERSION  2
#define META_BYTES      32
#define MAP_BYTES       (64ull << 20)
#define MAP_MAX_BYTES   (64ull << 30)
#define MAP_LEAST_BYTES (1ull << 20)

static const char *const table_names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
};

const char *
store_strerror(int err)
{
	static const char *const texts[STORE__MAX] = {
		[STORE_OK] = "no error",
		[STORE_NOT_FOUND] = "there is no such record",
		[STORE_EXISTS] = "the key is taken",
		[STORE_INVALID] = "a value is not allowed",
		[STORE_LIMIT] = "a limit was reached",
		[STORE_CORRUPT] = "stored data is damaged",
		[STORE_NEWER] = "written by a newer version",
		[STORE_FULL] = "the disk is full or refuses writes",
		[STORE_IO] = "the system refused",
		[STORE_NO_MEMORY] = "out of memory",
		[STORE_CLOSED] = "the store was closed",
		[STORE_BROKEN] = "the disk failed within a commit",
	};

	return err >= 0 && err < STORE__MAX ? texts[err] : "refused";
}

enum store_err
store_err_of_errno(int e)
{
	/* A missing directory or file of ours is no "not found" of a record. */
	return e == ENOENT ? STORE_IO : store_err_of(e);
}

static enum store_err
open_fail(
    struct store_error *ret, enum store_err code, int sys, const char *what)
{
	if (ret != NULL) {
		ret->code = code;
		ret->sys = sys;
		strlcpy(ret->text, what, sizeof(ret->text));
	}
	return code;
}

static int
dir_make(int at, const char *name, int *ret_fd)
{
	if (mkdirat(at, name, 0700) == -1 && errno != EEXIST)
		return errno;
	*ret_fd =
	    openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd == -1 ? errno : 0;
}

static int
dirs_open(struct store *s, const char *dir)
{
	int rc;

	s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd == -1)
		return errno;
	if ((rc = dir_make(s->dir_fd, "store", &s->store_fd)) != 0 ||
	    (rc = dir_make(s->dir_fd, "artifacts", &s->artifacts_fd)) != 0 ||
	    (rc = dir_make(s->dir_fd, "incoming", &s->incoming_fd)) != 0 ||
	    (rc = dir_make(s->dir_fd, "spool", &s->spool_fd)) != 0 ||
	    (rc = dir_make(s->dir_fd, "sessions", &s->sessions_fd)) != 0)
		return rc;
	return fsync(s->dir_fd) == -1 ? errno : 0;
}

static void
meta_key(struct key *k, const char *name)
{
	key_init(k);
	key_add(k, name, strlen(name));
}

int
meta_put(struct store_txn *txn, const char *name, int64_t value)
{
	struct buf b;
	struct key k;
	int rc;

	buf_init(&b, META_BYTES);
	meta_key(&k, name);
	mp_put_array(&b, 1);
	mp_put_int(&b, value);
	rc = b.failed ? STORE_NO_MEMORY
		      : txn_put(txn, TABLE_META, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

int
meta_get(struct store_txn *txn, const char *name, int64_t *ret_value)
{
	struct mp_reader r;
	const uint8_t *p;
	struct key k;
	uint32_t n;
	int64_t v;
	size_t len;
	int rc;

	meta_key(&k, name);
	if ((rc = txn_get(txn, TABLE_META, &k, &p, &len)) != STORE_OK)
		return rc;
	mp_reader_init(&r, p, len);
	if (!mp_get_array(&r, &n) || n != 1 || !mp_get_int(&r, &v) ||
	    !mp_done(&r))
		return STORE_CORRUPT;
	*ret_value = v;
	return STORE_OK;
}

static void
number_name(char ret[64], const char *name)
{
	snprintf(ret, 64, "number.%.32s", name);
}

int
store_number_put(struct store_txn *txn, const char *name, int64_t value)
{
	char key[64];

	number_name(key, name);
	return meta_put(txn, key, value);
}

int
store_number_get(struct store_txn *txn, const char *name, int64_t *ret_value)
{
	char key[64];
	int rc;

	number_name(key, name);
	rc = meta_get(txn, key, ret_value);
	if (rc == STORE_NOT_FOUND) {
		*ret_value = 0;
		rc = STORE_OK;
	}
	return rc;
}

static int
meta_key_bytes(struct store_txn *txn, bool create)
{
	struct store *s = txn->store;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	meta_key(&k, "digest_key");
	if (create) {
		arc4random_buf(s->digest_key, sizeof(s->digest_key));
		return txn_put(
		    txn, TABLE_META, &k, s->digest_key, sizeof(s->digest_key));
	}
	if ((rc = txn_get(txn, TABLE_META, &k, &p, &len)) != STORE_OK)
		return rc;
	if (len != sizeof(s->digest_key))
		return STORE_CORRUPT;
	memcpy(s->digest_key, p, len);
	return STORE_OK;
}

/* Missing meta records in a store that has a schema are damage. */
static int
meta_read(struct store_txn *txn)
{
	struct store *s = txn->store;
	int64_t epoch;
	int rc;

	if ((rc = meta_get(txn, "stamp", &s->floor_ms)) == STORE_OK &&
	    (rc = meta_get(txn, "last_epoch", &epoch)) == STORE_OK)
		rc = meta_key_bytes(txn, false);
	return rc == STORE_NOT_FOUND ? STORE_CORRUPT : rc;
}

static int
meta_create(struct store_txn *txn)
{
	struct store *s = txn->store;

	s->floor_ms = s->opt.now_ms;
	meta_put(txn, "schema", SCHEMA_VERSION);
	meta_put(txn, "stamp", s->opt.now_ms);
	meta_put(txn, "last_epoch", 0);
	audit_create(txn);
	return meta_key_bytes(txn, true);
}

/* From schema 1, which had no audit log. */
static int
meta_upgrade(struct store_txn *txn, int64_t schema)
{
	if (schema == SCHEMA_VERSION)
		return STORE_OK;
	audit_create(txn);
	return meta_put(txn, "schema", SCHEMA_VERSION);
}

int
meta_open(struct store *s, MDB_txn *mdb)
{
	struct store_txn txn = { .store = s, .mdb = mdb, .writable = true };
	int64_t schema;
	int rc;

	for (int t = 0; t < TABLE__MAX; t++) {
		rc = mdb_dbi_open(mdb, table_names[t], MDB_CREATE, &s->dbi[t]);
		if (rc != 0)
			return txn_note(&txn, rc);
	}
	rc = meta_get(&txn, "schema", &schema);
	if (rc == STORE_NOT_FOUND) {
		MDB_stat st;

		/* Data without a schema is not a new store. */
		if (txn_note(&txn, mdb_stat(mdb, s->dbi[TABLE_META], &st)) !=
		    STORE_OK)
			return txn.err;
		return st.ms_entries != 0 ? STORE_CORRUPT : meta_create(&txn);
	}
	if (rc != STORE_OK)
		return rc;
	if (schema > SCHEMA_VERSION)
		return STORE_NEWER;
	if (schema < 1)
		return STORE_CORRUPT;
	rc = meta_read(&txn);
	return rc == STORE_OK ? meta_upgrade(&txn, schema) : rc;
}

static enum store_err
env_open(struct store *s, const char *dir, struct store_error *ret_error)
{
	char *path;
	int dead, rc;

	if (asprintf(&path, "%s/store", dir) == -1)
		return open_fail(ret_error, STORE_NO_MEMORY, ENOMEM, dir);
	if ((rc = mdb_env_create(&s->env)) == 0 &&
	    (rc = mdb_env_set_maxdbs(s->env, TABLE__MAX)) == 0 &&
	    (rc = mdb_env_set_mapsize(s->env, s->opt.map_bytes)) == 0)
		rc = mdb_env_open(s->env, path, MDB_NOTLS, 0600);
	free(path);
	if (rc != 0)
		return open_fail(ret_error,
		    rc == ENOENT ? STORE_IO : store_err_of(rc), rc,
		    "open the database");
	/* Readers that died with an earlier process would pin old pages. */
	if ((rc = mdb_reader_check(s->env, &dead)) != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "check stale readers");
	return STORE_OK;
}

static enum store_err
tables_open(struct store *s, struct store_error *ret_error)
{
	MDB_envinfo info;
	MDB_txn *mdb;
	int rc;

	if ((rc = mdb_txn_begin(s->env, NULL, 0, &mdb)) != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "begin a transaction");
	if ((rc = meta_open(s, mdb)) != STORE_OK) {
		mdb_txn_abort(mdb);
		return open_fail(
		    ret_error, (enum store_err)rc, 0, "read the schema");
	}
	if ((rc = mdb_txn_commit(mdb)) != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "write the schema");
	/* LMDB syncs what is in its file, not the file's name. */
	if (fsync(s->store_fd) == -1)
		return open_fail(ret_error, store_err_of_errno(errno), errno,
		    "sync the database's directory");
	mdb_env_info(s->env, &info);
	s->stats.map_bytes = info.me_mapsize;
	return STORE_OK;
}

static void
options_fill(struct store_options *o)
{
	if (o->map_bytes == 0)
		o->map_bytes = MAP_BYTES;
	if (o->map_bytes < MAP_LEAST_BYTES)
		o->map_bytes = MAP_LEAST_BYTES;
	if (o->map_max_bytes == 0)
		o->map_max_bytes = MAP_MAX_BYTES;
	if (o->map_max_bytes < o->map_bytes)
		o->map_max_bytes = o->map_bytes;
}

enum store_err
store_open(const char *dir, const struct store_options *opt,
    struct store **ret_store, struct store_error *ret_error)
{
	struct store *s = calloc(1, sizeof(*s));
	enum store_err err;
	int rc;

	if (s == NULL)
		return open_fail(ret_error, STORE_NO_MEMORY, ENOMEM, dir);
	s->magic = STORE_MAGIC;
	s->opt = *opt;
	options_fill(&s->opt);
	buf_init(&s->scratch, SCRATCH_BYTES);
	TAILQ_INIT(&s->ops);
	LIST_INIT(&s->spools);
	s->dir_fd = s->store_fd = -1;
	s->artifacts_fd = s->incoming_fd = -1;
	s->spool_fd = s->sessions_fd = -1;
	/* An earlier process may have died before it synced a new one. */
	s->shards_dirty = true;
	if ((rc = dirs_open(s, dir)) != 0)
		err = open_fail(ret_error, store_err_of_errno(rc), rc,
		    "open the directories");
	else if ((err = env_open(s, dir, ret_error)) == STORE_OK)
		err = tables_open(s, ret_error);
	if (err != STORE_OK) {
		store_free(&s);
		return err;
	}
	reserve_take(s);
	*ret_store = s;
	return STORE_OK;
}

void
store_free(struct store **sp)
{
	struct store *s = *sp;
	struct store_op *op;

	if (s == NULL)
		return;
	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->committing && !s->reading && LIST_EMPTY(&s->spools));
	while ((op = TAILQ_FIRST(&s->ops)) != NULL) {
		TAILQ_REMOVE(&s->ops, op, link);
		if (op->done != NULL)
			op->done(op->done_arg, STORE_CLOSED);
		free(op);
	}
	if (s->read_mdb != NULL)
		mdb_txn_abort(s->read_mdb);
	if (s->env != NULL)
		mdb_env_close(s->env);
	fd_close(&s->sessions_fd);
	fd_close(&s->spool_fd);
	fd_close(&s->incoming_fd);
	fd_close(&s->artifacts_fd);
	fd_close(&s->store_fd);
	fd_close(&s->dir_fd);
	buf_clear(&s->scratch);
	explicit_bzero(s->digest_key, sizeof(s->digest_key));
	s->magic = 0;
	free(s);
	*sp = NULL;
}

int64_t
store_floor_ms(const struct store *s)
{
	return s->floor_ms;
}

uint32_t
store_epoch(const struct store *s)
{
	return s->epoch;
}

struct store_stats
store_stats(const struct store *s)
{
	return s->stats;
}

void
store_digest(const struct store *s, const void *bytes, size_t len,
    uint8_t ret_digest[32])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, sizeof(s->digest_key), s->digest_key);
	hmac_sha256_update(&ctx, len, bytes);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret_digest);
	explicit_bzero(&ctx, sizeof(ctx));
}
