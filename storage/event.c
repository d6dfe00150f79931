/* Event logs of runs. Runs in supervisord; documents are opaque bytes. */
#include <string.h>

#include "model/limits.h"
#include "storage/codec.h"
#include "storage/event.h"
#include "storage/store_impl.h"

struct head {
	uint64_t last_seq;
	uint64_t last_detail; /* newest event that is no state event, or 0 */
	uint64_t count;
	uint64_t bytes; /* of payloads */
};

static const struct field head_fields[] = {
	F_U64(struct head, last_seq),
	F_U64(struct head, last_detail),
	F_U64(struct head, count),
	F_U64(struct head, bytes),
};
#define HEAD_FIELDS (sizeof(head_fields) / sizeof(head_fields[0]))

static const char *
kind_name(unsigned v)
{
	return event_name((enum event_kind)v);
}

static const struct field event_fields[] = {
	F_NAME(struct event_row, kind, EVENT__MAX, kind_name),
	F_I64(struct event_row, stamp_ms),
	F_BYTES(struct event_row, doc, doc_len, EVENT_DOC_BYTES),
};
#define EVENT_FIELDS (sizeof(event_fields) / sizeof(event_fields[0]))

static void
run_key(struct key *k, const struct ulid *run)
{
	key_init(k);
	key_add_ulid(k, run);
}

static void
event_key(struct key *k, const struct ulid *run, uint64_t seq)
{
	run_key(k, run);
	key_add_u64(k, seq);
}

static int
head_get(struct store_txn *txn, const struct ulid *run, struct head *ret)
{
	const uint8_t *p;
	struct key k;
	size_t len;
	int rc;

	memset(ret, 0, sizeof(*ret));
	run_key(&k, run);
	rc = txn_get(txn, TABLE_EVENT_HEADS, &k, &p, &len);
	if (rc == STORE_NOT_FOUND)
		return run_exists(txn, run) ? STORE_OK : rc;
	if (rc != STORE_OK)
		return rc;
	return codec_decode(p, len, ret, head_fields, HEAD_FIELDS);
}

static int
head_put(struct store_txn *txn, const struct ulid *run, const struct head *h)
{
	struct buf *b = scratch_begin(txn);
	struct key k;
	int rc;

	run_key(&k, run);
	rc = codec_encode(b, h, head_fields, HEAD_FIELDS);
	if (rc == STORE_OK)
		rc = txn_put(txn, TABLE_EVENT_HEADS, &k, b->data, b->len);
	return rc;
}

/* Takes the newest detail event out of a full log. */
static int
drop_detail(struct store_txn *txn, const struct ulid *run, struct head *h)
{
	const uint8_t *p;
	struct key k;
	size_t len = 0;
	int rc;

	event_key(&k, run, h->last_detail);
	rc = txn_get(txn, TABLE_EVENTS, &k, &p, &len);
	if (rc == STORE_NOT_FOUND)
		return STORE_OK;
	if (rc != STORE_OK && rc != STORE_CORRUPT)
		return rc;
	if ((rc = txn_delete(txn, TABLE_EVENTS, &k)) != STORE_OK)
		return rc;
	h->count -= h->count > 0;
	h->bytes -= h->bytes > len ? len : h->bytes;
	return STORE_OK;
}

static int
append_encoded(struct store_txn *txn, const struct ulid *run,
    enum event_kind kind, const struct buf *b, uint64_t *ret_seq)
{
	bool detail = !event_is_state(kind);
	struct head h;
	struct key k;
	int rc;

	if ((rc = head_get(txn, run, &h)) != STORE_OK)
		return rc;
	if (detail && h.last_detail != 0 &&
	    (h.count + 1 > LIMIT_EVENTS ||
		h.bytes + b->len > LIMIT_EVENT_LOG_BYTES) &&
	    (rc = drop_detail(txn, run, &h)) != STORE_OK)
		return rc;
	h.last_seq++;
	h.count++;
	h.bytes += b->len;
	if (detail)
		h.last_detail = h.last_seq;
	event_key(&k, run, h.last_seq);
	if ((rc = txn_put(txn, TABLE_EVENTS, &k, b->data, b->len)) !=
		STORE_OK ||
	    (rc = head_put(txn, run, &h)) != STORE_OK)
		return rc;
	*ret_seq = h.last_seq;
	return STORE_OK;
}

int
event_append(struct store_txn *txn, const struct ulid *run,
    const struct event_row *row, uint64_t *ret_seq)
{
	struct buf *b = scratch_begin(txn);
	int rc = codec_encode(b, row, event_fields, EVENT_FIELDS);

	return rc == STORE_OK ? append_encoded(txn, run, row->kind, b, ret_seq)
			      : rc;
}

int
event_row_read(const uint8_t *payload, size_t len, struct event_row *ret_row)
{
	struct event_row row;
	int rc;

	memset(&row, 0, sizeof(row));
	rc = codec_decode(payload, len, &row, event_fields, EVENT_FIELDS);
	if (rc == STORE_OK)
		*ret_row = row;
	return rc;
}

int
event_totals(
    struct store_txn *txn, const struct ulid *run, struct event_totals *ret)
{
	struct head h;
	int rc = head_get(txn, run, &h);

	if (rc == STORE_OK)
		*ret = (struct event_totals){ h.last_seq, h.count, h.bytes };
	return rc;
}

int
event_next_seq(struct store_txn *txn, const struct ulid *run, uint64_t *ret_seq)
{
	struct head h;
	int rc;

	if ((rc = head_get(txn, run, &h)) == STORE_OK)
		*ret_seq = h.last_seq + 1;
	return rc;
}

int
event_list(struct store_txn *txn, const struct ulid *run, uint64_t after_seq,
    uint64_t limit, event_visit_fn *fn, void *arg)
{
	struct event_row row;
	struct txn_walk w;
	struct key prefix, from;
	const uint8_t *p;
	uint64_t seq;
	size_t len;
	int rc;

	if (after_seq == UINT64_MAX)
		return STORE_OK;
	run_key(&prefix, run);
	event_key(&from, run, after_seq + 1);
	walk_up(&w, txn, TABLE_EVENTS, &prefix, &from);
	for (; limit > 0 && walk_next(&w); limit--) {
		if (w.entry.key_len != prefix.len + 8)
			continue;
		seq = key_read_u64(w.entry.key + prefix.len);
		memset(&row, 0, sizeof(row));
		rc = walk_payload(&w, &p, &len);
		if (rc == STORE_OK)
			rc = codec_decode(
			    p, len, &row, event_fields, EVENT_FIELDS);
		row.seq = seq;
		if (!fn(seq, rc == STORE_OK ? &row : NULL, rc, arg))
			break;
	}
	walk_end(&w);
	return txn->err;
}
