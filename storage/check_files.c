/*
 * Checking files: those of artifacts, the states of sessions, the spools of runs
 * that have not ended, and those that nobody names. Runs where check.c does. A
 * service that goes on meanwhile removes files; what was found missing is asked
 * about again.
 */
#include <errno.h>
#include <fcntl.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fdio.h"
#include "storage/check_int.h"
#include "storage/journal.h"
#include "storage/session.h"

#define PIECE_BYTES (256u << 10)
/* A file gets its row soon after its place; while the service lives. */
#define YOUNG_S 60

static const char *const dir_names[FILE_KIND__MAX] = {
	[FILE_INCOMING] = "incoming",
	[FILE_ARTIFACT] = "artifacts",
	[FILE_SPOOL] = "spool",
	[FILE_STATE] = "sessions",
};

/* At most len bytes from offset on; fewer at the end of the file. */
static enum store_err
file_sum(int fd, uint64_t offset, uint64_t len, uint64_t *ret_len,
    uint8_t ret_sum[SHA256_DIGEST_SIZE])
{
	static uint8_t piece[PIECE_BYTES];
	struct sha256_ctx sha;
	uint64_t got = 0;
	ssize_t n;

	sha256_init(&sha);
	while (got < len) {
		size_t want = len - got < sizeof(piece) ? (size_t)(len - got)
							: sizeof(piece);

		n = pread(fd, piece, want, (off_t)(offset + got));
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return STORE_IO;
		if (n == 0)
			break;
		sha256_update(&sha, (size_t)n, piece);
		got += (uint64_t)n;
	}
	sha256_digest(&sha, SHA256_DIGEST_SIZE, ret_sum);
	*ret_len = got;
	return STORE_OK;
}

/* Spools. */

struct spool_look {
	int fd;
	bool bad;
};

static bool
look_row(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	struct spool_look *l = arg;
	uint8_t sum[SHA256_DIGEST_SIZE];
	uint64_t len;

	(void)index;
	(void)err;
	for (unsigned i = 0; row != NULL && !l->bad && i < row->nextents; i++) {
		const struct journal_extent *e = &row->extents[i];

		l->bad = l->fd == -1 ||
		    file_sum(l->fd, e->offset, e->len, &len, sum) != STORE_OK ||
		    len != e->len || memcmp(sum, e->sha256, sizeof(sum)) != 0;
	}
	return !l->bad;
}

