/*
 * Records, marks and walks on an LMDB transaction. Runs in supervisord; the
 * only file besides store.c and commit.c that calls LMDB.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "common/panic.h"
#include "storage/crc32c.h"
#include "storage/store_impl.h"
#include "storage/txn.h"

#define RECORD_VERSION 1
#define RECORD_HEAD    5

void
key_init(struct key *k)
{
	k->len = 0;
}

void
key_add(struct key *k, const void *bytes, size_t len)
{
	ASSERT(len <= sizeof(k->b) - k->len);
	memcpy(k->b + k->len, bytes, len);
	k->len += len;
}

void
key_add_u8(struct key *k, uint8_t v)
{
	key_add(k, &v, 1);
}

void
key_add_u32(struct key *k, uint32_t v)
{
	uint32_t big = htobe32(v);

	key_add(k, &big, sizeof(big));
}

void
key_add_u64(struct key *k, uint64_t v)
{
	uint64_t big = htobe64(v);

	key_add(k, &big, sizeof(big));
}

void
key_add_ulid(struct key *k, const struct ulid *id)
{
	key_add(k, id->b, ULID_BYTES);
}

uint32_t
key_read_u32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

uint64_t
key_read_u64(const uint8_t *p)
{
	return (uint64_t)key_read_u32(p) << 32 | key_read_u32(p + 4);
}

enum store_err
store_err_of(int rc)
{
	switch (rc) {
	case 0:
		return STORE_OK;
	case MDB_NOTFOUND:
	case ENOENT:
		return STORE_NOT_FOUND;
	case MDB_MAP_FULL:
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
	case EIO: /* what LMDB makes of a write that was cut short */
		return STORE_FULL;
	case ENOMEM:
		return STORE_NO_MEMORY;
	case MDB_TXN_FULL:
		return STORE_LIMIT;
	case MDB_CORRUPTED:
	case MDB_PAGE_NOTFOUND:
	case MDB_INVALID:
		return STORE_CORRUPT;
	case MDB_VERSION_MISMATCH:
		return STORE_NEWER;
	case MDB_PANIC:
		return STORE_BROKEN;
	default:
		return STORE_IO;
	}
}

int
txn_note(struct store_txn *txn, int rc)
{
	ASSERT(rc != MDB_BAD_VALSIZE && rc != MDB_BAD_DBI && rc != EINVAL);
	if (rc == 0 || rc == MDB_NOTFOUND)
		return (int)store_err_of(rc);
	if (txn->err == STORE_OK) {
		txn->err = (int)store_err_of(rc);
		txn->sys = rc;
		txn->map_full = rc == MDB_MAP_FULL;
	}
	return txn->err;
}

void
txn_fail(struct store_txn *txn, int err)
{
	if (txn->err == STORE_OK)
		txn->err = err;
}

static MDB_val
key_val(const struct key *k)
{
	/* LMDB does not write through a key; its type just is not const. */
	return (
	    MDB_val){ .mv_size = k->len, .mv_data = (void *)(uintptr_t)k->b };
}

static uint32_t
record_crc(enum store_table table, const uint8_t *key, size_t key_len,
    const void *payload, size_t len)
{
	uint8_t head[2] = { RECORD_VERSION, (uint8_t)table };

	return crc32c(
	    crc32c(crc32c(0, head, sizeof(head)), key, key_len), payload, len);
}

static int
record_check(enum store_table table, const uint8_t *key, size_t key_len,
    const MDB_val *value, const uint8_t **ret_payload, size_t *ret_len)
{
	const uint8_t *p = value->mv_data;

	if (value->mv_size < RECORD_HEAD || p[0] == 0)
		return STORE_CORRUPT;
	if (p[0] > RECORD_VERSION)
		return STORE_NEWER;
	if (key_read_u32(p + 1) !=
	    record_crc(table, key, key_len, p + RECORD_HEAD,
		value->mv_size - RECORD_HEAD))
		return STORE_CORRUPT;
	*ret_payload = p + RECORD_HEAD;
	*ret_len = value->mv_size - RECORD_HEAD;
	return STORE_OK;
}

struct buf *
scratch_begin(struct store_txn *txn)
{
	struct buf *b = &txn->store->scratch;

	buf_reset(b);
	return b;
}

