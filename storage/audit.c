/*
 * The audit log: appending and listing rows. Runs in supervisord. A row that
 * was written is never changed; only audit_trim.c removes some, from the old
 * end.
 */
#include <nettle/sha2.h>
#include <string.h>

#include "storage/codec.h"
#include "storage/store_impl.h"

#define HEAD_BYTES (2 * AUDIT_HASH_BYTES) /* of a record, before its row */
#define NUMBER     8
#define STATE_NAME "state"
/* Rows are in order of time but for so much. */
#define SLACK_MS 60000

static const char *
action_name(unsigned v)
{
	return audit_action_name((enum audit_action)v);
}

static const struct field row_fields[] = {
	F_I64(struct audit_row, time_ms),
	F_I64(struct audit_row, actor),
	F_NAME(struct audit_row, action, AUDIT__MAX, action_name),
	F_FIXED(struct audit_row, run),
	F_BYTES(struct audit_row, detail, detail_len, AUDIT_DETAIL_BYTES),
};
#define ROW_FIELDS (sizeof(row_fields) / sizeof(row_fields[0]))

static const struct field state_fields[] = {
	F_U64(struct audit_state, rows),
	F_U64(struct audit_state, first),
	F_FIXED(struct audit_state, head),
	F_FIXED(struct audit_state, anchor),
};
#define STATE_FIELDS (sizeof(state_fields) / sizeof(state_fields[0]))

void
audit_key(struct key *k, uint64_t number)
{
	key_init(k);
	key_add_u64(k, number);
}

int
audit_record_read(
    const uint8_t *payload, size_t len, struct audit_record *ret_record)
{
	if (len < HEAD_BYTES)
		return STORE_CORRUPT;
	*ret_record = (struct audit_record){ .hash = payload,
		.prev = payload + AUDIT_HASH_BYTES,
		.body = payload + HEAD_BYTES,
		.body_len = len - HEAD_BYTES };
	return STORE_OK;
}

void
audit_record_hash(uint64_t number, const struct audit_record *r,
    uint8_t ret_hash[AUDIT_HASH_BYTES])
{
	struct sha256_ctx ctx;
	struct key k;

	audit_key(&k, number);
	sha256_init(&ctx);
	sha256_update(&ctx, k.len, k.b);
	sha256_update(&ctx, AUDIT_HASH_BYTES, r->prev);
	sha256_update(&ctx, r->body_len, r->body);
	sha256_digest(&ctx, AUDIT_HASH_BYTES, ret_hash);
}

int
audit_row_decode(
    uint64_t number, const struct audit_record *r, struct audit_row *ret_row)
{
	memset(ret_row, 0, sizeof(*ret_row));
	ret_row->number = number;
	memcpy(ret_row->hash, r->hash, sizeof(ret_row->hash));
	return codec_decode(
	    r->body, r->body_len, ret_row, row_fields, ROW_FIELDS);
}

/* The state. */

static void
state_key(struct key *k)
{
	key_init(k);
	key_add(k, STATE_NAME, strlen(STATE_NAME));
}

int
audit_state(struct store_txn *txn, struct audit_state *ret_state)
{
	struct audit_state state;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	if (txn->audit_known) {
		*ret_state = txn->audit;
		return STORE_OK;
	}
	state_key(&k);
	if ((rc = txn_get(txn, TABLE_AUDIT_STATE, &k, &p, &len)) != STORE_OK)
		return rc == STORE_NOT_FOUND ? STORE_CORRUPT : rc;
	rc = codec_decode(p, len, &state, state_fields, STATE_FIELDS);
	if (rc == STORE_OK && (state.first < 1 || state.first > state.rows + 1))
		rc = STORE_CORRUPT;
	if (rc == STORE_OK)
		*ret_state = state;
	return rc;
}

int
audit_flush(struct store_txn *txn)
{
	struct key k;
	struct buf *b;
	int rc;

	if (!txn->audit_changed)
		return txn->err;
	b = scratch_begin(txn);
	state_key(&k);
	rc = codec_encode(b, &txn->audit, state_fields, STATE_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_AUDIT_STATE, &k, b->data, b->len);
	if (rc != STORE_OK)
		txn_fail(txn, rc);
	txn->audit_changed = false;
	return txn->err;
}

int
audit_create(struct store_txn *txn)
{
	txn->audit = (struct audit_state){ .first = 1 };
	txn->audit_known = txn->audit_changed = true;
	return audit_flush(txn);
}

