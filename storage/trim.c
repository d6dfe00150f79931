/*
 * The artifacts' share of the disk: how much they hold, and letting them expire
 * before their time when that is too much. Runs in supervisord.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "storage/artifact.h"
#include "storage/store_impl.h"
#include "storage/sweep.h"

#define BATCH_MAX   10000u
#define LOOKS       20 /* entries looked at for each that may go */
#define TOTAL_NAME  "artifact_bytes"
#define STAMP_BYTES 8
#define PASSES      2 /* the first may have begun in the middle */

struct trim {
	struct store *store;
	int64_t now_ms;
	int64_t tombstone_ms;
	uint64_t budget;
	unsigned max;
	sweep_done_fn *done;
	void *arg;
	struct buf rows;  /* struct artifact_row each: those to go */
	struct buf files; /* struct ulid each: to unlink after the commit */
	struct key next;  /* where the next batch goes on */
	unsigned passes;
	struct sweep_result result;
};

/* Counted row by row; what cannot be read holds nothing. */
static int
count_all(struct store_txn *txn, int64_t *ret_bytes)
{
	struct artifact_row row;
	struct txn_walk w;
	struct key all;
	struct ulid id;
	int64_t n = 0;

	key_init(&all);
	walk_up(&w, txn, TABLE_ARTIFACTS, &all, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key, sizeof(id));
		if (artifact_get(txn, &id, &row) == STORE_OK &&
		    row.state != ARTIFACT_TOMBSTONE)
			n += (int64_t)row.size;
	}
	walk_end(&w);
	*ret_bytes = n;
	return txn->err;
}

static int
total_get(struct store_txn *txn, int64_t *ret_bytes)
{
	int rc = meta_get(txn, TOTAL_NAME, ret_bytes);

	if (rc == STORE_NOT_FOUND || rc == STORE_CORRUPT || rc == STORE_NEWER)
		rc = count_all(txn, ret_bytes);
	return rc;
}

int
artifact_total(struct store_txn *txn, uint64_t *ret_bytes)
{
	int64_t n = 0;
	int rc = total_get(txn, &n);

	if (rc == STORE_OK)
		*ret_bytes = n > 0 ? (uint64_t)n : 0;
	return rc;
}

int
artifact_total_add(struct store_txn *txn, int64_t bytes)
{
	int64_t n = 0;
	int rc = total_get(txn, &n);

	if (rc != STORE_OK)
		return rc;
	n += bytes;
	return meta_put(txn, TOTAL_NAME, n > 0 ? n : 0);
}

/* Looks at one entry of the expiry index; true: its artifact may go. */
static bool
trim_look(struct trim *t, struct txn_walk *w, struct artifact_row *ret_row)
{
	size_t head = STAMP_BYTES + 1;
	struct ulid id;

	if (w->entry.key_len != head + ULID_BYTES ||
	    w->entry.key[STAMP_BYTES] != EXPIRY_ARTIFACT)
		return false;
	memcpy(&id, w->entry.key + head, sizeof(id));
	return artifact_get(w->txn, &id, ret_row) == STORE_OK &&
	    ret_row->state != ARTIFACT_TOMBSTONE &&
	    buf_add(&t->rows, ret_row, sizeof(*ret_row));
}

/*
 * Those that would expire next, until enough is freed. *ret_end: the index ends
 * here.
 */
static int
trim_choose(
    struct trim *t, struct store_txn *txn, int64_t excess, bool *ret_end)
{
	unsigned looks = 0, found = 0;
	struct artifact_row row;
	struct txn_walk w;
	struct key all;

