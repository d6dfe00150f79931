/*
 * Files of artifacts and the writer that fills them. Runs in supervisord. All
 * paths are relative to directories opened at start; symlinks are not followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nettle/sha2.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/panic.h"
#include "model/limits.h"
#include "storage/artifact.h"
#include "storage/store_impl.h"

#define WRITER_MAGIC 0x61727477u
#define FLUSH_BYTES  (1u << 20)
#define SHARD_CHARS  2

struct artifact_writer {
	struct file_sync sync; /* first */
	uint32_t magic;
	LIST_ENTRY(artifact_writer) link; /* once finished with a file */
	struct store *store;
	struct ulid id;
	char name[ULID_CHARS + 1];
	uint64_t max_bytes;
	uint64_t size;
	uint64_t flushed; /* handed to the disk early */
	int fd;           /* -1 while all fits into head */
	bool failed;
	bool finished;
	bool published;     /* the file has its name, on the disk */
	bool dropped;       /* freed while it is published */
	enum store_err err; /* why it was not published */
	struct sha256_ctx sha;
	uint8_t head[LIMIT_INLINE_ARTIFACT_BYTES];
};

enum store_err
shard_open(struct store *s, const struct ulid *id, bool create, int *ret_fd)
{
	char name[ULID_CHARS + 1];
	const char *shard = name + ULID_CHARS - SHARD_CHARS;
	int fd;

	/* The last characters are random, the first ones are the time. */
	ulid_format(id, name);
	if (create && mkdirat(s->artifacts_fd, shard, 0700) == 0)
		s->shards_dirty = true;
	else if (create && errno != EEXIST)
		return store_err_of_errno(errno);
	if (create && s->shards_dirty) {
		CRASH_POINT(artifact_sharded);
		if (fsync(s->artifacts_fd) == -1)
			return store_err_of_errno(errno);
		s->shards_dirty = false;
	}
	fd = openat(s->artifacts_fd, shard,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return store_err_of_errno(errno);
	*ret_fd = fd;
	return STORE_OK;
}

void
artifact_file_remove(struct store *s, const struct ulid *id)
{
	char name[ULID_CHARS + 1];
	int dir = -1;

	if (shard_open(s, id, false, &dir) != STORE_OK)
		return;
	ulid_format(id, name);
	CRASH_POINT(artifact_unnamed);
	unlinkat(dir, name, 0);
	CRASH_POINT(artifact_removed);
	fd_close(&dir);
}

static enum store_err
read_at(int fd, const struct artifact_row *row, uint64_t offset, void *to,
    size_t *len)
{
	struct stat st;
	size_t got = 0;
	ssize_t n;

	if (fstat(fd, &st) == -1)
		return STORE_IO;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != row->size)
		return STORE_CORRUPT;
	while (got < *len) {
		n = pread(
		    fd, (char *)to + got, *len - got, (off_t)(offset + got));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return STORE_IO;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	*len = got;
	return STORE_OK;
}

enum store_err
artifact_file_open(struct store *s, const struct ulid *id, int *ret_fd)
{
	char name[ULID_CHARS + 1];
	enum store_err err = STORE_OK;
	int dir = -1, fd;

	if (shard_open(s, id, false, &dir) != STORE_OK)
		return STORE_CORRUPT;
	ulid_format(id, name);
	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		err = errno == ENOENT || errno == ELOOP ? STORE_CORRUPT
							: STORE_IO;
	else
		*ret_fd = fd;
	fd_close(&dir);
	return err;
}

enum store_err
artifact_file_read(struct store *s, const struct artifact_row *row,
    uint64_t offset, void *to, size_t *len)
{
	enum store_err err;
	int fd = -1;

	if (row->state != ARTIFACT_IN_FILE || offset > row->size)
		return STORE_INVALID;
	if ((err = artifact_file_open(s, &row->id, &fd)) != STORE_OK)
		return err;
	err = read_at(fd, row, offset, to, len);
	fd_close(&fd);
	return err;
}

enum store_err
artifact_writer_new(struct store *s, const struct ulid *id, uint64_t max_bytes,
    struct artifact_writer **ret_writer)
{
	struct artifact_writer *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return STORE_NO_MEMORY;
	w->magic = WRITER_MAGIC;
	w->store = s;
	w->id = *id;
	ulid_format(id, w->name);
	w->max_bytes = max_bytes;
	w->fd = -1;
	sha256_init(&w->sha);
	*ret_writer = w;
	return STORE_OK;
}

static enum store_err
writer_spill(struct artifact_writer *w)
{
	int rc;

	w->fd = openat(w->store->incoming_fd, w->name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w->fd == -1)
		return store_err_of_errno(errno);
	CRASH_POINT(artifact_begun);
	rc = fd_write_all(w->fd, w->head, (size_t)w->size);
	return rc == 0 ? STORE_OK : store_err_of_errno(rc);
}

static enum store_err
writer_add(struct artifact_writer *w, const void *bytes, size_t len)
{
	enum store_err err;
	int rc;

	if (w->fd == -1 && len <= sizeof(w->head) - w->size) {
		memcpy(w->head + w->size, bytes, len);
		return STORE_OK;
	}
	if (w->fd == -1 && (err = writer_spill(w)) != STORE_OK)
		return err;
	rc = fd_write_all(w->fd, bytes, len);
	if (rc != 0)
		return store_err_of_errno(rc);
	/* Spreads the writing, so that the one fsync finds little left. */
	if (w->size + len - w->flushed >= FLUSH_BYTES) {
		sync_file_range(w->fd, (off_t)w->flushed,
		    (off_t)(w->size + len - w->flushed), SYNC_FILE_RANGE_WRITE);
		w->flushed = w->size + len;
	}
	return STORE_OK;
}

enum store_err
artifact_writer_append(struct artifact_writer *w, const void *bytes, size_t len)
{
	enum store_err err;

	MAGIC_CHECK(w, WRITER_MAGIC);
	ASSERT(!w->finished);
	if (w->failed)
		return STORE_IO;
	if (len == 0)
		return STORE_OK;
	err = len > w->max_bytes - w->size ? STORE_LIMIT
					   : writer_add(w, bytes, len);
	if (err != STORE_OK) {
		w->failed = true;
		return err;
	}
	sha256_update(&w->sha, len, bytes);
	w->size += len;
	return STORE_OK;
}

/* fsync, rename, fsync of the directory: then a row may name the file. */
static enum store_err
writer_publish(struct file_sync *f)
{
	struct artifact_writer *w = (struct artifact_writer *)f;
	enum store_err err;
	int dir = -1, rc = 0;

	if (fsync(w->fd) == -1)
		return store_err_of_errno(errno);
	CRASH_POINT(artifact_synced);
	if ((err = shard_open(w->store, &w->id, true, &dir)) != STORE_OK)
		return err;
	if (renameat(w->store->incoming_fd, w->name, dir, w->name) == -1)
		rc = errno;
	CRASH_POINT(artifact_renamed);
	if (rc == 0 && fsync(dir) == -1)
		rc = errno;
	CRASH_POINT(artifact_published);
	fd_close(&dir);
	return rc == 0 ? STORE_OK : store_err_of_errno(rc);
}

static void
writer_published(struct file_sync *f, enum store_err err)
{
	struct artifact_writer *w = (struct artifact_writer *)f;

	w->published = err == STORE_OK;
	w->err = err;
	if (!w->dropped)
		return;
	/* No row can name it any more. */
	if (w->published)
		artifact_file_remove(w->store, &w->id);
	artifact_writer_free(&w);
}

int
artifact_file_check(struct store *s, const struct ulid *id)
{
	const struct artifact_writer *w;

	LIST_FOREACH(w, &s->writers, link)
		if (memcmp(&w->id, id, sizeof(*id)) == 0 && !w->published)
			return w->err != STORE_OK ? (int)w->err : STORE_INVALID;
	return STORE_OK;
}

enum store_err
artifact_writer_finish(
    struct artifact_writer *w, struct artifact_row *row, const void **ret_bytes)
{
	MAGIC_CHECK(w, WRITER_MAGIC);
	ASSERT(!w->finished);
	if (w->failed)
		return STORE_IO;
	if (w->fd != -1) {
		w->sync.wait = writer_publish;
		w->sync.over = writer_published;
		file_sync_queue(w->store, &w->sync);
		LIST_INSERT_HEAD(&w->store->writers, w, link);
	}
	w->finished = true;
	row->id = w->id;
	row->size = w->size;
	row->state = w->fd == -1 ? ARTIFACT_IN_ROW : ARTIFACT_IN_FILE;
	sha256_digest(&w->sha, SHA256_DIGEST_SIZE, row->sha256);
	*ret_bytes = w->fd == -1 ? w->head : NULL;
	return STORE_OK;
}

enum store_err
artifact_writer_error(const struct artifact_writer *w)
{
	return w->err;
}

void
artifact_writer_free(struct artifact_writer **wp)
{
	struct artifact_writer *w = *wp;

	if (w == NULL)
		return;
	MAGIC_CHECK(w, WRITER_MAGIC);
	*wp = NULL;
	if (w->finished && w->fd != -1 && !w->dropped)
		LIST_REMOVE(w, link);
	w->dropped = !file_sync_cancel(w->store, &w->sync);
	if (w->dropped)
		return;
	if (w->fd != -1 && !w->published)
		unlinkat(w->store->incoming_fd, w->name, 0);
	fd_close(&w->fd);
	w->magic = 0;
	free(w);
}
