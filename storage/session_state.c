/*
 * Files with the state of sessions' browsers. Runs in supervisord, which never
 * looks into them. One is written under a name of its own in incoming/ and
 * renamed when all of it is on the disk. It ends with a seal, by which whoever
 * reads it knows that it is what was written, all of it, for that session.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/panic.h"
#include "storage/crc32c.h"
#include "storage/session.h"
#include "storage/store_impl.h"

#define STATE_MAGIC  0x73746174u
#define SEAL_VERSION 1

struct session_state {
	struct file_sync sync; /* first */
	uint32_t magic;
	struct store *store;
	struct ulid session;
	char name[ULID_CHARS + 1]; /* in incoming/ */
	int fd;
	size_t size;
	uint32_t crc;
	bool linked; /* the name is there */
	bool failed;
	session_state_fn *done;
	void *arg;
};

/* The seal: its version, and a CRC-32C of that, the session and the state. */
static uint32_t
seal_crc(const struct ulid *session)
{
	static const uint8_t version = SEAL_VERSION;

	return crc32c(
	    crc32c(0, &version, sizeof(version)), session->b, ULID_BYTES);
}

static void
seal_put(uint32_t crc, uint8_t ret[STATE_SEAL_BYTES])
{
	ret[0] = SEAL_VERSION;
	for (int i = 1; i < STATE_SEAL_BYTES; i++)
		ret[i] = (uint8_t)(crc >> (32 - 8 * i));
}

static bool
seal_fits(const struct ulid *session, const uint8_t *bytes, size_t len)
{
	uint8_t seal[STATE_SEAL_BYTES];

	if (len < sizeof(seal))
		return false;
	len -= sizeof(seal);
	seal_put(crc32c(seal_crc(session), bytes, len), seal);
	return memcmp(seal, bytes + len, sizeof(seal)) == 0;
}

enum store_err
session_state_new(
    struct store *s, const struct ulid *session, struct session_state **ret)
{
	struct session_state *st = calloc(1, sizeof(*st));
	enum store_err err;
	struct ulid id;

	if (st == NULL)
		return STORE_NO_MEMORY;
	st->magic = STATE_MAGIC;
	st->store = s;
	st->session = *session;
	st->crc = seal_crc(session);
	/* Another name than the session's: two writers must not meet. */
	id = ulid_new(ulid_time_ms(session));
	ulid_format(&id, st->name);
	st->fd = openat(s->incoming_fd, st->name,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (st->fd == -1) {
		err = store_err_of_errno(errno);
		free(st);
		return err;
	}
	st->linked = true;
	*ret = st;
	return STORE_OK;
}

static enum store_err
state_write(struct session_state *st, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	while (len > 0) {
		n = write(st->fd, p, len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			st->failed = true;
			return n == 0 ? STORE_FULL : store_err_of_errno(errno);
		}
		p += n;
		len -= (size_t)n;
	}
	return STORE_OK;
}

enum store_err
session_state_append(struct session_state *st, const void *bytes, size_t len)
{
	enum store_err err;

	MAGIC_CHECK(st, STATE_MAGIC);
	if (st->failed)
		return STORE_IO;
	if (len > LIMIT_STATE_BYTES - st->size)
		return STORE_LIMIT;
	if ((err = state_write(st, bytes, len)) != STORE_OK)
		return err;
	st->crc = crc32c(st->crc, bytes, len);
	st->size += len;
	return STORE_OK;
}

static enum store_err
state_seal(struct session_state *st)
{
	uint8_t seal[STATE_SEAL_BYTES];

	if (st->failed)
		return STORE_IO;
	seal_put(st->crc, seal);
	return state_write(st, seal, sizeof(seal));
}

static enum store_err
state_publish(struct file_sync *f)
{
	struct session_state *st = (struct session_state *)f;
	struct store *s = st->store;
	char name[ULID_CHARS + 1];

	ulid_format(&st->session, name);
	if (fdatasync(st->fd) == -1)
		return store_err_of_errno(errno);
	CRASH_POINT(state_synced);
	if (renameat(s->incoming_fd, st->name, s->sessions_fd, name) == -1)
		return store_err_of_errno(errno);
	st->linked = false;
	CRASH_POINT(state_renamed);
	if (fsync(s->sessions_fd) == -1)
		return store_err_of_errno(errno);
	CRASH_POINT(state_stored);
	return STORE_OK;
}

static void
state_published(struct file_sync *f, enum store_err err)
{
	struct session_state *st = (struct session_state *)f;

	st->done(st->arg, err);
	session_state_free(&st);
}

enum store_err
session_state_commit(struct session_state *st)
{
	enum store_err err;

	MAGIC_CHECK(st, STATE_MAGIC);
	err = state_seal(st);
	return err == STORE_OK ? state_publish(&st->sync) : err;
}

enum store_err
session_state_queue(
    struct session_state **state, session_state_fn *done, void *arg)
{
	struct session_state *st = *state;
	enum store_err err;