	key_init(&all);
	*ret_end = false;
	walk_up(&w, txn, TABLE_EXPIRY, &all, &t->next);
	while (excess > 0 && found < t->max && looks++ < t->max * LOOKS) {
		if (!walk_next(&w)) {
			*ret_end = true;
			break;
		}
		if (w.entry.key_len <= STORE_KEY_BYTES) {
			key_init(&t->next);
			key_add(&t->next, w.entry.key, w.entry.key_len);
		}
		if (trim_look(t, &w, &row)) {
			found++;
			excess -= (int64_t)row.size;
		}
	}
	walk_end(&w);
	return t->rows.failed ? STORE_NO_MEMORY : txn->err;
}

static int
trim_row(struct trim *t, struct store_txn *txn, const struct artifact_row *row)
{
	bool file, gone;
	struct key k;
	int rc;

	/* Its own entry goes; the tombstone gets another. */
	expiry_key(&k, row->expires_ms, EXPIRY_ARTIFACT, row->id.b, ULID_BYTES);
	txn_delete(txn, TABLE_EXPIRY, &k);
	rc = artifact_expire(
	    txn, &row->id, t->now_ms, t->tombstone_ms, &file, &gone);
	if (rc != STORE_OK)
		return rc;
	t->result.artifacts++;
	t->result.rows++;
	if (file && !buf_add(&t->files, &row->id, sizeof(row->id)))
		return STORE_NO_MEMORY;
	return STORE_OK;
}

static int
trim_write(struct store_txn *txn, void *arg)
{
	struct trim *t = arg;
	struct artifact_row row;
	int64_t total = 0;
	bool end = false;
	int rc;

	memset(&t->result, 0, sizeof(t->result));
	buf_reset(&t->rows);
	buf_reset(&t->files);
	t->next = txn->store->trim_next;
	if ((rc = total_get(txn, &total)) == STORE_OK)
		rc = trim_choose(t, txn, total - (int64_t)t->budget, &end);
	for (size_t at = 0; rc == STORE_OK && at < t->rows.len;
	     at += sizeof(row)) {
		memcpy(&row, t->rows.data + at, sizeof(row));
		rc = trim_row(t, txn, &row);
	}
	if (rc != STORE_OK || (rc = total_get(txn, &total)) != STORE_OK)
		return rc;
	t->passes = t->rows.len > 0 ? 0 : txn->store->trim_passes;
	if (end) {
		key_init(&t->next);
		t->passes++;
	}
	if (total <= (int64_t)t->budget)
		return STORE_OK;
	t->result.more = t->passes < PASSES;
	/* Nothing can go and yet too much is held: the number may be wrong. */
	if (!t->result.more && (rc = count_all(txn, &total)) == STORE_OK)
		rc = meta_put(txn, TOTAL_NAME, total);
	return rc;
}

static void
trim_written(void *arg, int err)
{
	struct trim *t = arg;
	struct ulid id;

	if (err == STORE_OK) {
		t->store->trim_next = t->next;
		t->store->trim_passes = t->result.more ? t->passes : 0;
	}
	for (size_t at = 0; err == STORE_OK && at < t->files.len;
	     at += sizeof(id)) {
		memcpy(&id, t->files.data + at, sizeof(id));
		artifact_file_remove(t->store, &id);
	}
	if (t->done != NULL)
		t->done(t->arg, err, &t->result);
	buf_clear(&t->rows);
	buf_clear(&t->files);
	free(t);
}

enum store_err
store_trim(struct store *s, int64_t now_ms, int64_t tombstone_ms,
    uint64_t budget, unsigned max, sweep_done_fn *done, void *arg)
{
	struct trim *t;

	ASSERT(max > 0 && max <= BATCH_MAX && budget <= INT64_MAX);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return STORE_NO_MEMORY;
	t->store = s;
	t->now_ms = now_ms;
	t->tombstone_ms = tombstone_ms;
	t->budget = budget;
	t->max = max;
	t->done = done;
	t->arg = arg;
	buf_init(&t->rows, BATCH_MAX * sizeof(struct artifact_row));
	buf_init(&t->files, BATCH_MAX * sizeof(struct ulid));
	store_write(s, trim_write, t, trim_written, t);
	return STORE_OK;
}
