/*
 * Lets artifacts expire before their time when they hold too much of the disk.
 * Runs in supervisord.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "storage/artifact.h"
#include "storage/artifact_held.h"
#include "storage/store_impl.h"
#include "storage/sweep.h"

#define BATCH_MAX   10000u
#define LOOKS       20 /* entries looked at for each that may go */
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
	uint32_t uid;     /* whose are to go */
	unsigned passes;
	size_t skip, left; /* owners that have nothing, and may have */
	struct sweep_result result;
};

static int
by_bytes(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return x->uid < y->uid ? -1 : x->uid > y->uid;
}

/*
 * Down to what the next one has, and a share of what all have to lose then.
 * Those before this one have nothing that may go.
 */
static int64_t
owner_excess(const struct owner *o, size_t left, int64_t excess)
{
	int64_t next = left > 1 ? o[1].bytes : 0, beyond;

	beyond = excess - (o->bytes - next);
	if (next == 0 || beyond <= 0)
		return excess;
	return excess - beyond + (beyond + (int64_t)left - 1) / (int64_t)left;
}

/* All who hold something, the most first; *ret_total: what they hold. */
static int
trim_owners(struct store_txn *txn, struct buf *owners, int64_t *ret_total)
{
	uint64_t total = 0;
	int rc = artifact_total(txn, &total);

	if (rc == STORE_OK)
		rc = owners_read(txn, owners, ret_total);
	if (rc == STORE_OK && *ret_total != (int64_t)total)
		rc = owners_correct(txn, owners, ret_total);
	if (rc == STORE_OK && owners->len > 0)
		qsort(owners->data, owners_count(owners), sizeof(struct owner),
		    by_bytes);
	return rc;
}

/* Who is to lose artifacts, and how much; t->left: that, and so many more. */
static int
trim_owner(struct trim *t, struct store_txn *txn, int64_t *ret_excess)
{
	const struct store *s = txn->store;
	const struct owner *list;
	struct buf owners;
	int64_t total = 0;
	size_t n = 0;
	int rc;

	buf_init(&owners, SIZE_MAX);
	rc = trim_owners(txn, &owners, &total);
	list = (const void *)owners.data;
	while (rc == STORE_OK && n < owners_count(&owners) && list[n].bytes > 0)
		n++;
	t->left = 0;
	if (total > (int64_t)t->budget && n > s->trim_skip) {
		t->left = n - s->trim_skip;
		t->uid = list[s->trim_skip].uid;
		*ret_excess = owner_excess(
		    &list[s->trim_skip], t->left, total - (int64_t)t->budget);
	}
	buf_clear(&owners);
	t->next = s->trim_next;
	if (t->uid != s->trim_uid)
		key_init(&t->next);
	return rc;
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
	    ret_row->state != ARTIFACT_TOMBSTONE && ret_row->uid == t->uid &&
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

/* Its owner has nothing that may go, or only seems to hold so much. */
static int
trim_pass_over(struct trim *t, struct store_txn *txn)
{
	uint64_t was = 0, now = 0;
	struct buf owners;
	int64_t sum;
	int rc = STORE_OK;

	t->passes = 0;
	buf_init(&owners, SIZE_MAX);
	/* All numbers are right when one was passed over. */
	if (t->skip == 0 &&
	    (rc = artifact_total_of(txn, t->uid, &was)) == STORE_OK &&
	    (rc = owners_read(txn, &owners, &sum)) == STORE_OK &&
	    (rc = owners_correct(txn, &owners, &sum)) == STORE_OK)
		rc = artifact_total_of(txn, t->uid, &now);
	buf_clear(&owners);
	if (was == now) {
		t->skip++;
		t->left--;
	}
	return rc;
}

/* Where the next batch begins. */
static int
trim_go_on(struct trim *t, struct store_txn *txn, bool end)
{
	const struct store *s = txn->store;
	int rc = STORE_OK;

	t->skip = s->trim_skip;
	t->passes =
	    t->rows.len > 0 || t->uid != s->trim_uid ? 0 : s->trim_passes;
	if (end) {
		key_init(&t->next);
		t->passes++;
	}
	if (t->passes >= PASSES)
		rc = trim_pass_over(t, txn);
	t->result.more = t->left > 0;
	return rc;
}

static int
trim_write(struct store_txn *txn, void *arg)
{
	struct trim *t = arg;
	struct artifact_row row;
	uint64_t total = 0;
	int64_t excess = 0;
	bool end = false;
	int rc;

	memset(&t->result, 0, sizeof(t->result));
	buf_reset(&t->rows);
	buf_reset(&t->files);
	if ((rc = trim_owner(t, txn, &excess)) == STORE_OK && t->left > 0)
		rc = trim_choose(t, txn, excess, &end);
	for (size_t at = 0; rc == STORE_OK && at < t->rows.len;
	     at += sizeof(row)) {
		memcpy(&row, t->rows.data + at, sizeof(row));
		rc = trim_row(t, txn, &row);
	}
	if (rc != STORE_OK || (rc = artifact_total(txn, &total)) != STORE_OK)
		return rc;
	return total > t->budget ? trim_go_on(t, txn, end) : STORE_OK;
}

static void
trim_written(void *arg, int err)
{
	struct trim *t = arg;
	struct ulid id;

	if (err == STORE_OK) {
		t->store->trim_next = t->next;
		t->store->trim_uid = t->uid;
		t->store->trim_passes = t->result.more ? t->passes : 0;
		t->store->trim_skip = t->result.more ? t->skip : 0;
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