int
txn_get(struct store_txn *txn, enum store_table table, const struct key *key,
    const uint8_t **ret_payload, size_t *ret_len)
{
	MDB_val k = key_val(key), v;
	int rc;

	if (txn->err != STORE_OK)
		return txn->err;
	rc = txn_note(txn, mdb_get(txn->mdb, txn->store->dbi[table], &k, &v));
	if (rc != STORE_OK)
		return rc;
	return record_check(table, key->b, key->len, &v, ret_payload, ret_len);
}

bool
txn_has(struct store_txn *txn, enum store_table table, const struct key *key)
{
	MDB_val k = key_val(key), v;

	return txn->err == STORE_OK &&
	    txn_note(txn, mdb_get(txn->mdb, txn->store->dbi[table], &k, &v)) ==
	    STORE_OK;
}

/* Puts by the cursor of the table's puts; it ends with the transaction. */
static int
cursor_put(struct store_txn *txn, enum store_table table, MDB_val *k,
    MDB_val *v, unsigned flags)
{
	MDB_cursor **c = &txn->put[table];
	int rc = 0;

	if (*c == NULL)
		rc = mdb_cursor_open(txn->mdb, txn->store->dbi[table], c);
	return rc != 0 ? rc : mdb_cursor_put(*c, k, v, flags);
}

/* Before anything is deleted, which would move it. */
static void
cursor_forget(struct store_txn *txn, enum store_table table)
{
	if (txn->put[table] != NULL)
		mdb_cursor_close(txn->put[table]);
	txn->put[table] = NULL;
}

static int
record_put(struct store_txn *txn, enum store_table table, const struct key *key,
    const void *payload, size_t len, unsigned flags)
{
	MDB_val k = key_val(key), v = { .mv_size = RECORD_HEAD + len };
	uint32_t crc;
	uint8_t *p;
	int rc;

	ASSERT(txn->writable);
	if (txn->err != STORE_OK)
		return txn->err;
	crc = record_crc(table, key->b, key->len, payload, len);
	rc = cursor_put(txn, table, &k, &v, MDB_RESERVE | flags);
	if (rc == MDB_KEYEXIST && flags != 0)
		return STORE_EXISTS;
	if ((rc = txn_note(txn, rc)) != STORE_OK)
		return rc;
	txn->puts++;
	p = v.mv_data;
	ASSERT(p != NULL);
	p[0] = RECORD_VERSION;
	p[1] = (uint8_t)(crc >> 24);
	p[2] = (uint8_t)(crc >> 16);
	p[3] = (uint8_t)(crc >> 8);
	p[4] = (uint8_t)crc;
	if (len != 0)
		memcpy(p + RECORD_HEAD, payload, len);
	return STORE_OK;
}

int
txn_put(struct store_txn *txn, enum store_table table, const struct key *key,
    const void *payload, size_t len)
{
	return record_put(txn, table, key, payload, len, 0);
}

int
txn_insert(struct store_txn *txn, enum store_table table, const struct key *key,
    const void *payload, size_t len)
{
	return record_put(txn, table, key, payload, len, MDB_NOOVERWRITE);
}

int
txn_append(struct store_txn *txn, enum store_table table, const struct key *key,
    const void *payload, size_t len)
{
	return record_put(txn, table, key, payload, len, MDB_APPEND);
}

int
txn_mark(struct store_txn *txn, enum store_table table, const struct key *key)
{
	MDB_val k = key_val(key), v = { 0 };

	ASSERT(txn->writable);
	if (txn->err != STORE_OK)
		return txn->err;
	txn->puts++;
	return txn_note(txn, cursor_put(txn, table, &k, &v, 0));
}

int
txn_delete(struct store_txn *txn, enum store_table table, const struct key *key)
{
	MDB_val k = key_val(key);
	int rc;

	ASSERT(txn->writable);
	if (txn->err != STORE_OK)
		return txn->err;
	cursor_forget(txn, table);
	rc = txn_note(txn, mdb_del(txn->mdb, txn->store->dbi[table], &k, NULL));
	if (rc == STORE_OK)
		txn->puts++;
	return rc;
}

int
txn_delete_prefix(struct store_txn *txn, enum store_table table,
    const struct key *prefix, unsigned *budget)
{
	struct txn_walk w;
	int rc = STORE_OK;

	ASSERT(txn->writable);
	cursor_forget(txn, table);
	walk_up(&w, txn, table, prefix, NULL);
	while (walk_next(&w)) {
		if (*budget == 0) {
			rc = STORE_LIMIT;
			break;
		}
		(*budget)--;
		txn->puts++;
		/* The cursor then stands on the next entry: get it again. */
		if (txn_note(txn, mdb_cursor_del(w.cursor, 0)) != STORE_OK)
			break;
		w.started = false;
	}
	walk_end(&w);
	return txn->err != STORE_OK ? txn->err : rc;
}

