/*
 * A store from the files of a backup. Runs in a process of supervisord's
 * program that does nothing else. The names and the bytes are a stranger's:
 * only names that a backup gives are made, each once, below the one directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "storage/artifact.h"
#include "storage/backup_int.h"

#define DEPTH_MAX    3
#define GONE_MAX     (64u << 20)
#define TOMBSTONE_MS (7 * 86400000ll)

enum target {
	TARGET_NONE,
	TARGET_RECORDS,
	TARGET_GONE,
	TARGET_FILE
};

struct restore {
	int dir_fd;
	char *dir;
	bool claimed; /* what is in the directory is ours */
	bool kept;
	enum target target;
	char name[BACKUP_NAME_CHARS + 1]; /* of the last file that came */
	int fd;                           /* of TARGET_FILE */
	struct sha256_ctx sha;
	struct records *records;
	bool has_records; /* all of them came */
	struct buf gone;
};

/* What this makes in the directory, and nothing else is removed. */
static const char *const made[] = { "store", "artifacts", "incoming", "spool",
	"sessions" };
#define NMADE (sizeof(made) / sizeof(made[0]))

/* The first directory claims the place: it is made by one alone. */
static enum store_err
restore_claim(struct restore *r)
{
	for (size_t i = 0; i < NMADE; i++) {
		if (mkdirat(r->dir_fd, made[i], 0700) == -1)
			return errno == EEXIST ? STORE_EXISTS
					       : store_err_of_errno(errno);
		r->claimed = true;
	}
	return STORE_OK;
}

static enum store_err
fail(struct store_error *ret, enum store_err code, int sys, const char *what)
{
	if (ret != NULL) {
		ret->code = code;
		ret->sys = sys;
		strlcpy(ret->text, what, sizeof(ret->text));
	}
	return code;
}

enum store_err
restore_new(
    const char *dir, struct restore **ret_restore, struct store_error *error)
{
	struct restore *r = calloc(1, sizeof(*r));
	enum store_err err = STORE_OK;

	if (r == NULL)
		return fail(error, STORE_NO_MEMORY, ENOMEM, dir);
	r->fd = r->dir_fd = -1;
	buf_init(&r->gone, GONE_MAX);
	r->dir = strdup(dir);
	if (r->dir != NULL)
		r->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir_fd == -1)
		err = fail(error, STORE_IO, errno, "open the directory");
	else if (!fd_dir_is_empty(r->dir_fd))
		err = fail(error, STORE_EXISTS, 0, "begin");
	else if ((err = restore_claim(r)) != STORE_OK)
		fail(error, err, errno, "make the directories");
	if (err == STORE_OK)
		*ret_restore = r;
	else
		restore_free(&r);
	return err;
}

/* Files. */

/* "artifacts/XX/ULID" and the like; the directory is made if need be. */
static enum store_err
file_open(struct restore *r, const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *id_text = slash == NULL ? "" : slash + 1;
	char dir[BACKUP_NAME_CHARS + 1], shard[ULID_CHARS + 16];
	struct ulid id;
	int fd;

	if (!ulid_parse(id_text, &id))
		return STORE_CORRUPT;
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - name), name);
	snprintf(shard, sizeof(shard), "artifacts/%s",
	    id_text + ULID_CHARS - SHARD_CHARS);
	if (strcmp(dir, shard) == 0) {
		if (mkdirat(r->dir_fd, dir, 0700) == -1 && errno != EEXIST)
			return store_err_of_errno(errno);
	} else if (strcmp(dir, "spool") != 0 && strcmp(dir, "sessions") != 0) {
		return STORE_CORRUPT;
	}
	fd = openat(r->dir_fd, name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return errno == EEXIST ? STORE_CORRUPT
				       : store_err_of_errno(errno);
	r->fd = fd;
	r->target = TARGET_FILE;
	return STORE_OK;
}

static enum store_err
records_open(struct restore *r, uint64_t size)
{
	enum store_err err;
	char *path;

	if (r->records != NULL || r->has_records)
		return STORE_CORRUPT;
	if (asprintf(&path, "%s/store", r->dir) == -1)
		return STORE_NO_MEMORY;
	err = records_new(path, size, &r->records);
	free(path);
	r->target = TARGET_RECORDS;
	return err;
}

enum store_err
restore_file(struct restore *r, const char *name, uint64_t size)
{
	if (r->target != TARGET_NONE || strlen(name) > BACKUP_NAME_CHARS)
		return STORE_CORRUPT;
	strlcpy(r->name, name, sizeof(r->name));
	sha256_init(&r->sha);
	if (strcmp(name, RECORDS_FILE) == 0)
		return records_open(r, size);
	if (strcmp(name, GONE_FILE) != 0)
		return file_open(r, name);
	if (r->gone.len > 0)
		return STORE_CORRUPT;
	r->target = TARGET_GONE;
	return STORE_OK;
}

enum store_err
restore_data(struct restore *r, const void *bytes, size_t len)
{
	int rc;

	sha256_update(&r->sha, len, bytes);
	switch (r->target) {
	case TARGET_RECORDS:
		return records_take(r->records, bytes, len);
	case TARGET_GONE:
		return buf_add(&r->gone, bytes, len) ? STORE_OK : STORE_LIMIT;
	case TARGET_FILE:
		rc = fd_write_all(r->fd, bytes, len);
		return rc == 0 ? STORE_OK : store_err_of_errno(rc);
	case TARGET_NONE:
		break;
	}
	return STORE_CORRUPT;
}

