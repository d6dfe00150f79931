/* Rows of artifacts and their inline bytes. Runs in supervisord. */
#include <string.h>

#include "model/limits.h"
#include "storage/artifact.h"
#include "storage/codec.h"
#include "storage/store_impl.h"

#define ROW_BYTES 1024

static const char *
kind_name(unsigned v)
{
	return artifact_kind_name((enum artifact_kind)v);
}

static const char *
state_name(unsigned v)
{
	static const char *const names[] = { "inline", "file", "tombstone" };

	return names[v];
}

static const struct field artifact_fields[] = {
	F_FIXED(struct artifact_row, id),
	F_FIXED(struct artifact_row, run),
	F_U32(struct artifact_row, uid),
	F_NAME(struct artifact_row, kind, ARTIFACT__MAX, kind_name),
	F_NAME(struct artifact_row, state, ARTIFACT_STATE__MAX, state_name),
	F_TEXT(struct artifact_row, mime),
	F_TEXT(struct artifact_row, name),
	F_U64(struct artifact_row, size),
	F_FIXED(struct artifact_row, sha256),
	F_I64(struct artifact_row, created_ms),
	F_I64(struct artifact_row, expires_ms),
};
#define ARTIFACT_FIELDS (sizeof(artifact_fields) / sizeof(artifact_fields[0]))

static void
id_key(struct key *k, const struct ulid *id)
{
	key_init(k);
	key_add_ulid(k, id);
}

static void
by_run_key(struct key *k, const struct ulid *run, const struct ulid *id)
{
	id_key(k, run);
	key_add_ulid(k, id);
}

