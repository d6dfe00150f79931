/* Journal of items and declared collections. Runs in supervisord. */
#include <string.h>

#include "ipc/mp.h"
#include "storage/codec.h"
#include "storage/journal.h"
#include "storage/store_impl.h"

#define ROW_BYTES     (LIMIT_ITEM_RECORD_BYTES + 128 + JOURNAL_EXTENTS * 64)
#define COLLECT_BYTES (3 * COLLECT_TEXT_BYTES + 1024)

static const struct field row_fields[] = {
	F_U32(struct journal_row, index),
	F_FIXED(struct journal_row, digest),
	F_BOOL(struct journal_row, ok),
	F_BYTES(
	    struct journal_row, record, record_len, LIMIT_ITEM_RECORD_BYTES),
};
#define ROW_FIELDS (sizeof(row_fields) / sizeof(row_fields[0]))

static const struct field extent_fields[] = {
	F_U8(struct journal_extent, part),
	F_U64(struct journal_extent, offset),
	F_U64(struct journal_extent, len),
	F_FIXED(struct journal_extent, sha256),
};
#define EXTENT_FIELDS (sizeof(extent_fields) / sizeof(extent_fields[0]))

static const struct field collect_fields[] = {
	F_U8(struct collect_row, part),
	F_TEXT(struct collect_row, kind),
	F_TEXT(struct collect_row, mime),
	F_TEXT(struct collect_row, name),
	F_BYTES(struct collect_row, prefix, prefix_len, COLLECT_TEXT_BYTES),
	F_BYTES(
	    struct collect_row, separator, separator_len, COLLECT_TEXT_BYTES),
	F_BYTES(struct collect_row, suffix, suffix_len, COLLECT_TEXT_BYTES),
};
#define COLLECT_FIELDS (sizeof(collect_fields) / sizeof(collect_fields[0]))

static void
row_key(struct key *k, const struct ulid *run, uint32_t index)
{
	key_init(k);
	key_add_ulid(k, run);
	key_add_u32(k, index);
}

static bool
extent_valid(const struct journal_extent *e)
{
	return e->part < LIMIT_ARTIFACT_PARTS && e->len <= INT64_MAX &&
	    e->offset <= INT64_MAX - e->len;
}

static int
row_encode(struct buf *b, const struct journal_row *row)
{
	int rc;

	mp_put_array(b, ROW_FIELDS + 1);
	if ((rc = codec_put(b, row, row_fields, ROW_FIELDS)) != STORE_OK)
		return rc;
	mp_put_array(b, row->nextents * (uint32_t)EXTENT_FIELDS);
	for (unsigned i = 0; i < row->nextents; i++) {
		rc = codec_put(
		    b, &row->extents[i], extent_fields, EXTENT_FIELDS);
		if (rc != STORE_OK)
			return rc;
	}
	return b->failed ? STORE_NO_MEMORY : STORE_OK;
}

static int
row_decode(const uint8_t *p, size_t len, struct journal_row *ret)
{
	struct mp_reader r;
	uint32_t n;

	memset(ret, 0, sizeof(*ret));
	mp_reader_init(&r, p, len);
	if (!mp_get_array(&r, &n) || n != ROW_FIELDS + 1 ||
	    codec_get(&r, ret, row_fields, ROW_FIELDS) != STORE_OK ||
	    !mp_get_array(&r, &n) || n % EXTENT_FIELDS != 0 ||
	    n / EXTENT_FIELDS > JOURNAL_EXTENTS)
		return STORE_CORRUPT;
	ret->nextents = n / (uint32_t)EXTENT_FIELDS;
	for (unsigned i = 0; i < ret->nextents; i++)
		if (codec_get(&r, &ret->extents[i], extent_fields,
			EXTENT_FIELDS) != STORE_OK ||
		    !extent_valid(&ret->extents[i]))
			return STORE_CORRUPT;
	return mp_done(&r) ? STORE_OK : STORE_CORRUPT;
}

