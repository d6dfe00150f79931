/* storage_fixture: a private directory and a store in it, for storage tests. */
#ifndef T_UNIT_STORAGE_FIXTURE_H
#define T_UNIT_STORAGE_FIXTURE_H

#include <err.h>
#include <ftw.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/run.h"
#include "t/unit/tap.h"

#define FX_NOW 1700000000000ll

static char fx_dir[256];

static inline int
fx_unlink(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static inline void
fx_remove(void)
{
	if (fx_dir[0] != '\0')
		nftw(fx_dir, fx_unlink, 16, FTW_DEPTH | FTW_PHYS);
	fx_dir[0] = '\0';
}

static inline void
fx_new(void)
{
	const char *tmp = getenv("TMPDIR");
	static bool registered;

	fx_remove();
	if (!registered)
		registered = atexit(fx_remove) == 0;
	snprintf(fx_dir, sizeof(fx_dir), "%s/storage-test.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(fx_dir) == NULL)
		err(1, "mkdtemp");
}

static inline struct store *
fx_open_with(const struct store_options *opt)
{
	struct store *s = NULL;
	struct store_error e;

	if (store_open(fx_dir, opt, &s, &e) != STORE_OK)
		errx(1, "store_open: %s: %s (%d)", e.text,
		    store_strerror((int)e.code), e.sys);
	return s;
}

static inline struct store *
fx_open(void)
{
	struct store_options opt = { .map_bytes = 4 << 20, .now_ms = FX_NOW };

	return fx_open_with(&opt);
}

static inline void
fx_done(void *arg, int err)
{
	*(int *)arg = err;
}

/* One write, one commit. */
static inline int
fx_write_at(struct store *s, store_write_fn *fn, void *arg, int64_t now_ms)
{
	int result = -1;

	store_write(s, fn, arg, fx_done, &result);
	store_commit(s, now_ms);
	return result;
}

static inline int
fx_write(struct store *s, store_write_fn *fn, void *arg)
{
	return fx_write_at(s, fn, arg, FX_NOW);
}

static inline struct store_txn *
fx_read(struct store *s)
{
	struct store_txn *txn = NULL;

	if (store_read_begin(s, &txn) != STORE_OK)
		errx(1, "store_read_begin");
	return txn;
}

static inline struct run_record
fx_run_at(int64_t ms)
{
	struct run_record r;

	memset(&r, 0, sizeof(r));
	r.id = ulid_new(ms);
	r.session = ulid_new(ms);
	r.owns_session = true;
	r.uid = 1000;
	r.attempt = 1;
	r.status = RUN_QUEUED;
	r.priority = PRIORITY_NORMAL;
	r.created_ms = r.updated_ms = ulid_time_ms(&r.id);
	r.limit_ms = 300000;
	strlcpy(r.template_id, "batch_extract_pages", sizeof(r.template_id));
	strlcpy(r.template_version, "1.0.0", sizeof(r.template_version));
	return r;
}

static inline struct run_record
fx_run(void)
{
	return fx_run_at(FX_NOW);
}

static inline int
fx_insert(struct store_txn *txn, void *arg)
{
	return run_insert(txn, arg);
}

struct fx_doc {
	struct run_record r;
	const uint8_t *bytes;
	size_t len;
};

static inline int
fx_write_doc(struct store_txn *txn, void *arg)
{
	struct fx_doc *d = arg;
	int rc;

	rc = run_insert(txn, &d->r);
	return rc != STORE_OK
	    ? rc
	    : run_doc_put(txn, &d->r.id, RUN_DOC_INPUTS, d->bytes, d->len);
}

static inline int
fx_update(struct store_txn *txn, void *arg)
{
	return run_update(txn, arg);
}

static inline int
fx_delete(struct store_txn *txn, void *arg)
{
	unsigned budget = 100000;

	return run_delete(txn, arg, &budget);
}

static inline void
fx_end_run(struct run_record *r, enum run_status status, int64_t ended_ms,
    int64_t expires_ms)
{
	r->status = status;
	r->updated_ms = r->ended_ms = ended_ms;
	r->expires_ms = expires_ms;
}

static inline int
fx_get(struct store *s, const struct ulid *id, struct run_record *ret)
{
	int rc = run_get(fx_read(s), id, ret);

	store_read_end(s);
	return rc;
}

#endif
