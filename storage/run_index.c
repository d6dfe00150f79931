/* The index of runs and its totals. Runs in supervisord. */
#include <string.h>

#include "common/panic.h"
#include "ipc/mp.h"
#include "storage/run_index.h"
#include "storage/store_impl.h"

int
run_index_prefix(const struct run_filter *f, struct key *ret_prefix)
{
	unsigned with = 0;
	struct key k;

	if (f->template_id != NULL &&
	    strlen(f->template_id) > STORE_TEMPLATE_CHARS)
		return STORE_INVALID;
	with |= f->by_uid ? INDEX_UID : 0;
	with |= f->by_status ? INDEX_STATUS : 0;
	with |= f->template_id != NULL ? INDEX_TEMPLATE : 0;
	with |= f->session != NULL ? INDEX_SESSION : 0;
	key_init(&k);
	key_add_u8(&k, (uint8_t)with);
	if (f->by_uid)
		key_add_u32(&k, f->uid);
	if (f->by_status)
		key_add_u8(&k, (uint8_t)f->status);
	if (f->template_id != NULL)
		key_add(&k, f->template_id, strlen(f->template_id) + 1);
	if (f->session != NULL)
		key_add_ulid(&k, f->session);
	*ret_prefix = k;
	return STORE_OK;
}

static void
prefix_of(const struct index_change *c, unsigned with, struct key *ret_prefix)
{
	struct run_filter f = {
		.by_uid = (with & INDEX_UID) != 0,
		.uid = c->uid,
		.by_status = (with & INDEX_STATUS) != 0,
		.status = c->status,
		.template_id =
		    (with & INDEX_TEMPLATE) != 0 ? c->template_id : NULL,
		.session = (with & INDEX_SESSION) != 0 ? &c->session : NULL,
	};

	run_index_prefix(&f, ret_prefix);
}

void
run_index_list(
    const struct run_record *r, unsigned filter, struct key *ret_prefix)
{
	struct index_change c = {
		.session = r->session, .uid = r->uid, .status = r->status
	};

	strlcpy(c.template_id, r->template_id, sizeof(c.template_id));
	prefix_of(&c, filter, ret_prefix);
}

static uint64_t
count_entries(struct store_txn *txn, const struct key *prefix)
{
	struct txn_walk w;
	uint64_t n = 0;

	walk_up(&w, txn, TABLE_RUN_INDEX, prefix, NULL);
	while (walk_next(&w))
		n++;
	walk_end(&w);
	return n;
}

int
run_index_kept(
    struct store_txn *txn, const struct key *prefix, uint64_t *ret_total)
{
	const uint8_t *p;
	struct mp_reader r;
	uint64_t n = 0;
	size_t len;
	int rc;

	rc = txn_get(txn, TABLE_RUN_TOTALS, prefix, &p, &len);
	if (rc == STORE_OK) {
		mp_reader_init(&r, p, len);
		if (!mp_get_uint(&r, &n) || !mp_done(&r))
			return STORE_CORRUPT;
	}
	if (rc != STORE_OK && rc != STORE_NOT_FOUND)
		return rc;
	*ret_total = n;
	return STORE_OK;
}

/* One that cannot be read blocks no submission: the list knows it. */
static int
total_get(struct store_txn *txn, const struct key *prefix, uint64_t *ret_total,
    bool *ret_counted)
{
	uint64_t n = 0;
	int rc = run_index_kept(txn, prefix, &n);

	*ret_counted = rc == STORE_CORRUPT || rc == STORE_NEWER;
	if (*ret_counted) {
		n = count_entries(txn, prefix);
		rc = txn->err;
	}
	if (rc != STORE_OK)
		return rc;
	*ret_total = n;
	return STORE_OK;
}

static int
total_put(struct store_txn *txn, const struct key *prefix, uint64_t n)
{
	struct buf *b;
	int rc;

	if (n == 0) {
		rc = txn_delete(txn, TABLE_RUN_TOTALS, prefix);
		return rc == STORE_NOT_FOUND ? STORE_OK : rc;
	}
	b = scratch_begin(txn);
	mp_put_uint(b, n);
	rc = b->failed
	    ? STORE_NO_MEMORY
	    : txn_put(txn, TABLE_RUN_TOTALS, prefix, b->data, b->len);
	if (rc == STORE_NO_MEMORY)
		txn_fail(txn, STORE_NO_MEMORY);
	return rc;
}

static void
total_step(uint64_t *n, bool gone)
{
	if (!gone)
		++*n;
	else if (*n > 0)
		--*n;
}

static int
entry_change(struct store_txn *txn, const struct key *k, bool gone)
{
	return gone ? txn_delete(txn, TABLE_RUN_INDEX, k)
		    : txn_mark(txn, TABLE_RUN_INDEX, k);
}

