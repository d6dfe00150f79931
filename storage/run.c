/*
 * Run records and their documents. Runs in supervisord; decides nothing about
 * a run, but refuses what the model's tables do not allow.
 */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "storage/codec.h"
#include "storage/run_index.h"
#include "storage/store_impl.h"

static const char *
status_name(unsigned v)
{
	return run_status_name((enum run_status)v);
}

static const char *
mode_name(unsigned v)
{
	return run_mode_name((enum run_mode)v);
}

static const char *
priority_name(unsigned v)
{
	return run_priority_name((enum run_priority)v);
}

static const char *
intent_name(unsigned v)
{
	static const char *const names[] = { "none", "cancel", "timeout" };

	return names[v];
}

static const char *
trust_name(unsigned v)
{
	return trust_level_name((enum trust_level)v);
}

static const struct field run_fields[] = {
	F_FIXED(struct run_record, id),
	F_FIXED(struct run_record, session),
	F_BOOL(struct run_record, owns_session),
	F_U32(struct run_record, uid),
	F_TEXT(struct run_record, template_id),
	F_TEXT(struct run_record, template_version),
	F_NAME(struct run_record, status, RUN__MAX, status_name),
	F_NAME(struct run_record, mode, MODE__MAX, mode_name),
	F_NAME(struct run_record, priority, PRIORITY__MAX, priority_name),
	F_U32(struct run_record, attempt),
	F_U32(struct run_record, epoch),
	F_I64(struct run_record, created_ms),
	F_I64(struct run_record, updated_ms),
	F_I64(struct run_record, started_ms),
	F_I64(struct run_record, ended_ms),
	F_I64(struct run_record, expires_ms),
	F_I64(struct run_record, limit_ms),
	F_I64(struct run_record, spent_ms),
	F_U32(struct run_record, done),
	F_U32(struct run_record, total),
	F_NAME(struct run_record, intent, INTENT__MAX, intent_name),
	F_I64(struct run_record, intent_ms),
	F_TEXT(struct run_record, phase),
	F_TEXT(struct run_record, trace_id),
	F_TEXT(struct run_record, facts_snapshot_id),
	F_TEXT(struct run_record, error_code),
	F_BOOL(struct run_record, has_identity),
	F_FIXED(struct run_record, identity),
	F_NAME(struct run_record, trust, TRUST__MAX, trust_name),
	F_U64(struct run_record, heard),
	F_I64(struct run_record, spent_mono_ms),
	F_BOOL(struct run_record, acted),
	F_TEXT(struct run_record, owner),
	F_BOOL(struct run_record, share_session),
};
#define RUN_FIELDS       (sizeof(run_fields) / sizeof(run_fields[0]))
#define RUN_FIELDS_FIRST 28 /* of the first version; add behind them */

static void
run_key(struct key *k, const struct ulid *id)
{
	key_init(k);
	key_add_ulid(k, id);
}

static bool
run_valid(const struct run_record *r)
{
	return r->created_ms == ulid_time_ms(&r->id) && r->expires_ms >= 0 &&
	    r->template_id[0] != '\0' && r->status < RUN__MAX &&
	    run_status_terminal(r->status) == (r->ended_ms != 0) &&
	    (r->expires_ms == 0 || r->ended_ms != 0);
}

typedef int put_fn(struct store_txn *, enum store_table, const struct key *,
    const void *payload, size_t len);

static int
record_put(struct store_txn *txn, const struct run_record *r, put_fn *put)
{
	struct buf *b = scratch_begin(txn);
	struct key k;
	int rc;

	run_key(&k, &r->id);
	rc = codec_encode(b, r, run_fields, RUN_FIELDS);
	return rc == STORE_OK ? put(txn, TABLE_RUNS, &k, b->data, b->len) : rc;
}

int
run_insert(struct store_txn *txn, const struct run_record *r)
{
	int rc;

	if (!run_valid(r))
		return STORE_INVALID;
	if ((rc = record_put(txn, r, txn_insert)) != STORE_OK)
		return rc;
	txn->run = r->id;
	txn->run_known = true;
	run_index_add_new(txn, r);
	return expiry_move(
	    txn, EXPIRY_RUN, r->id.b, ULID_BYTES, 0, r->expires_ms);
}

static bool
may_become(const struct run_record *old, const struct run_record *r)
{
	if (old->status != r->status &&
	    !run_status_may_follow(old->status, r->status))
		return false;
	return memcmp(&old->session, &r->session, sizeof(r->session)) == 0 &&
	    old->uid == r->uid &&
	    strcmp(old->template_id, r->template_id) == 0 &&
	    old->has_identity == r->has_identity &&
	    memcmp(old->identity, r->identity, sizeof(r->identity)) == 0;
}

