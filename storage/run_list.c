/*
 * Lists of runs, newest first for readers, oldest first for the queue, and the
 * recovery at start that settles what was running. Runs in supervisord.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "storage/run_index.h"
#include "storage/store_impl.h"

#define RUN_STAMP_MAX ((INT64_C(1) << 48) - 1) /* 48 bits of an id */

/* Entries have no checksum: a key that is too short stands for no run. */
static struct ulid
entry_id(const struct txn_walk *w)
{
	struct ulid id = { { 0 } };

	if (w->entry.key_len < ULID_BYTES)
		return id;
	memcpy(&id, w->entry.key + w->entry.key_len - ULID_BYTES, sizeof(id));
	return id;
}

/* Does the list that was walked have a place for the run? */
static bool
entry_fits(const struct txn_walk *w, const struct run_record *r)
{
	struct key k;

	run_index_list(r, w->prefix.b[0], &k);
	return k.len == w->prefix.len && memcmp(k.b, w->prefix.b, k.len) == 0;
}

/* Visits the run an index entry stands for; false ends the list. */
static bool
visit_entry(struct txn_walk *w, run_visit_fn *fn, void *arg)
{
	struct ulid id = entry_id(w);
	struct run_record r;
	int rc;

	rc = run_get(w->txn, &id, &r);
	if (w->txn->err != STORE_OK)
		return false;
	if (rc == STORE_OK && !entry_fits(w, &r))
		rc = STORE_CORRUPT;
	return fn(&id, rc == STORE_OK ? &r : NULL, rc, arg);
}

/* The first id above all that were made at stamp_ms or earlier. */
static struct ulid
ulid_after(int64_t stamp_ms)
{
	struct ulid id = { { 0 } };

	for (int i = 0; i < 6; i++)
		id.b[i] = (uint8_t)((stamp_ms + 1) >> (40 - 8 * i));
	return id;
}

/* Where a list begins; false when it begins with the newest. */
static bool
range_top(
    const struct run_range *range, const struct key *prefix, struct key *ret)
{
	struct ulid top;
	bool cut = range->until_ms > 0 && range->until_ms < RUN_STAMP_MAX;

	if (cut)
		top = ulid_after(range->until_ms);
	if (range->before != NULL &&
	    (!cut || memcmp(range->before, &top, sizeof(top)) < 0)) {
		top = *range->before;
		cut = true;
	}
	*ret = *prefix;
	if (cut)
		key_add_ulid(ret, &top);
	return cut;
}

/* The next entry of the range. */
static bool
range_next(struct txn_walk *w, const struct run_range *range)
{
	struct ulid id;

	w->txn->store->stats.cursor_steps++;
	if (!walk_next(w))
		return false;
	id = entry_id(w);
	return range->since_ms <= 0 || ulid_time_ms(&id) >= range->since_ms;
}

int
run_list_range(struct store_txn *txn, const struct run_filter *f,
    const struct run_range *range, uint64_t offset, uint64_t limit,
    run_visit_fn *fn, void *arg, uint64_t *ret_total)
{
	struct txn_walk w;
	struct key prefix, top;
	uint64_t total;
	bool cut;
	int rc;

	if ((rc = run_index_prefix(f, &prefix)) != STORE_OK ||
	    (rc = run_index_total(txn, &prefix, &total)) != STORE_OK)
		return rc;
	/* An offset behind the end must not cost a walk to it. */
	if (offset >= total)
		limit = 0;
	cut = range_top(range, &prefix, &top);
	walk_down(&w, txn, TABLE_RUN_INDEX, &prefix, cut ? &top : NULL);
	for (; limit > 0 && range_next(&w, range); limit--) {
		while (offset > 0 && range_next(&w, range))
			offset--;
		if (offset > 0 || !visit_entry(&w, fn, arg))
			break;
	}
	walk_end(&w);
	if (txn->err == STORE_OK && ret_total != NULL)
		*ret_total = total;
	return txn->err;
}

int
run_list_some(struct store_txn *txn, const struct run_filter *f,
    struct run_walk *walk, unsigned work, run_visit_fn *fn, void *arg)
{
	struct run_range range = walk->range;
	struct key prefix, top;
	struct txn_walk w;
	uint64_t total;
	unsigned done = 0;
	bool cut;
	int rc;

	if ((rc = run_index_prefix(f, &prefix)) != STORE_OK ||
	    (rc = run_index_total(txn, &prefix, &total)) != STORE_OK)
		return rc;
	if (walk->begun)
		range.before = &walk->last;
	/* An offset behind the end must not cost a walk to it. */
	walk->done = walk->offset >= total;
	cut = range_top(&range, &prefix, &top);
	walk_down(&w, txn, TABLE_RUN_INDEX, &prefix, cut ? &top : NULL);
	while (!walk->done && done < work) {
		walk->done = !range_next(&w, &range);
		if (walk->done)
			break;
		walk->last = entry_id(&w);
		walk->begun = true;
		done += walk->offset > 0 ? 1 : RUN_WORK_VISIT;
		if (walk->offset > 0)
			walk->offset--;
		else
			walk->done = !visit_entry(&w, fn, arg);
	}
	walk_end(&w);
	return txn->err;
}