	MAGIC_CHECK(st, STATE_MAGIC);
	if ((err = state_seal(st)) != STORE_OK)
		return err;
	st->done = done;
	st->arg = arg;
	st->sync.wait = state_publish;
	st->sync.over = state_published;
	file_sync_queue(st->store, &st->sync);
	*state = NULL;
	return STORE_OK;
}

void
session_state_free(struct session_state **state)
{
	struct session_state *st = *state;

	if (st == NULL)
		return;
	MAGIC_CHECK(st, STATE_MAGIC);
	if (st->linked)
		unlinkat(st->store->incoming_fd, st->name, 0);
	fd_close(&st->fd);
	st->magic = 0;
	free(st);
	*state = NULL;
}

enum store_err
session_state_open(
    struct store *s, const struct ulid *session, int *ret_fd, size_t *ret_len)
{
	char name[ULID_CHARS + 1];
	struct stat st;
	int fd;

	ulid_format(session, name);
	fd = openat(s->sessions_fd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return errno == ENOENT ? STORE_NOT_FOUND
				       : store_err_of_errno(errno);
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    st.st_size > (off_t)STATE_FILE_BYTES) {
		fd_close(&fd);
		return STORE_CORRUPT;
	}
	*ret_fd = fd;
	*ret_len = (size_t)st.st_size;
	return STORE_OK;
}

/* The whole file at the end of *ret, which keeps its length. */
static enum store_err
file_load(struct store *s, const struct ulid *session, struct buf *ret,
    size_t *ret_len)
{
	enum store_err err;
	uint8_t *room;
	int fd = -1;

	if ((err = session_state_open(s, session, &fd, ret_len)) != STORE_OK)
		return err;
	room = buf_reserve(ret, *ret_len);
	if (room == NULL)
		err = STORE_NO_MEMORY;
	else if (pread(fd, room, *ret_len, 0) != (ssize_t)*ret_len)
		err = STORE_IO;
	fd_close(&fd);
	return err;
}

enum store_err
session_state_read(struct store *s, const struct ulid *session, struct buf *ret)
{
	enum store_err err;
	size_t len = 0;

	if ((err = file_load(s, session, ret, &len)) != STORE_OK)
		return err;
	if (!seal_fits(session, ret->data + ret->len, len))
		return STORE_CORRUPT;
	ret->len += len - STATE_SEAL_BYTES;
	return STORE_OK;
}

/* What cannot be read, or is no state, is left for a check to find. */
static enum store_err
seal_old(struct store *s, const struct ulid *session, struct buf *bytes)
{
	struct session_state *st = NULL;
	enum store_err err;
	size_t len = 0;

	buf_reset(bytes);
	err = file_load(s, session, bytes, &len);
	if (err != STORE_OK)
		return err == STORE_NO_MEMORY ? err : STORE_OK;
	if (seal_fits(session, bytes->data, len) || len > LIMIT_STATE_BYTES)
		return STORE_OK;
	if ((err = session_state_new(s, session, &st)) != STORE_OK)
		return err;
	if ((err = session_state_append(st, bytes->data, len)) == STORE_OK)
		err = session_state_commit(st);
	session_state_free(&st);
	return err;
}

enum store_err
session_states_seal(struct store *s)
{
	int fd =
	    openat(s->sessions_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	enum store_err err = STORE_OK;
	struct dirent *e;
	struct buf bytes;
	struct ulid id;

	if (d == NULL) {
		fd_close(&fd);
		return STORE_IO;
	}
	buf_init_secret(&bytes, STATE_FILE_BYTES);
	/* One that was just renamed may come again: it has its seal. */
	while (err == STORE_OK && (e = readdir(d)) != NULL)
		if (ulid_parse(e->d_name, &id))
			err = seal_old(s, &id, &bytes);
	buf_clear(&bytes);
	closedir(d);
	return err;
}

void
session_state_remove(struct store *s, const struct ulid *session)
{
	char name[ULID_CHARS + 1];

	ulid_format(session, name);
	unlinkat(s->sessions_fd, name, 0);
}
