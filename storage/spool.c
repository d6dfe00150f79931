/*
 * Spools of running runs. Runs in supervisord. A spool whose bytes could not be
 * made durable refuses journal rows; it never fails the writes of other runs.
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
#include "storage/spool.h"
#include "storage/store_impl.h"

#define SPOOL_MAGIC 0x73706f6fu
#define COPY_BYTES  65536

struct spool {
	struct file_sync sync; /* first */
	uint32_t magic;
	LIST_ENTRY(spool) link;
	struct store *store;
	struct ulid run;
	int fd;
	uint64_t end;
	uint64_t max_bytes;
	uint64_t syncing;   /* the end when the sync began */
	uint64_t synced;    /* bytes before it are on the disk */
	bool named;         /* so is its name; only whoever syncs looks here */
	bool dropped;       /* freed while it is synced */
	enum store_err err; /* sticky: bytes may be missing */
};

static void
spool_sync_begin(struct file_sync *f)
{
	struct spool *sp = (struct spool *)f;

	sp->syncing = sp->end;
}

static enum store_err
spool_sync_wait(struct file_sync *f)
{
	struct spool *sp = (struct spool *)f;

	if (!sp->named && fsync(sp->store->spool_fd) == -1)
		return store_err_of_errno(errno);
	sp->named = true;
	if (fdatasync(sp->fd) == -1)
		return store_err_of_errno(errno);
	return STORE_OK;
}

/* After a failure the kernel may forget the bytes: it stays. */
static void
spool_sync_over(struct file_sync *f, enum store_err err)
{
	struct spool *sp = (struct spool *)f;

	if (sp->err == STORE_OK)
		sp->err = err;
	if (sp->err == STORE_OK)
		sp->synced = sp->syncing;
	CRASH_POINT(spool_synced);
	if (sp->dropped)
		spool_free(&sp);
	else if (sp->err == STORE_OK && sp->end > sp->syncing)
		file_sync_queue(sp->store, f); /* what came meanwhile */
}

static enum store_err
spool_file(struct spool *sp, uint64_t end)
{
	char name[ULID_CHARS + 1];
	struct stat st;

	ulid_format(&sp->run, name);
	sp->fd = openat(sp->store->spool_fd, name,
	    O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (sp->fd == -1 || fstat(sp->fd, &st) == -1)
		return store_err_of_errno(errno);
	CRASH_POINT(spool_opened);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < end)
		return STORE_CORRUPT;
	if (ftruncate(sp->fd, (off_t)end) == -1)
		return store_err_of_errno(errno);
	return STORE_OK;
}

enum store_err
spool_open(struct store *s, const struct ulid *run, uint64_t end,
    uint64_t max_bytes, struct spool **ret_spool)
{
	struct spool *sp;
	enum store_err err;
	int sys;

	LIST_FOREACH(sp, &s->spools, link)
		ASSERT(memcmp(&sp->run, run, sizeof(*run)) != 0);
	errno = 0;
	if ((sp = calloc(1, sizeof(*sp))) == NULL)
		return STORE_NO_MEMORY;
	sp->magic = SPOOL_MAGIC;
	sp->store = s;
	sp->run = *run;
	sp->end = sp->synced = end;
	sp->max_bytes = max_bytes;
	sp->sync.begin = spool_sync_begin;
	sp->sync.wait = spool_sync_wait;
	sp->sync.over = spool_sync_over;
	LIST_INSERT_HEAD(&s->spools, sp, link);
	if ((err = spool_file(sp, end)) != STORE_OK) {
		sys = errno;
		spool_free(&sp);
		errno = sys;
		return err;
	}
	*ret_spool = sp;
	return STORE_OK;
}

static int
write_at(int fd, const uint8_t *p, size_t len, uint64_t offset)
{
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, p, len, (off_t)offset);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == -1 ? errno : ENOSPC;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

enum store_err
spool_append(struct spool *sp, const void *bytes, size_t len,
    struct journal_extent *extent)
{
	struct sha256_ctx sha;
	int rc;

	MAGIC_CHECK(sp, SPOOL_MAGIC);
	if (sp->err != STORE_OK)
		return sp->err;
	if (sp->end > sp->max_bytes || len > sp->max_bytes - sp->end)
		return STORE_LIMIT;
	/* A cut write leaves end where it was: the next one covers it. */
	if ((rc = write_at(sp->fd, bytes, len, sp->end)) != 0)
		return store_err_of_errno(rc);
	sha256_init(&sha);
	sha256_update(&sha, len, bytes);
	sha256_digest(&sha, SHA256_DIGEST_SIZE, extent->sha256);
	extent->offset = sp->end;
	extent->len = len;
	sp->end += len;
	file_sync_queue(sp->store, &sp->sync);
	CRASH_POINT(spool_appended);
	return STORE_OK;
}

static enum store_err
read_piece(struct spool *sp, uint64_t offset, uint8_t *to, size_t len)
{
	ssize_t n;

	while (len > 0) {
		n = pread(sp->fd, to, len, (off_t)offset);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return STORE_IO;
		if (n == 0)
			return STORE_CORRUPT;
		to += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return STORE_OK;
}

enum store_err
spool_copy(
    struct spool *sp, const struct journal_extent *e, struct artifact_writer *w)
{
	uint8_t piece[COPY_BYTES], sum[SHA256_DIGEST_SIZE];
	enum store_err err;
	struct sha256_ctx sha;
	size_t n;

	MAGIC_CHECK(sp, SPOOL_MAGIC);
	sha256_init(&sha);
	for (uint64_t at = 0; at < e->len; at += n) {
		n = e->len - at < sizeof(piece) ? (size_t)(e->len - at)
						: sizeof(piece);
		err = read_piece(sp, e->offset + at, piece, n);
		if (err == STORE_OK)
			err = artifact_writer_append(w, piece, n);
		if (err != STORE_OK)
			return err;
		sha256_update(&sha, n, piece);
	}
	sha256_digest(&sha, SHA256_DIGEST_SIZE, sum);
	return memcmp(sum, e->sha256, sizeof(sum)) == 0 ? STORE_OK
							: STORE_CORRUPT;
}

void
spool_free(struct spool **spp)
{
	struct spool *sp = *spp;

	if (sp == NULL)
		return;
	MAGIC_CHECK(sp, SPOOL_MAGIC);
	*spp = NULL;
	if (!sp->dropped)
		LIST_REMOVE(sp, link);
	sp->dropped = !file_sync_cancel(sp->store, &sp->sync);
	if (sp->dropped)
		return;
	fd_close(&sp->fd);
	sp->magic = 0;
	free(sp);
}

enum store_err
spool_remove(struct store *s, const struct ulid *run)
{
	char name[ULID_CHARS + 1];

	ulid_format(run, name);
	CRASH_POINT(spool_unneeded);
	if (unlinkat(s->spool_fd, name, 0) == -1 && errno != ENOENT)
		return STORE_IO;
	return STORE_OK;
}

int
spool_check(struct store *s, const struct ulid *run, uint64_t end)
{
	struct spool *sp;

	LIST_FOREACH(sp, &s->spools, link)
		if (memcmp(&sp->run, run, sizeof(*run)) == 0) {
			if (sp->err != STORE_OK)
				return (int)sp->err;
			return end <= sp->synced ? STORE_OK : STORE_INVALID;
		}
	return STORE_INVALID;
}