/* All bytes named must be in the spool and durable by now. */
static int
extents_check(struct store_txn *txn, const struct ulid *run,
    const struct journal_row *row)
{
	uint64_t end = 0;

	if (row->nextents > JOURNAL_EXTENTS)
		return STORE_LIMIT;
	for (unsigned i = 0; i < row->nextents; i++) {
		const struct journal_extent *e = &row->extents[i];

		if (!extent_valid(e))
			return STORE_INVALID;
		if (e->offset + e->len > end)
			end = e->offset + e->len;
	}
	return row->nextents == 0 ? STORE_OK
				  : spool_check(txn->store, run, end);
}

int
journal_insert(struct store_txn *txn, const struct ulid *run,
    const struct journal_row *row)
{
	struct buf b;
	struct key k;
	int rc;

	if ((rc = extents_check(txn, run, row)) != STORE_OK)
		return rc;
	if (!run_exists(txn, run))
		return STORE_NOT_FOUND;
	row_key(&k, run, row->index);
	if (txn_has(txn, TABLE_JOURNAL, &k))
		return STORE_EXISTS;
	buf_init(&b, ROW_BYTES);
	rc = row_encode(&b, row);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_JOURNAL, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

int
journal_get(struct store_txn *txn, const struct ulid *run, uint32_t index,
    struct journal_row *ret_row)
{
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	row_key(&k, run, index);
	if ((rc = txn_get(txn, TABLE_JOURNAL, &k, &p, &len)) != STORE_OK)
		return rc;
	rc = row_decode(p, len, ret_row);
	return rc == STORE_OK && ret_row->index != index ? STORE_CORRUPT : rc;
}

int
journal_list(struct store_txn *txn, const struct ulid *run,
    journal_visit_fn *fn, void *arg)
{
	struct journal_row row;
	struct txn_walk w;
	struct key prefix;
	const uint8_t *p;
	uint32_t index;
	size_t len;
	int rc;

	key_init(&prefix);
	key_add_ulid(&prefix, run);
	walk_up(&w, txn, TABLE_JOURNAL, &prefix, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != prefix.len + 4)
			continue;
		index = key_read_u32(w.entry.key + prefix.len);
		rc = walk_payload(&w, &p, &len);
		if (rc == STORE_OK)
			rc = row_decode(p, len, &row);
		if (rc == STORE_OK && row.index != index)
			rc = STORE_CORRUPT;
		if (!fn(index, rc == STORE_OK ? &row : NULL, rc, arg))
			break;
	}
	walk_end(&w);
	return txn->err;
}

static bool
visit_end(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	uint64_t *end = arg;

	(void)index;
	(void)err;
	for (unsigned i = 0; row != NULL && i < row->nextents; i++)
		if (row->extents[i].offset + row->extents[i].len > *end)
			*end = row->extents[i].offset + row->extents[i].len;
	return true;
}

int
journal_spool_end(
    struct store_txn *txn, const struct ulid *run, uint64_t *ret_offset)
{
	uint64_t end = 0;
	int rc;

	if ((rc = journal_list(txn, run, visit_end, &end)) == STORE_OK)
		*ret_offset = end;
	return rc;
}

static void
collect_key(struct key *k, const struct ulid *run, uint8_t part)
{
	key_init(k);
	key_add_ulid(k, run);
	key_add_u8(k, part);
}

int
collect_put(struct store_txn *txn, const struct ulid *run,
    const struct collect_row *row)
{
	struct buf b;
	struct key k;
	int rc;

	if (row->part >= LIMIT_ARTIFACT_PARTS)
		return STORE_INVALID;
	if (!run_exists(txn, run))
		return STORE_NOT_FOUND;
	collect_key(&k, run, row->part);
	buf_init(&b, COLLECT_BYTES);
	rc = codec_encode(&b, row, collect_fields, COLLECT_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_COLLECT, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

int
collect_get(struct store_txn *txn, const struct ulid *run, uint8_t part,
    struct collect_row *ret_row)
{
	struct collect_row row;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	collect_key(&k, run, part);
	if ((rc = txn_get(txn, TABLE_COLLECT, &k, &p, &len)) != STORE_OK)
		return rc;
	memset(&row, 0, sizeof(row));
	rc = codec_decode(p, len, &row, collect_fields, COLLECT_FIELDS);
	if (rc == STORE_OK && row.part != part)
		rc = STORE_CORRUPT;
	if (rc == STORE_OK)
		*ret_row = row;
	return rc;
}