int
run_count_range(struct store_txn *txn, const struct run_filter *f,
    const struct run_range *range, uint64_t max, uint64_t *ret_count,
    bool *ret_more)
{
	struct run_range all = *range;
	struct txn_walk w;
	struct key prefix, top;
	uint64_t n = 0;
	bool cut, more;
	int rc;

	if ((rc = run_index_prefix(f, &prefix)) != STORE_OK ||
	    (rc = run_index_flush(txn)) != STORE_OK)
		return rc;
	all.before = NULL;
	cut = range_top(&all, &prefix, &top);
	walk_down(&w, txn, TABLE_RUN_INDEX, &prefix, cut ? &top : NULL);
	while ((more = range_next(&w, &all)) && n < max)
		n++;
	walk_end(&w);
	if (txn->err != STORE_OK)
		return txn->err;
	*ret_count = n;
	*ret_more = more;
	return STORE_OK;
}

int
run_list(struct store_txn *txn, const struct run_filter *f, uint64_t offset,
    uint64_t limit, run_visit_fn *fn, void *arg, uint64_t *ret_total)
{
	const struct run_range all = { .before = NULL };

	return run_list_range(txn, f, &all, offset, limit, fn, arg, ret_total);
}

int
run_list_oldest(struct store_txn *txn, const struct run_filter *f,
    run_visit_fn *fn, void *arg)
{
	struct txn_walk w;
	struct key prefix;
	int rc;

	if ((rc = run_index_prefix(f, &prefix)) != STORE_OK ||
	    (rc = run_index_flush(txn)) != STORE_OK)
		return rc;
	walk_up(&w, txn, TABLE_RUN_INDEX, &prefix, NULL);
	while (walk_next(&w)) {
		txn->store->stats.cursor_steps++;
		if (!visit_entry(&w, fn, arg))
			break;
	}
	walk_end(&w);
	return txn->err;
}

int
run_total(struct store_txn *txn, const struct run_filter *f, uint64_t *ret)
{
	struct key prefix;
	int rc;

	if ((rc = run_index_prefix(f, &prefix)) != STORE_OK)
		return rc;
	return run_index_total(txn, &prefix, ret);
}

struct recovery {
	run_recover_fn *fn;
	void *arg;
	struct buf ids; /* struct ulid each */
	uint32_t epoch;
};

static bool
recovery_collect(
    const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	struct recovery *rec = arg;

	(void)r;
	(void)err;
	return buf_add(&rec->ids, id, sizeof(*id));
}

static int
recovery_settle(
    struct store_txn *txn, struct recovery *rec, const struct ulid *id)
{
	struct run_record r;
	int err, rc;

	err = run_get(txn, id, &r);
	if (txn->err != STORE_OK)
		return txn->err;
	if (err != STORE_OK) {
		memset(&r, 0, sizeof(r));
		r.id = *id;
	}
	rc = rec->fn(txn, &r, err, rec->arg);
	if (rc != STORE_OK || err != STORE_OK)
		return rc;
	return run_update(txn, &r);
}

static int
recovery_write(struct store_txn *txn, void *arg)
{
	struct run_filter f = { .by_status = true, .status = RUN_RUNNING };
	struct recovery *rec = arg;
	int64_t epoch;
	int rc;

	buf_reset(&rec->ids);
	if ((rc = meta_get(txn, "last_epoch", &epoch)) != STORE_OK)
		return rc;
	if (epoch < 0 || epoch >= UINT32_MAX)
		return STORE_CORRUPT;
	rec->epoch = (uint32_t)epoch + 1;
	rc = run_list_oldest(txn, &f, recovery_collect, rec);
	if (rc == STORE_OK && rec->ids.failed)
		rc = STORE_NO_MEMORY;
	if (rc == STORE_OK)
		rc = meta_put(txn, "last_epoch", epoch + 1);
	for (size_t at = 0; rc == STORE_OK && at < rec->ids.len;
	     at += sizeof(struct ulid)) {
		struct ulid id;

		memcpy(&id, rec->ids.data + at, sizeof(id));
		rc = recovery_settle(txn, rec, &id);
	}
	return rc;
}

static void
recovery_done(void *arg, int err)
{
	*(int *)arg = err;
}

int
store_recover(struct store *s, int64_t now_ms, run_recover_fn *fn, void *arg)
{
	struct recovery rec = { .fn = fn, .arg = arg };
	int err = STORE_OK;

	ASSERT(!store_pending(s) && s->epoch == 0);
	buf_init(&rec.ids, SIZE_MAX);
	store_write(s, recovery_write, &rec, recovery_done, &err);
	store_commit(s, now_ms);
	buf_clear(&rec.ids);
	if (err == STORE_OK)
		s->epoch = rec.epoch;
	return err;
}