int
run_update(struct store_txn *txn, const struct run_record *r)
{
	struct run_record old;
	int rc;

	if ((rc = run_get(txn, &r->id, &old)) != STORE_OK)
		return rc;
	if (!run_valid(r) || !may_become(&old, r))
		return STORE_INVALID;
	if ((rc = record_put(txn, r, txn_put)) != STORE_OK)
		return rc;
	if (old.status != r->status) {
		run_index_remove(txn, &old, INDEX_STATUS);
		run_index_add(txn, r, INDEX_STATUS);
	}
	return expiry_move(txn, EXPIRY_RUN, r->id.b, ULID_BYTES, old.expires_ms,
	    r->expires_ms);
}

int
run_get(struct store_txn *txn, const struct ulid *id, struct run_record *ret)
{
	struct run_record r;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	run_key(&k, id);
	if ((rc = txn_get(txn, TABLE_RUNS, &k, &p, &len)) != STORE_OK)
		return rc;
	memset(&r, 0, sizeof(r));
	rc = codec_decode_grown(
	    p, len, &r, run_fields, RUN_FIELDS_FIRST, RUN_FIELDS);
	if (rc != STORE_OK)
		return rc;
	if (memcmp(&r.id, id, sizeof(*id)) != 0 || !run_valid(&r))
		return STORE_CORRUPT;
	*ret = r;
	return STORE_OK;
}

bool
run_exists(struct store_txn *txn, const struct ulid *id)
{
	struct key k;

	if (txn->run_known && memcmp(&txn->run, id, sizeof(*id)) == 0)
		return txn->err == STORE_OK;
	run_key(&k, id);
	return txn_has(txn, TABLE_RUNS, &k);
}

static void
doc_key(struct key *k, const struct ulid *id, enum run_doc doc)
{
	ASSERT(doc < RUN_DOC__MAX);
	run_key(k, id);
	key_add_u8(k, (uint8_t)doc);
}

int
run_doc_put(struct store_txn *txn, const struct ulid *id, enum run_doc doc,
    const void *bytes, size_t len)
{
	struct key k;

	if (len > STORE_DOC_BYTES)
		return STORE_LIMIT;
	if (!run_exists(txn, id))
		return STORE_NOT_FOUND;
	doc_key(&k, id, doc);
	return txn_put(txn, TABLE_RUN_DOCS, &k, bytes, len);
}

int
run_doc_get(struct store_txn *txn, const struct ulid *id, enum run_doc doc,
    const uint8_t **ret_bytes, size_t *ret_len)
{
	struct key k;

	doc_key(&k, id, doc);
	return txn_get(txn, TABLE_RUN_DOCS, &k, ret_bytes, ret_len);
}

int
run_doc_delete(struct store_txn *txn, const struct ulid *id, enum run_doc doc)
{
	struct key k;

	doc_key(&k, id, doc);
	return txn_delete(txn, TABLE_RUN_DOCS, &k);
}

/* What belongs to the run alone, within the budget. */
static int
delete_parts(struct store_txn *txn, const struct key *run, unsigned *budget)
{
	static const enum store_table parts[] = { TABLE_EVENTS,
		TABLE_EVENT_HEADS, TABLE_JOURNAL, TABLE_COLLECT,
		TABLE_RUN_DOCS };
	int rc;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		rc = txn_delete_prefix(txn, parts[i], run, budget);
		if (rc != STORE_OK)
			return rc;
	}
	return STORE_OK;
}

int
run_delete(struct store_txn *txn, const struct ulid *id, unsigned *budget)
{
	struct run_record r;
	struct key k;
	int rc, got;

	got = run_get(txn, id, &r);
	if (got == STORE_NOT_FOUND || txn->err != STORE_OK)
		return got;
	run_key(&k, id);
	if ((rc = delete_parts(txn, &k, budget)) != STORE_OK)
		return rc;
	if (*budget == 0)
		return STORE_LIMIT;
	(*budget)--;
	txn->run_known = false;
	if (got == STORE_OK) {
		run_index_remove(txn, &r, 0);
		expiry_move(
		    txn, EXPIRY_RUN, id->b, ULID_BYTES, r.expires_ms, 0);
		if (r.has_identity)
			idem_forget(txn, r.identity, id);
	} else {
		run_index_scrub(txn, id);
	}
	return txn_delete(txn, TABLE_RUNS, &k);
}
