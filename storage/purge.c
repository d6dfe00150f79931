/*
 * The purge of files that no row names, at start. Runs in supervisord. It only
 * deletes names that storage gives (ULIDs in their place); when a row cannot be
 * read, its file stays.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "storage/artifact.h"
#include "storage/run.h"
#include "storage/session.h"
#include "storage/store_impl.h"
#include "storage/sweep.h"

typedef bool purge_named_fn(struct store_txn *, const struct ulid *);

static bool
never_named(struct store_txn *txn, const struct ulid *id)
{
	(void)txn;
	(void)id;
	return false;
}

static bool
artifact_named(struct store_txn *txn, const struct ulid *id)
{
	struct artifact_row row;
	int rc = artifact_get(txn, id, &row);

	return rc == STORE_OK ? row.state == ARTIFACT_IN_FILE
			      : rc != STORE_NOT_FOUND;
}

static bool
spool_named(struct store_txn *txn, const struct ulid *id)
{
	struct run_record r;
	int rc = run_get(txn, id, &r);

	return rc == STORE_OK ? !run_status_terminal(r.status)
			      : rc != STORE_NOT_FOUND;
}

static bool
state_named(struct store_txn *txn, const struct ulid *id)
{
	struct run_filter f = {
		.by_status = true, .status = RUN_RUNNING, .session = id
	};
	struct session_record r;
	uint64_t running = 0;

	if (session_get(txn, id, &r) != STORE_NOT_FOUND)
		return true;
	/* The run that makes the session has not ended yet. */
	return run_total(txn, &f, &running) != STORE_OK || running > 0;
}

/* A directory stream of its own, from the start. */
static DIR *
stream_open(int at, const char *name)
{
	int fd =
	    openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);

	if (d == NULL)
		fd_close(&fd);
	return d;
}

struct visit {
	struct store_txn *txn;
	files_unnamed_fn *fn;
	void *arg;
};

static enum store_err
visit_dir(const struct visit *v, enum file_kind kind, int at, const char *name,
    purge_named_fn *named)
{
	DIR *d = stream_open(at, name);
	struct dirent *e;
	struct ulid id;

	if (d == NULL)
		return errno == ENOTDIR || errno == ELOOP ? STORE_OK : STORE_IO;
	while ((e = readdir(d)) != NULL)
		if (ulid_parse(e->d_name, &id) && !named(v->txn, &id))
			v->fn(v->arg, kind, dirfd(d), e->d_name);
	closedir(d);
	return STORE_OK;
}

static enum store_err
visit_shards(const struct visit *v)
{
	DIR *d = stream_open(v->txn->store->artifacts_fd, ".");
	enum store_err err = STORE_OK;
	struct dirent *e;

	if (d == NULL)
		return STORE_IO;
	while (err == STORE_OK && (e = readdir(d)) != NULL) {
		if (strlen(e->d_name) != 2 || e->d_name[0] == '.')
			continue;
		err = visit_dir(
		    v, FILE_ARTIFACT, dirfd(d), e->d_name, artifact_named);
	}
	closedir(d);
	return err;
}

enum store_err
files_unnamed(struct store_txn *txn, files_unnamed_fn *fn, void *arg)
{
	const struct visit v = { txn, fn, arg };
	const struct store *s = txn->store;
	enum store_err err;

	err = visit_dir(&v, FILE_INCOMING, s->incoming_fd, ".", never_named);
	if (err == STORE_OK)
		err = visit_shards(&v);
	if (err == STORE_OK)
		err = visit_dir(&v, FILE_SPOOL, s->spool_fd, ".", spool_named);
	if (err == STORE_OK)
		err =
		    visit_dir(&v, FILE_STATE, s->sessions_fd, ".", state_named);
	return err;
}

static void
purge_one(void *arg, enum file_kind kind, int dir, const char *name)
{
	struct purge_result *r = arg;
	unsigned *const counts[FILE_KIND__MAX] = {
		[FILE_INCOMING] = &r->incoming,
		[FILE_ARTIFACT] = &r->artifacts,
		[FILE_SPOOL] = &r->spools,
		[FILE_STATE] = &r->states,
	};

	if (unlinkat(dir, name, 0) == 0)
		(*counts[kind])++;
	CRASH_POINT(purge_removed);
}

enum store_err
store_purge(struct store *s, struct purge_result *ret)
{
	struct purge_result r = { 0 };
	struct store_txn *txn;
	enum store_err err;

	if ((err = store_read_begin(s, &txn)) != STORE_OK)
		return err;
	err = files_unnamed(txn, purge_one, &r);
	store_read_end(s);
	if (err == STORE_OK)
		*ret = r;
	return err;
}
