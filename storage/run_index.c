/* The index of runs and its totals. Runs in supervisord. */
#include <string.h>

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
prefix_of(const struct run_record *r, unsigned with, struct key *ret_prefix)
{
	struct run_filter f = {
		.by_uid = (with & INDEX_UID) != 0,
		.uid = r->uid,
		.by_status = (with & INDEX_STATUS) != 0,
		.status = r->status,
		.template_id =
		    (with & INDEX_TEMPLATE) != 0 ? r->template_id : NULL,
		.session = (with & INDEX_SESSION) != 0 ? &r->session : NULL,
	};

	run_index_prefix(&f, ret_prefix);
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
run_index_total(
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
			rc = STORE_CORRUPT;
	}
	/* One that cannot be read blocks no submission: the list knows it. */
	if (rc == STORE_CORRUPT || rc == STORE_NEWER) {
		n = count_entries(txn, prefix);
		rc = txn->err;
	}
	if (rc != STORE_OK && rc != STORE_NOT_FOUND)
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

/* Reads before it changes the list, which a damaged total is counted from. */
static int
entry_add(
    struct store_txn *txn, const struct key *prefix, const struct ulid *id)
{
	struct key k = *prefix;
	uint64_t n;
	int rc;

	rc = run_index_total(txn, prefix, &n);
	if (rc != STORE_OK)
		return rc;
	key_add_ulid(&k, id);
	txn_mark(txn, TABLE_RUN_INDEX, &k);
	return total_put(txn, prefix, n + 1);
}

static int
entry_remove(
    struct store_txn *txn, const struct key *prefix, const struct ulid *id)
{
	struct key k = *prefix;
	uint64_t n;
	int rc;

	rc = run_index_total(txn, prefix, &n);
	if (rc != STORE_OK)
		return rc;
	key_add_ulid(&k, id);
	rc = txn_delete(txn, TABLE_RUN_INDEX, &k);
	if (rc != STORE_OK)
		return rc;
	return total_put(txn, prefix, n > 0 ? n - 1 : 0);
}

void
run_index_add(struct store_txn *txn, const struct run_record *r, unsigned with)
{
	struct key prefix;

	for (unsigned f = 0; f < INDEX_FILTERS; f++)
		if ((f & with) == with) {
			prefix_of(r, f, &prefix);
			entry_add(txn, &prefix, &r->id);
		}
}

void
run_index_remove(
    struct store_txn *txn, const struct run_record *r, unsigned with)
{
	struct key prefix;

	for (unsigned f = 0; f < INDEX_FILTERS; f++)
		if ((f & with) == with) {
			prefix_of(r, f, &prefix);
			entry_remove(txn, &prefix, &r->id);
		}
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

	key_init(&from);
	while (find_entry(txn, id, &from, &prefix)) {
		if (entry_remove(txn, &prefix, id) != STORE_OK)
			break;
		from = prefix;
		key_add_ulid(&from, id);
	}
	return txn->err;
}