/* Adds or removes an entry, the first of its list to change: its total then. */
static int
list_begin(struct store_txn *txn, const struct key *prefix,
    const struct ulid *id, bool gone, uint64_t *ret_total)
{
	struct key k = *prefix;
	bool counted;
	int rc;

	key_add_ulid(&k, id);
	rc = entry_change(txn, &k, gone);
	if (txn->err != STORE_OK ||
	    total_get(txn, prefix, ret_total, &counted) != STORE_OK)
		return txn->err;
	if (rc == STORE_OK && !counted)
		total_step(ret_total, gone);
	return STORE_OK;
}

/* The same with another one of the list. */
static void
list_go_on(struct store_txn *txn, const struct key *prefix,
    const struct ulid *id, bool gone, uint64_t *total)
{
	struct key k = *prefix;

	key_add_ulid(&k, id);
	if (entry_change(txn, &k, gone) == STORE_OK)
		total_step(total, gone);
}

static bool
key_equals(const struct key *a, const struct key *b)
{
	return a->len == b->len && memcmp(a->b, b->b, a->len) == 0;
}

/*
 * What is queued, in the lists of one filter. Runs that come together are
 * mostly neighbours there, and those of one list share its total.
 */
static void
flush_filter(struct store_txn *txn, unsigned filter)
{
	const struct index_queue *q = &txn->store->index;
	struct key at = { .len = 0 }, prefix;
	uint64_t n = 0;

	for (size_t i = 0; i < q->count && txn->err == STORE_OK; i++) {
		const struct index_change *c = &q->list[i];

		if ((filter & c->with) != c->with)
			continue;
		prefix_of(c, filter, &prefix);
		if (key_equals(&prefix, &at)) {
			list_go_on(txn, &at, &c->id, c->gone, &n);
			continue;
		}
		if (at.len != 0)
			total_put(txn, &at, n);
		at = prefix;
		n = 0;
		if (c->first && (filter & INDEX_SESSION) != 0)
			list_go_on(txn, &at, &c->id, c->gone, &n);
		else if (list_begin(txn, &at, &c->id, c->gone, &n) != STORE_OK)
			return;
	}
	if (at.len != 0)
		total_put(txn, &at, n);
}

int
run_index_flush(struct store_txn *txn)
{
	uint64_t puts = txn->puts; /* counted when they were queued */

	if (!txn->writable || txn->store->index.count == 0)
		return txn->err;
	for (unsigned f = 0; f < INDEX_FILTERS; f++)
		flush_filter(txn, f);
	txn->store->index.count = 0;
	txn->puts = puts;
	return txn->err;
}

static struct index_change *
queue_change(
    struct store_txn *txn, const struct run_record *r, unsigned with, bool gone)
{
	struct index_queue *q = &txn->store->index;
	struct index_change *c;

	ASSERT(txn->writable);
	if (q->count == INDEX_QUEUE_MAX)
		run_index_flush(txn);
	c = &q->list[q->count++];
	c->id = r->id;
	c->session = r->session;
	c->uid = r->uid;
	c->status = r->status;
	strlcpy(c->template_id, r->template_id, sizeof(c->template_id));
	c->with = with;
	c->gone = gone;
	c->first = false;
	txn->puts++;
	return c;
}

void
run_index_add_new(struct store_txn *txn, const struct run_record *r)
{
	queue_change(txn, r, 0, false)->first = r->owns_session;
}

void
run_index_add(struct store_txn *txn, const struct run_record *r, unsigned with)
{
	queue_change(txn, r, with, false);
}

void
run_index_remove(
    struct store_txn *txn, const struct run_record *r, unsigned with)
{
	queue_change(txn, r, with, true);
}

int
run_index_total(
    struct store_txn *txn, const struct key *prefix, uint64_t *ret_total)
{
	int rc = run_index_flush(txn);
	bool counted;

	return rc == STORE_OK ? total_get(txn, prefix, ret_total, &counted)
			      : rc;
}

/* The first entry of the run at or after from. */
static bool
find_entry(struct store_txn *txn, const struct ulid *id, const struct key *from,
    struct key *ret_prefix)
{
	struct key all;
	struct txn_walk w;
	bool found = false;

	key_init(&all);
	walk_up(&w, txn, TABLE_RUN_INDEX, &all, from);
	while (!found && walk_next(&w)) {
		size_t n = w.entry.key_len;

		if (n <= ULID_BYTES || n > STORE_KEY_BYTES ||
		    memcmp(w.entry.key + n - ULID_BYTES, id->b, ULID_BYTES) !=
			0)
			continue;
		key_init(ret_prefix);
		key_add(ret_prefix, w.entry.key, n - ULID_BYTES);
		found = true;
	}
	walk_end(&w);
	return found;
}

int
run_index_scrub(struct store_txn *txn, const struct ulid *id)
{
	struct key from, prefix;
	uint64_t n = 0;

	run_index_flush(txn);
	key_init(&from);
	while (find_entry(txn, id, &from, &prefix)) {
		if (list_begin(txn, &prefix, id, true, &n) != STORE_OK)
			break;
		total_put(txn, &prefix, n);
		from = prefix;
		key_add_ulid(&from, id);
	}
	return txn->err;
}
