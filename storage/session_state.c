/*
 * Files with the state of sessions' browsers. Runs in supervisord, which never
 * looks into them. One is written under a name of its own in incoming/ and
 * renamed when all of it is on the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/panic.h"
#include "storage/session.h"
#include "storage/store_impl.h"

#define STATE_MAGIC 0x73746174u

struct session_state {
	uint32_t magic;
	struct store *store;
	struct ulid session;
	char name[ULID_CHARS + 1]; /* in incoming/ */
	int fd;
	size_t size;
	bool linked; /* the name is there */
	bool failed;
};

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

enum store_err
session_state_append(struct session_state *st, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	ssize_t n;

	MAGIC_CHECK(st, STATE_MAGIC);
	if (st->failed)
		return STORE_IO;
	if (len > LIMIT_STATE_BYTES - st->size)
		return STORE_LIMIT;
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
		st->size += (size_t)n;
	}
	return STORE_OK;
}

enum store_err
session_state_commit(struct session_state *st)
{
	struct store *s = st->store;
	char name[ULID_CHARS + 1];

	MAGIC_CHECK(st, STATE_MAGIC);
	if (st->failed)
		return STORE_IO;
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
	    st.st_size > (off_t)LIMIT_STATE_BYTES) {
		fd_close(&fd);
		return STORE_CORRUPT;
	}
	*ret_fd = fd;
	*ret_len = (size_t)st.st_size;
	return STORE_OK;
}

void
session_state_remove(struct store *s, const struct ulid *session)
{
	char name[ULID_CHARS + 1];

	ulid_format(session, name);
	unlinkat(s->sessions_fd, name, 0);
}
