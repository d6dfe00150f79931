/*
 * Rows of kept sessions. Runs in supervisord; knows nothing of cells.
 */
#include <string.h>

#include "storage/codec.h"
#include "storage/session.h"
#include "storage/store_impl.h"

static const char *
trust_name(unsigned v)
{
	return trust_level_name((enum trust_level)v);
}

static const struct field session_fields[] = {
	F_FIXED(struct session_record, id),
	F_U32(struct session_record, uid),
	F_I64(struct session_record, created_ms),
	F_I64(struct session_record, last_used_ms),
	F_I64(struct session_record, expires_ms),
	F_TEXT(struct session_record, template_id),
	F_FIXED(struct session_record, last_run),
	F_NAME(struct session_record, trust, TRUST__MAX, trust_name),
	F_TEXT(struct session_record, owner),
	F_BOOL(struct session_record, shared),
};
#define SESSION_FIELDS       (sizeof(session_fields) / sizeof(session_fields[0]))
#define SESSION_FIELDS_FIRST 8 /* of the first version; add behind them */

static void
session_key(struct key *k, const struct ulid *id)
{
	key_init(k);
	key_add_ulid(k, id);
}

static void
mark_key(struct key *k, uint32_t uid, const struct ulid *id)
{
	key_init(k);
	key_add_u32(k, uid);
	key_add_ulid(k, id);
}

static bool
session_valid(const struct session_record *r)
{
	return r->created_ms == ulid_time_ms(&r->id) && r->expires_ms >= 0 &&
	    r->template_id[0] != '\0';
}

static int
session_put(struct store_txn *txn, const struct session_record *r)
{
	struct buf *b = scratch_begin(txn);
	struct key k;
	int rc;

	session_key(&k, &r->id);
	rc = codec_encode(b, r, session_fields, SESSION_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_SESSIONS, &k, b->data, b->len);
	return rc;
}

int
session_insert(struct store_txn *txn, const struct session_record *r)
{
	struct key k;
	int rc;

	if (!session_valid(r))
		return STORE_INVALID;
	session_key(&k, &r->id);
	if (txn_has(txn, TABLE_SESSIONS, &k))
		return STORE_EXISTS;
	if ((rc = session_put(txn, r)) != STORE_OK)
		return rc;
	mark_key(&k, r->uid, &r->id);
	txn_mark(txn, TABLE_SESSIONS_BY_UID, &k);
	return expiry_move(
	    txn, EXPIRY_SESSION, r->id.b, ULID_BYTES, 0, r->expires_ms);
}

int
session_get(
    struct store_txn *txn, const struct ulid *id, struct session_record *ret)
{
	struct session_record r;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	session_key(&k, id);
	if ((rc = txn_get(txn, TABLE_SESSIONS, &k, &p, &len)) != STORE_OK)
		return rc;
	memset(&r, 0, sizeof(r));
	rc = codec_decode_grown(
	    p, len, &r, session_fields, SESSION_FIELDS_FIRST, SESSION_FIELDS);
	if (rc != STORE_OK)
		return rc;
	if (memcmp(&r.id, id, sizeof(*id)) != 0 || !session_valid(&r))
		return STORE_CORRUPT;
	*ret = r;
	return STORE_OK;
}

static int
session_update(struct store_txn *txn, const struct session_record *r,
    int64_t old_expires_ms)
{
	int rc;

	if ((rc = session_put(txn, r)) != STORE_OK)
		return rc;
	return expiry_move(txn, EXPIRY_SESSION, r->id.b, ULID_BYTES,
	    old_expires_ms, r->expires_ms);
}

int
session_take(struct store_txn *txn, const struct ulid *id, uint32_t uid,
    enum trust_level trust, const char *label, int64_t now_ms)
{
	struct session_record r;
	int64_t old;
	int rc;

	if ((rc = session_get(txn, id, &r)) != STORE_OK)
		return rc;
	if (session_record_expired(&r, now_ms) || uid != r.uid ||
	    !session_record_for(&r, trust) || !session_record_of(&r, label))
		return STORE_NOT_FOUND;
	if (r.expires_ms == 0)
		return STORE_OK;
	old = r.expires_ms;
	r.expires_ms = 0;
	return session_update(txn, &r, old);
}