/* Appending. */

/* At a character's begin, at most max bytes. */
static size_t
text_fit(const char *text, size_t max)
{
	size_t len = strnlen(text, max + 1);

	if (len <= max)
		return len;
	for (len = max; len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

static int
row_encode(struct buf *b, uint64_t number, const uint8_t *prev,
    const struct audit_entry *e)
{
	struct audit_row row = {
		.time_ms = e->time_ms,
		.actor = e->actor,
		.action = e->action,
		.run = e->run,
		.detail = (const uint8_t *)(e->detail == NULL ? "" : e->detail),
	};
	struct audit_record r;
	uint8_t hash[AUDIT_HASH_BYTES] = { 0 };
	int rc;

	row.detail_len = text_fit((const char *)row.detail, AUDIT_DETAIL_BYTES);
	buf_add(b, hash, sizeof(hash));
	buf_add(b, prev, AUDIT_HASH_BYTES);
	if ((rc = codec_encode(b, &row, row_fields, ROW_FIELDS)) != STORE_OK ||
	    (rc = audit_record_read(b->data, b->len, &r)) != STORE_OK)
		return rc;
	audit_record_hash(number, &r, hash);
	memcpy(b->data, hash, sizeof(hash));
	return STORE_OK;
}

static int
row_append(struct store_txn *txn, const struct audit_entry *e)
{
	struct audit_state *s = &txn->audit;
	struct buf *b = scratch_begin(txn);
	uint64_t number = s->rows + 1;
	struct key k;
	int rc;

	audit_key(&k, number);
	rc = row_encode(b, number, s->head, e);
	if (rc == STORE_OK)
		rc = txn_append(txn, TABLE_AUDIT, &k, b->data, b->len);
	if (rc != STORE_OK)
		return rc;
	s->rows = number;
	memcpy(s->head, b->data, sizeof(s->head));
	txn->audit_changed = true;
	return STORE_OK;
}

/* The first or the last row that is there. */
static bool
row_at_end(struct store_txn *txn, bool last, uint64_t *ret_number,
    uint8_t ret_hash[AUDIT_HASH_BYTES], uint8_t ret_prev[AUDIT_HASH_BYTES])
{
	struct audit_record r;
	struct txn_walk w;
	struct key all;
	const uint8_t *p;
	bool found;
	size_t len;

	key_init(&all);
	if (last)
		walk_down(&w, txn, TABLE_AUDIT, &all, NULL);
	else
		walk_up(&w, txn, TABLE_AUDIT, &all, NULL);
	found = walk_next(&w) && w.entry.key_len == NUMBER;
	if (found) {
		*ret_number = key_read_u64(w.entry.key);
		memset(ret_hash, 0, AUDIT_HASH_BYTES);
		memset(ret_prev, 0, AUDIT_HASH_BYTES);
		if (walk_payload(&w, &p, &len) == STORE_OK &&
		    audit_record_read(p, len, &r) == STORE_OK) {
			memcpy(ret_hash, r.hash, AUDIT_HASH_BYTES);
			memcpy(ret_prev, r.prev, AUDIT_HASH_BYTES);
		}
	}
	walk_end(&w);
	return found;
}

/*
 * The state is lost or does not fit the rows. The service goes on, since no
 * damage may stop it, and so does the log; but a row tells that its end was
 * lost, and no check passes over it.
 */
static int
log_resume(struct store_txn *txn, const struct audit_entry *at)
{
	struct audit_state s = { .first = 1 };
	uint8_t other[AUDIT_HASH_BYTES];
	struct audit_entry e = { .time_ms = at->time_ms,
		.actor = AUDIT_SERVICE,
		.action = AUDIT_AUDIT_RESUME };

	if (row_at_end(txn, true, &s.rows, s.head, other) &&
	    row_at_end(txn, false, &s.first, other, s.anchor) &&
	    s.rows == UINT64_MAX)
		return STORE_LIMIT;
	if (txn->err != STORE_OK)
		return txn->err;
	txn->audit = s;
	txn->audit_known = txn->audit_changed = true;
	return row_append(txn, &e);
}

int
audit_append(struct store_txn *txn, const struct audit_entry *e)
{
	int rc = audit_state(txn, &txn->audit);

	if (rc == STORE_OK) {
		txn->audit_known = true;
		rc = row_append(txn, e);
		if (rc == STORE_OK)
			return rc;
	}
	if (rc == STORE_CORRUPT || rc == STORE_EXISTS) {
		rc = log_resume(txn, e);
		if (rc == STORE_OK)
			rc = row_append(txn, e);
	}
	if (rc != STORE_OK)
		txn_fail(txn, rc);
	return txn->err;
}

/* Listing. */

static int
row_read(struct store_txn *txn, uint64_t number, struct audit_row *ret_row)
{
	struct audit_record r;
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	audit_key(&k, number);
	if ((rc = txn_get(txn, TABLE_AUDIT, &k, &p, &len)) != STORE_OK ||
	    (rc = audit_record_read(p, len, &r)) != STORE_OK)
		return rc;
	return audit_row_decode(number, &r, ret_row);
}

int
audit_hash(
    struct store_txn *txn, uint64_t number, uint8_t ret_hash[AUDIT_HASH_BYTES])
{
	struct audit_row row;
	int rc = row_read(txn, number, &row);

	if (rc == STORE_OK)
		memcpy(ret_hash, row.hash, AUDIT_HASH_BYTES);
	return rc;
}

/* The first number from low on whose row is later than ms; high: none. */
static uint64_t
number_after(struct store_txn *txn, uint64_t low, uint64_t high, int64_t ms)
{
	uint64_t end = high;
	struct audit_row row;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (row_read(txn, middle, &row) != STORE_OK)
			return end;
		if (row.time_ms > ms)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool
row_wanted(const struct audit_row *row, const struct audit_query *q)
{
	return (q->since_ms == 0 || row->time_ms >= q->since_ms) &&
	    (q->until_ms == 0 || row->time_ms <= q->until_ms) &&
	    (!q->by_actor || row->actor == q->actor) &&
	    (!q->by_action || row->action == q->action) &&
	    (q->run == NULL ||
		memcmp(&row->run, q->run, sizeof(row->run)) == 0);
}

/* Where the list begins: below this number. */
static int
list_begin(struct store_txn *txn, const struct audit_query *q, uint64_t *ret)
{
	struct audit_state s;
	uint64_t end;
	int rc;

	if ((rc = audit_state(txn, &s)) != STORE_OK)
		return rc;
	end = s.rows + 1;
	if (q->before != 0 && q->before < end)
		end = q->before;
	if (q->until_ms != 0 && end > s.first &&
	    q->until_ms < INT64_MAX - SLACK_MS)
		end = number_after(txn, s.first, end, q->until_ms + SLACK_MS);
	*ret = end;
	return txn->err;
}

static int
entry_read(const struct txn_walk *w, uint64_t number, struct audit_row *ret_row)
{
	struct audit_record r;
	const uint8_t *p;
	size_t len;
	int rc;

	if ((rc = walk_payload(w, &p, &len)) != STORE_OK ||
	    (rc = audit_record_read(p, len, &r)) != STORE_OK)
		return rc;
	return audit_row_decode(number, &r, ret_row);
}

/* Where the list goes on; 0: it is at its end. */
static uint64_t
list_walk(struct txn_walk *w, const struct audit_query *q, audit_visit_fn *fn,
    void *arg)
{
	struct audit_row row;
	unsigned looks = 0;
	uint64_t number;
	int rc;

	while (walk_next(w)) {
		if (w->entry.key_len != NUMBER)
			continue;
		number = key_read_u64(w->entry.key);
		if (looks++ == q->looks)
			return number + 1;
		rc = entry_read(w, number, &row);
		if (rc == STORE_OK && q->since_ms != 0 &&
		    row.time_ms + SLACK_MS < q->since_ms)
			return 0;
		if (rc == STORE_OK && !row_wanted(&row, q))
			continue;
		if (!fn(number, rc == STORE_OK ? &row : NULL, rc, arg))
			return number + 1;
	}
	return 0;
}

int
audit_list(struct store_txn *txn, const struct audit_query *q,
    audit_visit_fn *fn, void *arg, uint64_t *ret_next)
{
	struct key all, before;
	struct txn_walk w;
	uint64_t begin;
	int rc;

	if ((rc = list_begin(txn, q, &begin)) != STORE_OK)
		return rc;
	key_init(&all);
	audit_key(&before, begin);
	walk_down(&w, txn, TABLE_AUDIT, &all, &before);
	*ret_next = list_walk(&w, q, fn, arg);
	walk_end(&w);
	return txn->err;
}