enum store_err
restore_end(struct restore *r, const uint8_t sha256[BACKUP_SUM_BYTES])
{
	enum target target = r->target;
	uint8_t sum[BACKUP_SUM_BYTES];
	enum store_err err = STORE_OK;

	if (target == TARGET_NONE)
		return STORE_CORRUPT;
	r->target = TARGET_NONE;
	fd_close(&r->fd);
	sha256_digest(&r->sha, sizeof(sum), sum);
	if (memcmp(sum, sha256, sizeof(sum)) != 0)
		return STORE_CORRUPT;
	if (target == TARGET_RECORDS) {
		err = records_end(r->records);
		records_free(&r->records);
		r->has_records = err == STORE_OK;
	}
	return err;
}

/* Finishing. */

/* As if retention had done it before the backup. */
static int
bury(struct store_txn *txn, const struct ulid *id, int64_t now_ms)
{
	struct artifact_row row;
	bool file, gone;
	struct key k;
	int rc = artifact_get(txn, id, &row);

	if (rc != STORE_OK || row.state != ARTIFACT_IN_FILE)
		return rc == STORE_OK ? STORE_CORRUPT : rc;
	if (row.expires_ms != 0) {
		expiry_key(
		    &k, row.expires_ms, EXPIRY_ARTIFACT, id->b, ULID_BYTES);
		txn_delete(txn, TABLE_EXPIRY, &k);
	}
	return artifact_expire(txn, id, now_ms, TOMBSTONE_MS, &file, &gone);
}

static int
bury_all(struct store_txn *txn, void *arg)
{
	const struct restore *r = arg;
	int64_t now_ms = store_floor_ms(txn->store);
	char text[ULID_CHARS + 1];
	struct ulid id;
	int rc = STORE_OK;

	if (r->gone.len % sizeof(text) != 0)
		return STORE_CORRUPT;
	for (size_t at = 0; rc == STORE_OK && at < r->gone.len;
	     at += sizeof(text)) {
		memcpy(text, r->gone.data + at, sizeof(text));
		if (text[ULID_CHARS] != '\n')
			return STORE_CORRUPT;
		text[ULID_CHARS] = '\0';
		rc = ulid_parse(text, &id) ? bury(txn, &id, now_ms)
					   : STORE_CORRUPT;
	}
	return rc;
}

static void
on_buried(void *arg, int err)
{
	*(int *)arg = err;
}

enum store_err
restore_finish(struct restore *r, struct store_error *error)
{
	struct store_options options = { .now_ms = 1 };
	struct store *s = NULL;
	enum store_err err;
	int rc = STORE_OK;

	if (!r->has_records || r->target != TARGET_NONE)
		return fail(
		    error, STORE_CORRUPT, 0, "read all that a backup has");
	if ((err = store_open(r->dir, &options, &s, error)) != STORE_OK)
		return err;
	if (r->gone.len > 0) {
		store_write(s, bury_all, r, on_buried, &rc);
		err = store_commit(s, store_floor_ms(s));
		if (err == STORE_OK)
			err = (enum store_err)rc;
	}
	store_free(&s);
	return err == STORE_OK
	    ? err
	    : fail(error, err, 0, "note which artifacts had expired");
}

static int
tell_restored(struct store_txn *txn, void *arg)
{
	const struct audit_entry e = { .time_ms = *(const int64_t *)arg,
		.actor = AUDIT_SERVICE,
		.action = AUDIT_STORE_RESTORE };

	return audit_append(txn, &e);
}

enum store_err
restore_tell(struct restore *r, int64_t now_ms)
{
	struct store_options options = { .now_ms = 1 };
	struct store_error error;
	struct store *s = NULL;
	enum store_err err = store_open(r->dir, &options, &s, &error);
	int rc = STORE_OK;

	if (err != STORE_OK)
		return err;
	store_write(s, tell_restored, &now_ms, on_buried, &rc);
	err = store_commit(s, store_floor_ms(s));
	store_free(&s);
	return err == STORE_OK ? (enum store_err)rc : err;
}

const char *
restore_name(const struct restore *r)
{
	return r->name;
}

void
restore_keep(struct restore *r)
{
	r->kept = true;
}

/* Takes the descriptor. */
static void
remove_below(int fd, int depth)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int sub;

	if (d == NULL) {
		fd_close(&fd);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) == 0 || depth == 0)
			continue;
		sub = openat(dirfd(d), e->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub != -1)
			remove_below(sub, depth - 1);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

static void
remove_made(const struct restore *r)
{
	int fd;

	for (size_t i = 0; i < NMADE; i++) {
		fd = openat(r->dir_fd, made[i],
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd != -1)
			remove_below(fd, DEPTH_MAX);
		unlinkat(r->dir_fd, made[i], AT_REMOVEDIR);
	}
}

void
restore_free(struct restore **restore)
{
	struct restore *r = *restore;

	if (r == NULL)
		return;
	records_free(&r->records);
	fd_close(&r->fd);
	if (r->claimed && !r->kept)
		remove_made(r);
	fd_close(&r->dir_fd);
	buf_clear(&r->gone);
	free(r->dir);
	free(r);
	*restore = NULL;
}