static void
walk_open(struct txn_walk *w, struct store_txn *txn, enum store_table table,
    const struct key *prefix)
{
	memset(w, 0, sizeof(*w));
	w->txn = txn;
	w->table = table;
	w->prefix = *prefix;
	if (txn->err == STORE_OK &&
	    txn_note(txn,
		mdb_cursor_open(
		    txn->mdb, txn->store->dbi[table], &w->cursor)) != STORE_OK)
		w->cursor = NULL;
}

void
walk_up(struct txn_walk *w, struct store_txn *txn, enum store_table table,
    const struct key *prefix, const struct key *from)
{
	walk_open(w, txn, table, prefix);
	w->from = from != NULL ? *from : *prefix;
}

/* The first key after all that begin with prefix; empty: there is none. */
static struct key
key_after(const struct key *prefix)
{
	struct key k = *prefix;

	while (k.len > 0 && k.b[k.len - 1] == 0xff)
		k.len--;
	if (k.len > 0)
		k.b[k.len - 1]++;
	return k;
}

void
walk_down(struct txn_walk *w, struct store_txn *txn, enum store_table table,
    const struct key *prefix, const struct key *before)
{
	walk_open(w, txn, table, prefix);
	w->down = true;
	w->from = before != NULL ? *before : key_after(prefix);
}

static int
walk_first(struct txn_walk *w, MDB_val *k, MDB_val *v)
{
	int rc;

	*k = key_val(&w->from);
	if (w->from.len == 0)
		return mdb_cursor_get(
		    w->cursor, k, v, w->down ? MDB_LAST : MDB_FIRST);
	rc = mdb_cursor_get(w->cursor, k, v, MDB_SET_RANGE);
	if (!w->down)
		return rc;
	if (rc == MDB_NOTFOUND)
		return mdb_cursor_get(w->cursor, k, v, MDB_LAST);
	return rc != 0 ? rc : mdb_cursor_get(w->cursor, k, v, MDB_PREV);
}

bool
walk_next(struct txn_walk *w)
{
	MDB_val k, v;
	int rc;

	if (w->cursor == NULL || w->txn->err != STORE_OK)
		return false;
	if (!w->started)
		rc = walk_first(w, &k, &v);
	else
		rc = mdb_cursor_get(
		    w->cursor, &k, &v, w->down ? MDB_PREV : MDB_NEXT);
	w->started = true;
	if (txn_note(w->txn, rc) != STORE_OK)
		return false;
	if (k.mv_size < w->prefix.len ||
	    memcmp(k.mv_data, w->prefix.b, w->prefix.len) != 0)
		return false;
	w->entry = (struct txn_entry){ k.mv_data, k.mv_size, v };
	return true;
}

void
walk_end(struct txn_walk *w)
{
	if (w->cursor != NULL)
		mdb_cursor_close(w->cursor);
	w->cursor = NULL;
}

int
walk_payload(
    const struct txn_walk *w, const uint8_t **ret_payload, size_t *ret_len)
{
	return record_check(w->table, w->entry.key, w->entry.key_len,
	    &w->entry.value, ret_payload, ret_len);
}

void
expiry_key(struct key *k, int64_t stamp_ms, enum expiry_kind kind,
    const void *id, size_t id_len)
{
	key_init(k);
	key_add_u64(k, (uint64_t)stamp_ms);
	key_add_u8(k, (uint8_t)kind);
	key_add(k, id, id_len);
}

int
expiry_move(struct store_txn *txn, enum expiry_kind kind, const void *id,
    size_t id_len, int64_t old_ms, int64_t new_ms)
{
	struct key k;

	if (old_ms == new_ms)
		return txn->err;
	if (old_ms != 0) {
		expiry_key(&k, old_ms, kind, id, id_len);
		txn_delete(txn, TABLE_EXPIRY, &k);
	}
	if (new_ms != 0) {
		expiry_key(&k, new_ms, kind, id, id_len);
		txn_mark(txn, TABLE_EXPIRY, &k);
	}
	return txn->err;
}