void
check_spool(struct check *c, const struct ulid *run)
{
	char name[ULID_CHARS + 1];
	struct spool_look l = { .fd = -1 };

	ulid_format(run, name);
	l.fd = openat(c->store->spool_fd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	journal_list(c->txn, run, look_row, &l);
	fd_close(&l.fd);
	if (l.bad)
		buf_add(&c->spools, run, sizeof(*run));
}

static void
tell_spools(struct check *c)
{
	struct check_fault f;
	struct run_record r;
	struct ulid run;

	for (size_t at = 0; at < c->spools.len; at += sizeof(run)) {
		memcpy(&run, c->spools.data + at, sizeof(run));
		/* It may just have ended, and its spool with it. */
		if (run_get(c->txn, &run, &r) != STORE_OK ||
		    run_status_terminal(r.status))
			continue;
		f = check_fault_new(
		    FAULT_SPOOL_WRONG, TABLE_JOURNAL, run.b, sizeof(run));
		f.has_run = true;
		f.run = run;
		check_tell(c, &f);
	}
}

/* Artifacts. */

static void
file_path(enum file_kind kind, const char *name, char ret[CHECK_KEY_CHARS + 1])
{
	if (kind == FILE_ARTIFACT)
		snprintf(ret, CHECK_KEY_CHARS + 1, "artifacts/%s/%s",
		    name + ULID_CHARS - 2, name);
	else
		snprintf(
		    ret, CHECK_KEY_CHARS + 1, "%s/%s", dir_names[kind], name);
}

static void
tell_file(struct check *c, const struct check_file *file, enum fault fault,
    const char *detail)
{
	struct check_fault f = { .fault = fault, .table = "files" };
	char name[ULID_CHARS + 1];

	ulid_format(&file->id, name);
	file_path(FILE_ARTIFACT, name, f.key);
	f.has_run = f.has_artifact = true;
	f.run = file->run;
	f.artifact = file->id;
	snprintf(f.detail, sizeof(f.detail), "%s", detail);
	check_tell(c, &f);
}

/* Does a row still name the file? A new transaction sees what is true now. */
static bool
still_named(struct check *c, const struct ulid *id)
{
	struct artifact_row row = { .state = ARTIFACT_IN_FILE };
	struct store_txn *txn;
	bool named = true;

	if (store_read_begin(c->store, &txn) != STORE_OK)
		return true;
	if (artifact_get(txn, id, &row) == STORE_NOT_FOUND ||
	    row.state == ARTIFACT_TOMBSTONE)
		named = false;
	store_read_end(c->store);
	return named;
}

static void
check_file(struct check *c, const struct check_file *file)
{
	uint8_t sum[SHA256_DIGEST_SIZE];
	const char *detail = NULL;
	struct stat st;
	uint64_t len = 0;
	int fd = -1;

	if (artifact_file_open(c->store, &file->id, &fd) != STORE_OK) {
		if (still_named(c, &file->id))
			tell_file(c, file, FAULT_FILE_MISSING, "");
		return;
	}
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		detail = "it is no file";
	else if ((uint64_t)st.st_size != file->size)
		detail = "its size";
	else if (file_sum(fd, 0, file->size, &len, sum) != STORE_OK)
		detail = "it cannot be read";
	else if (len != file->size ||
	    memcmp(sum, file->sha256, sizeof(sum)) != 0)
		detail = "its SHA-256";
	fd_close(&fd);
	c->totals.files++;
	c->totals.bytes += len;
	if (detail != NULL)
		tell_file(c, file, FAULT_FILE_WRONG, detail);
}

/* States of sessions. */

static void
tell_state(struct check *c, const struct ulid *session, enum store_err err)
{
	struct check_fault f = check_fault_new(
	    FAULT_STATE_WRONG, TABLE_SESSIONS, session->b, ULID_BYTES);

	f.has_session = true;
	f.session = *session;
	snprintf(f.detail, sizeof(f.detail), "%s",
	    err == STORE_CORRUPT ? "it is not what was written"
				 : "it cannot be read");
	check_tell(c, &f);
}

static enum store_err
check_states(struct check *c)
{
	enum store_err err = STORE_OK;
	struct ulid session;
	struct buf state;

	buf_init_secret(&state, STATE_FILE_BYTES);
	for (size_t at = 0; at < c->sessions.len && err != STORE_NO_MEMORY;
	     at += sizeof(session)) {
		memcpy(&session, c->sessions.data + at, sizeof(session));
		buf_reset(&state);
		err = session_state_read(c->store, &session, &state);
		/* A session needs none, and may just have ended. */
		if (err != STORE_OK && err != STORE_NOT_FOUND &&
		    err != STORE_NO_MEMORY)
			tell_state(c, &session, err);
	}
	buf_clear(&state);
	return err == STORE_NO_MEMORY ? err : STORE_OK;
}

/* Files that nobody names. */

static void
on_unnamed(void *arg, enum file_kind kind, int dir, const char *name)
{
	struct check_fault f = { .fault = FAULT_FILE_EXTRA, .table = "files" };
	struct check *c = arg;
	struct stat st;

	/* What is being written has no row yet. */
	if (c->live && kind == FILE_INCOMING)
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (c->live && st.st_ctime + YOUNG_S > time(NULL)))
		return;
	file_path(kind, name, f.key);
	check_tell(c, &f);
}

enum store_err
check_files(struct check *c)
{
	struct check_file file;
	enum store_err err;

	for (size_t at = 0; at < c->files.len; at += sizeof(file)) {
		memcpy(&file, c->files.data + at, sizeof(file));
		check_file(c, &file);
		check_progress(c, "files", c->file_bytes_done + file.size,
		    c->file_bytes_done, c->file_bytes);
		c->file_bytes_done += file.size;
	}
	if ((err = check_states(c)) != STORE_OK ||
	    (err = store_read_begin(c->store, &c->txn)) != STORE_OK)
		return err;
	tell_spools(c);
	err = files_unnamed(c->txn, on_unnamed, c);
	store_read_end(c->store);
	return err;
}