int
session_share(struct store_txn *txn, const struct ulid *id, bool shared)
{
	struct session_record r;
	int rc;

	if ((rc = session_get(txn, id, &r)) != STORE_OK)
		return rc;
	r.shared = shared;
	return session_put(txn, &r);
}

int
session_live_runs(
    struct store_txn *txn, const struct ulid *id, uint64_t *ret_count)
{
	struct run_filter f = { .by_status = true, .session = id };
	uint64_t queued, running;
	int rc;

	f.status = RUN_QUEUED;
	if ((rc = run_total(txn, &f, &queued)) != STORE_OK)
		return rc;
	f.status = RUN_RUNNING;
	if ((rc = run_total(txn, &f, &running)) != STORE_OK)
		return rc;
	*ret_count = queued + running;
	return STORE_OK;
}

int
session_give_back(struct store_txn *txn, const struct ulid *id,
    const struct ulid *run, int64_t now_ms, int64_t expires_ms)
{
	struct session_record r;
	uint64_t live;
	int64_t old;
	int rc;

	/* One that cannot be read keeps no run from ending. */
	if (session_get(txn, id, &r) != STORE_OK)
		return txn->err;
	if ((rc = session_live_runs(txn, id, &live)) != STORE_OK)
		return rc;
	old = r.expires_ms;
	r.last_run = *run;
	r.last_used_ms = now_ms;
	r.expires_ms = live == 0 ? expires_ms : 0;
	return session_update(txn, &r, old);
}

/* The marks of one whose row cannot be read are found by looking at all. */
static void
scrub_mark(struct store_txn *txn, const struct ulid *id)
{
	struct key all, found;
	struct txn_walk w;

	key_init(&all);
	key_init(&found);
	walk_up(&w, txn, TABLE_SESSIONS_BY_UID, &all, NULL);
	while (found.len == 0 && walk_next(&w))
		if (w.entry.key_len == 4 + ULID_BYTES &&
		    memcmp(w.entry.key + 4, id->b, ULID_BYTES) == 0)
			key_add(&found, w.entry.key, w.entry.key_len);
	walk_end(&w);
	if (found.len > 0)
		txn_delete(txn, TABLE_SESSIONS_BY_UID, &found);
}

int
session_delete(struct store_txn *txn, const struct ulid *id)
{
	struct session_record r;
	struct key k;
	int got;

	got = session_get(txn, id, &r);
	if (got == STORE_NOT_FOUND || txn->err != STORE_OK)
		return got;
	if (got == STORE_OK) {
		expiry_move(
		    txn, EXPIRY_SESSION, id->b, ULID_BYTES, r.expires_ms, 0);
		mark_key(&k, r.uid, id);
		txn_delete(txn, TABLE_SESSIONS_BY_UID, &k);
	} else {
		scrub_mark(txn, id);
	}
	session_key(&k, id);
	return txn_delete(txn, TABLE_SESSIONS, &k);
}

int
session_delete_idle(struct store_txn *txn, const struct ulid *id)
{
	uint64_t live;
	int rc = session_live_runs(txn, id, &live);

	if (rc != STORE_OK)
		return rc;
	return live > 0 ? STORE_EXISTS : session_delete(txn, id);
}

int
session_list(struct store_txn *txn, bool by_uid, uint32_t uid,
    const struct ulid *before, session_visit_fn *fn, void *arg)
{
	enum store_table table =
	    by_uid ? TABLE_SESSIONS_BY_UID : TABLE_SESSIONS;
	struct session_record r;
	struct key prefix, top;
	struct txn_walk w;
	struct ulid id;
	int rc;

	key_init(&prefix);
	if (by_uid)
		key_add_u32(&prefix, uid);
	top = prefix;
	if (before != NULL)
		key_add_ulid(&top, before);
	walk_down(&w, txn, table, &prefix, before != NULL ? &top : NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != prefix.len + ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key + prefix.len, sizeof(id));
		rc = session_get(txn, &id, &r);
		if (txn->err != STORE_OK ||
		    !fn(&id, rc == STORE_OK ? &r : NULL, rc, arg))
			break;
	}
	walk_end(&w);
	return txn->err;
}
