/*
 * Opens and closes the store and keeps its meta records: schema version,
 * epoch, last stamp, digest key. Runs in supervisord. The file is trusted, so
 * its directory is ours alone; LMDB itself has no defence against a forged one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/panic.h"
#include "storage/store_impl.h"

#define FILE_NAME       "data.mdb" /* as LMDB has it */
#define NEW_NAME        "data.new"
#define MAP_BYTES       (64ull << 20)
#define MAP_MAX_BYTES   (64ull << 30)
#define MAP_LEAST_BYTES (1ull << 20)

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
		[STORE_OLDER] = ("written by an earlier version: start the "
				 "service once, which upgrades it"),
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
dir_make(const struct store *s, const char *name, int *ret_fd)
{
	if (!s->opt.read_only && mkdirat(s->dir_fd, name, 0700) == -1 &&
	    errno != EEXIST)
		return errno;
	*ret_fd = openat(
	    s->dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd == -1 ? errno : 0;
}

static int
dirs_open(struct store *s, const char *dir)
{
	int rc;

	s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd == -1)
		return errno;
	if ((rc = dir_make(s, "store", &s->store_fd)) != 0 ||
	    (rc = dir_make(s, "artifacts", &s->artifacts_fd)) != 0 ||
	    (rc = dir_make(s, "incoming", &s->incoming_fd)) != 0 ||
	    (rc = dir_make(s, "spool", &s->spool_fd)) != 0 ||
	    (rc = dir_make(s, "sessions", &s->sessions_fd)) != 0)
		return rc;
	return !s->opt.read_only && fsync(s->dir_fd) == -1 ? errno : 0;
}

static enum store_err
env_open(struct store *s, const char *dir, const char *name, unsigned flags,
    struct store_error *ret_error)
{
	char *path;
	int rc;

	if (asprintf(&path, "%s/%s", dir, name) == -1)
		return open_fail(ret_error, STORE_NO_MEMORY, ENOMEM, dir);
	/* A reader maps what the database says of itself. */
	if ((rc = mdb_env_create(&s->env)) == 0 &&
	    (rc = mdb_env_set_maxdbs(s->env, TABLE__MAX)) == 0 &&
	    (s->opt.read_only ||
		(rc = mdb_env_set_mapsize(s->env, s->opt.map_bytes)) == 0))
		rc = mdb_env_open(s->env, path, MDB_NOTLS | flags, 0600);
	free(path);
	if (rc != 0)
		return open_fail(ret_error,
		    rc == ENOENT ? STORE_IO : store_err_of(rc), rc,
		    "open the database");
	return STORE_OK;
}

static enum store_err
tables_open(struct store *s, struct store_error *ret_error)
{
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
	return STORE_OK;
}

/*
 * LMDB takes a database that lost power while it was made for a damaged one,
 * and so does everybody. It gets its name when it is on the disk.
 */
static enum store_err
database_make(struct store *s, const char *dir, struct store_error *ret_error)
{
	enum store_err err;
	struct stat st;

	if (fstatat(s->store_fd, FILE_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > 0)
		return STORE_OK;
	unlinkat(s->store_fd, NEW_NAME, 0);
	err = env_open(
	    s, dir, "store/" NEW_NAME, MDB_NOSUBDIR | MDB_NOLOCK, ret_error);
	if (err == STORE_OK)
		err = tables_open(s, ret_error);
	if (err != STORE_OK)
		return err;
	mdb_env_close(s->env);
	s->env = NULL;
	if (renameat(s->store_fd, NEW_NAME, s->store_fd, FILE_NAME) == -1)
		return open_fail(ret_error, store_err_of_errno(errno), errno,
		    "name the database");
	return STORE_OK;
}

static enum store_err
database_open(struct store *s, const char *dir, struct store_error *ret_error)
{
	enum store_err err;
	MDB_envinfo info;
	int dead, rc;

	if ((err = database_make(s, dir, ret_error)) != STORE_OK ||
	    (err = env_open(s, dir, "store", 0, ret_error)) != STORE_OK)
		return err;
	/* Readers that died with an earlier process would pin old pages. */
	if ((rc = mdb_reader_check(s->env, &dead)) != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "check stale readers");
	if ((err = tables_open(s, ret_error)) != STORE_OK)
		return err;
	CRASH_POINT(store_opened);
	/* LMDB syncs what is in its file, not the file's name. */
	if (fsync(s->store_fd) == -1)
		return open_fail(ret_error, store_err_of_errno(errno), errno,
		    "sync the database's directory");
	mdb_env_info(s->env, &info);
	s->stats.map_bytes = info.me_mapsize;
	return STORE_OK;
}

/* As it is, for a reader. */
static enum store_err
tables_look(struct store *s, struct store_error *ret_error)
{
	MDB_txn *mdb;
	int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &mdb);

	if (rc != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "begin a transaction");
	if ((rc = meta_look(s, mdb)) != STORE_OK) {
		mdb_txn_abort(mdb);
		return open_fail(
		    ret_error, (enum store_err)rc, 0, "read the schema");
	}
	/* Ended by a commit, it leaves the tables open. */
	if ((rc = mdb_txn_commit(mdb)) != 0)
		return open_fail(
		    ret_error, store_err_of(rc), rc, "end a transaction");
	return STORE_OK;
}

