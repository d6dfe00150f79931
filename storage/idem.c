/* The idempotency table. Runs in supervisord; stores digests, no parameters. */
#include <nettle/sha2.h>
#include <string.h>

#include "common/panic.h"
#include "storage/codec.h"
#include "storage/idem.h"
#include "storage/store_impl.h"

#define ROW_BYTES (IDEM_ANSWER_BYTES + 256)

static const struct field idem_fields[] = {
	F_U32(struct idem_row, uid),
	F_FIXED(struct idem_row, run),
	F_FIXED(struct idem_row, params),
	F_BOOL(struct idem_row, with_run),
	F_I64(struct idem_row, expires_ms),
	F_BYTES(struct idem_row, answer, answer_len, IDEM_ANSWER_BYTES),
};
#define IDEM_FIELDS (sizeof(idem_fields) / sizeof(idem_fields[0]))

void
idem_identity(enum idem_scope scope, const char *const *parts,
    uint8_t ret_identity[STORE_IDENTITY_BYTES])
{
	struct sha256_ctx ctx;

	ASSERT(scope < IDEM__MAX);
	sha256_init(&ctx);
	for (; *parts != NULL; parts++) {
		size_t len = strlen(*parts);
		uint8_t head[8];

		for (int i = 0; i < 8; i++)
			head[i] = (uint8_t)((uint64_t)len >> (56 - 8 * i));
		sha256_update(&ctx, sizeof(head), head);
		sha256_update(&ctx, len, (const uint8_t *)*parts);
	}
	ret_identity[0] = (uint8_t)scope;
	sha256_digest(&ctx, SHA256_DIGEST_SIZE, ret_identity + 1);
}

static void
idem_key(struct key *k, const uint8_t *identity)
{
	key_init(k);
	key_add(k, identity, STORE_IDENTITY_BYTES);
}

int
idem_read(struct store_txn *txn, const uint8_t *identity, struct idem_row *ret)
{
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	idem_key(&k, identity);
	if ((rc = txn_get(txn, TABLE_IDEM, &k, &p, &len)) != STORE_OK)
		return rc;
	memset(ret, 0, sizeof(*ret));
	return codec_decode(p, len, ret, idem_fields, IDEM_FIELDS);
}

enum idem_match
idem_compare(
    const struct store *s, const struct idem_row *row, const uint8_t params[32])
{
	if (ulid_time_ms(&row->run) < s->digest_since_ms)
		return IDEM_UNKNOWN;
	return memcmp(row->params, params, sizeof(row->params)) == 0
	    ? IDEM_SAME
	    : IDEM_OTHER;
}

const char *
idem_match_text(enum idem_match match)
{
	return match == IDEM_SAME ? ""
	    : match == IDEM_OTHER ? ", with other parameters"
				  : ", parameters are not comparable since the "
				    "store was restored";
}

static int
row_put(
    struct store_txn *txn, const uint8_t *identity, const struct idem_row *row)
{
	struct buf b;
	struct key k;
	int rc;

	buf_init(&b, ROW_BYTES);
	idem_key(&k, identity);
	rc = codec_encode(&b, row, idem_fields, IDEM_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_IDEM, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

/* STORE_NOT_FOUND for a row whose window has ended. */
static int
row_live(struct store_txn *txn, const struct idem_row *row, int64_t now_ms)
{
	struct run_record r;
	int rc;

	if (!row->with_run)
		return now_ms < row->expires_ms ? STORE_OK : STORE_NOT_FOUND;
	if ((rc = run_get(txn, &row->run, &r)) != STORE_OK)
		return rc;
	return run_record_expired(&r, now_ms) ? STORE_NOT_FOUND : STORE_OK;
}

int
idem_get(struct store_txn *txn, const uint8_t identity[STORE_IDENTITY_BYTES],
    int64_t now_ms, struct idem_row *ret_row)
{
	struct idem_row row;
	int rc;

	if ((rc = idem_read(txn, identity, &row)) != STORE_OK ||
	    (rc = row_live(txn, &row, now_ms)) != STORE_OK)
		return rc;
	*ret_row = row;
	return STORE_OK;
}

int
idem_reserve(struct store_txn *txn,
    const uint8_t identity[STORE_IDENTITY_BYTES], int64_t now_ms,
    const struct idem_row *row)
{
	struct idem_row old;
	int64_t old_ms = 0, new_ms = row->with_run ? 0 : row->expires_ms;
	int rc;

	if (row->with_run != (row->expires_ms == 0) || row->expires_ms < 0)
		return STORE_INVALID;
	rc = idem_read(txn, identity, &old);
	if (rc == STORE_OK) {
		rc = row_live(txn, &old, now_ms);
		if (rc == STORE_OK)
			return STORE_EXISTS;
		old_ms = old.with_run ? 0 : old.expires_ms;
	}
	if (rc != STORE_NOT_FOUND)
		return rc;
	if ((rc = row_put(txn, identity, row)) != STORE_OK)
		return rc;
	return expiry_move(
	    txn, EXPIRY_IDEM, identity, STORE_IDENTITY_BYTES, old_ms, new_ms);
}

int
idem_set_answer(struct store_txn *txn,
    const uint8_t identity[STORE_IDENTITY_BYTES], int64_t now_ms,
    const void *answer, size_t len)
{
	struct idem_row row;
	int rc;

	if ((rc = idem_get(txn, identity, now_ms, &row)) != STORE_OK)
		return rc;
	if (row.answer_len != 0)
		return STORE_EXISTS;
	row.answer = answer;
	row.answer_len = len;
	return row_put(txn, identity, &row);
}

int
idem_expire(struct store_txn *txn, const uint8_t *identity)
{
	struct key k;

	idem_key(&k, identity);
	return txn_delete(txn, TABLE_IDEM, &k);
}

int
idem_forget(
    struct store_txn *txn, const uint8_t *identity, const struct ulid *run)
{
	struct idem_row row;
	int rc;

	rc = idem_read(txn, identity, &row);
	if (rc == STORE_OK &&
	    (!row.with_run || memcmp(&row.run, run, sizeof(*run)) != 0))
		return STORE_OK;
	if (rc == STORE_OK || rc == STORE_CORRUPT)
		rc = idem_expire(txn, identity);
	return rc;
}