static int
row_put(struct store_txn *txn, const struct artifact_row *row)
{
	struct buf b;
	struct key k;
	int rc;

	buf_init(&b, ROW_BYTES);
	id_key(&k, &row->id);
	rc = codec_encode(&b, row, artifact_fields, ARTIFACT_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_ARTIFACTS, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

int
artifact_insert(
    struct store_txn *txn, const struct artifact_row *row, const void *bytes)
{
	bool in_row = row->state == ARTIFACT_IN_ROW;
	struct key k, by_run;
	int rc;

	if (row->state == ARTIFACT_TOMBSTONE || row->expires_ms < 0 ||
	    row->size > INT64_MAX ||
	    (in_row && row->size > LIMIT_INLINE_ARTIFACT_BYTES) ||
	    in_row != (bytes != NULL))
		return STORE_INVALID;
	if (!in_row &&
	    (rc = artifact_file_check(txn->store, &row->id)) != STORE_OK)
		return rc;
	id_key(&k, &row->id);
	if (txn_has(txn, TABLE_ARTIFACTS, &k))
		return STORE_EXISTS;
	/* Before the row is there: the number may have to be counted. */
	if ((rc = artifact_total_add(txn, row->uid, (int64_t)row->size)) !=
		STORE_OK ||
	    (rc = row_put(txn, row)) != STORE_OK)
		return rc;
	if (in_row)
		txn_put(txn, TABLE_ARTIFACT_BYTES, &k, bytes, row->size);
	by_run_key(&by_run, &row->run, &row->id);
	txn_mark(txn, TABLE_ARTIFACTS_BY_RUN, &by_run);
	return expiry_move(
	    txn, EXPIRY_ARTIFACT, row->id.b, ULID_BYTES, 0, row->expires_ms);
}

int
artifact_get(
    struct store_txn *txn, const struct ulid *id, struct artifact_row *ret_row)
{
	struct artifact_row row;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	id_key(&k, id);
	if ((rc = txn_get(txn, TABLE_ARTIFACTS, &k, &p, &len)) != STORE_OK)
		return rc;
	memset(&row, 0, sizeof(row));
	rc = codec_decode(p, len, &row, artifact_fields, ARTIFACT_FIELDS);
	if (rc != STORE_OK)
		return rc;
	*ret_row = row;
	return STORE_OK;
}

int
artifact_get_live(struct store_txn *txn, const struct ulid *id, int64_t now_ms,
    struct artifact_row *ret_row)
{
	int rc = artifact_get(txn, id, ret_row);

	if (rc != STORE_OK || ret_row->expires_ms == 0 ||
	    now_ms < ret_row->expires_ms)
		return rc;
	if (ret_row->state == ARTIFACT_TOMBSTONE)
		return STORE_NOT_FOUND;
	ret_row->state = ARTIFACT_TOMBSTONE;
	return STORE_OK;
}

int
artifact_bytes(struct store_txn *txn, const struct ulid *id,
    const uint8_t **ret_bytes, size_t *ret_len)
{
	struct key k;

	id_key(&k, id);
	return txn_get(txn, TABLE_ARTIFACT_BYTES, &k, ret_bytes, ret_len);
}

int
artifact_list(struct store_txn *txn, const struct ulid *run,
    artifact_visit_fn *fn, void *arg)
{
	struct artifact_row row;
	struct txn_walk w;
	struct key prefix;
	struct ulid id;
	int rc;

	id_key(&prefix, run);
	walk_up(&w, txn, TABLE_ARTIFACTS_BY_RUN, &prefix, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != prefix.len + ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key + ULID_BYTES, sizeof(id));
		rc = artifact_get(txn, &id, &row);
		if (txn->err != STORE_OK)
			break;
		/* A damaged row may have been swept without its run. */
		if (rc == STORE_NOT_FOUND)
			continue;
		if (!fn(&id, rc == STORE_OK ? &row : NULL, rc, arg))
			break;
	}
	walk_end(&w);
	return txn->err;
}

static bool
collect_id(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	(void)err;
	if (row == NULL || row->state == ARTIFACT_TOMBSTONE)
		return true;
	return buf_add(arg, id, sizeof(*id));
}

static int
set_one_expiry(struct store_txn *txn, const struct ulid *id, int64_t expires_ms)
{
	struct artifact_row row;
	int64_t old_ms;
	int rc;

	if ((rc = artifact_get(txn, id, &row)) != STORE_OK)
		return rc;
	old_ms = row.expires_ms;
	row.expires_ms = expires_ms;
	if ((rc = row_put(txn, &row)) != STORE_OK)
		return rc;
	return expiry_move(
	    txn, EXPIRY_ARTIFACT, id->b, ULID_BYTES, old_ms, expires_ms);
}

int
artifact_set_expiry(
    struct store_txn *txn, const struct ulid *run, int64_t expires_ms)
{
	struct ulid id;
	struct buf ids;
	int rc;

	if (expires_ms <= 0)
		return STORE_INVALID;
	buf_init(&ids, SIZE_MAX);
	rc = artifact_list(txn, run, collect_id, &ids);
	if (rc == STORE_OK && ids.failed)
		rc = STORE_NO_MEMORY;
	for (size_t at = 0; rc == STORE_OK && at < ids.len; at += sizeof(id)) {
		memcpy(&id, ids.data + at, sizeof(id));
		rc = set_one_expiry(txn, &id, expires_ms);
	}
	buf_clear(&ids);
	return rc;
}

static int
bury(struct store_txn *txn, struct artifact_row *row, int64_t now_ms,
    int64_t tombstone_ms)
{
	struct key k;
	int rc;

	rc = artifact_total_add(txn, row->uid, -(int64_t)row->size);
	if (rc != STORE_OK)
		return rc;
	id_key(&k, &row->id);
	if (row->state == ARTIFACT_IN_ROW)
		txn_delete(txn, TABLE_ARTIFACT_BYTES, &k);
	row->state = ARTIFACT_TOMBSTONE;
	row->expires_ms = now_ms + tombstone_ms;
	if ((rc = row_put(txn, row)) != STORE_OK)
		return rc;
	return expiry_move(
	    txn, EXPIRY_ARTIFACT, row->id.b, ULID_BYTES, 0, row->expires_ms);
}

int
artifact_expire(struct store_txn *txn, const struct ulid *id, int64_t now_ms,
    int64_t tombstone_ms, bool *ret_file, bool *ret_gone)
{
	struct artifact_row row;
	struct key k, by_run;
	int rc;

	*ret_file = false;
	*ret_gone = true;
	id_key(&k, id);
	rc = artifact_get(txn, id, &row);
	if (rc == STORE_CORRUPT || rc == STORE_NEWER) {
		/* Which kind it was is lost: both kinds of bytes go. */
		*ret_file = true;
		txn_delete(txn, TABLE_ARTIFACT_BYTES, &k);
		return txn_delete(txn, TABLE_ARTIFACTS, &k);
	}
	if (rc != STORE_OK)
		return rc;
	if (row.state != ARTIFACT_TOMBSTONE) {
		*ret_file = row.state == ARTIFACT_IN_FILE;
		*ret_gone = false;
		return bury(txn, &row, now_ms, tombstone_ms);
	}
	by_run_key(&by_run, &row.run, id);
	txn_delete(txn, TABLE_ARTIFACTS_BY_RUN, &by_run);
	return txn_delete(txn, TABLE_ARTIFACTS, &k);
}