static enum store_err
database_look(struct store *s, const char *dir, struct store_error *ret_error)
{
	enum store_err err = env_open(s, dir, "store", MDB_RDONLY, ret_error);

	return err == STORE_OK ? tables_look(s, ret_error) : err;
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
	TAILQ_INIT(&s->files);
	TAILQ_INIT(&s->commit.ops);
	TAILQ_INIT(&s->commit.files);
	LIST_INIT(&s->spools);
	LIST_INIT(&s->writers);
	s->dir_fd = s->store_fd = -1;
	s->artifacts_fd = s->incoming_fd = -1;
	s->spool_fd = s->sessions_fd = -1;
	/* An earlier process may have died before it synced a new one. */
	s->shards_dirty = true;
	if ((rc = dirs_open(s, dir)) != 0)
		err = open_fail(ret_error, store_err_of_errno(rc), rc,
		    "open the directories");
	else if (s->opt.read_only)
		err = database_look(s, dir, ret_error);
	else
		err = database_open(s, dir, ret_error);
	if (err != STORE_OK) {
		store_free(&s);
		return err;
	}
	if (!s->opt.read_only)
		reserve_take(s);
	*ret_store = s;
	return STORE_OK;
}

void
store_give_up(struct store *s)
{
	struct file_sync *f;
	struct store_op *op;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->filling && !s->reading);
	s->given_up = true;
	store_commit_wait(s);
	if (store_committing(s))
		(void)store_commit_tell(s);
	while ((op = TAILQ_FIRST(&s->ops)) != NULL) {
		TAILQ_REMOVE(&s->ops, op, link);
		if (op->done != NULL)
			op->done(op->done_arg, STORE_CLOSED);
		free(op);
	}
	while ((f = TAILQ_FIRST(&s->files)) != NULL) {
		(void)file_sync_cancel(s, f);
		f->over(f, STORE_CLOSED);
	}
}

void
store_free(struct store **sp)
{
	struct store *s = *sp;

	if (s == NULL)
		return;
	store_give_up(s);
	ASSERT(LIST_EMPTY(&s->spools) && LIST_EMPTY(&s->writers));
	committer_free(&s->committer);
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
	explicit_bzero(&s->digest, sizeof(s->digest));
	s->magic = 0;
	free(s);
	*sp = NULL;
}

void
store_clear_readers(struct store *s)
{
	int dead;

	MAGIC_CHECK(s, STORE_MAGIC);
	(void)mdb_reader_check(s->env, &dead);
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
	struct store_stats stats = s->stats;
	struct stat st;
	mdb_filehandle_t fd;

	if (mdb_env_get_fd(s->env, &fd) == 0 && fstat(fd, &st) == 0)
		stats.disk_bytes = (uint64_t)st.st_blocks * 512;
	return stats;
}

void
store_digest(const struct store *s, const void *bytes, size_t len,
    uint8_t ret_digest[32])
{
	struct hmac_sha256_ctx ctx = s->digest;

	hmac_sha256_update(&ctx, len, bytes);
	hmac_sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret_digest);
	explicit_bzero(&ctx, sizeof(ctx));
}
