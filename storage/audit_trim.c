/*
 * Retention of the audit log: removes rows from its old end. Runs in
 * supervisord. The same transaction leaves a row that names the last one
 * removed and its hash, so that nobody else can remove some unseen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "storage/store_impl.h"

#define BATCH_MAX 10000u

struct trim {
	int64_t now_ms;
	int64_t before_ms;
	uint64_t keep;
	unsigned max;
	audit_trim_done_fn *done;
	void *arg;
	unsigned rows;
	bool more;
};

void
audit_trim_text(const struct audit_state *s, char ret[AUDIT_TRIM_CHARS + 1])
{
	char hex[2 * AUDIT_HASH_BYTES + 1];

	for (size_t i = 0; i < sizeof(s->anchor); i++)
		snprintf(hex + 2 * i, 3, "%02x", s->anchor[i]);
	snprintf(ret, AUDIT_TRIM_CHARS + 1,
	    "all rows to %" PRIu64 ", which had the hash %s", s->first - 1,
	    hex);
}

/* Is the row one too many, or too old? */
static bool
trim_due(const struct trim *t, const struct audit_state *s, uint64_t number,
    const struct audit_record *r)
{
	struct audit_row row;

	return s->rows - number >= t->keep ||
	    (audit_row_decode(number, r, &row) == STORE_OK &&
		row.time_ms < t->before_ms);
}

/*
 * Removes the first row; STORE_LIMIT when it stays. The last one of all stays
 * in any case, and so does one that is damaged or does not stand where it
 * should: nothing hides what a check would find.
 */
static int
trim_one(struct store_txn *txn, struct trim *t)
{
	struct audit_state *s = &txn->audit;
	uint8_t hash[AUDIT_HASH_BYTES];
	struct audit_record r;
	const uint8_t *p;
	struct key k;
	size_t len;

	if (s->first >= s->rows)
		return STORE_LIMIT;
	audit_key(&k, s->first);
	if (txn_get(txn, TABLE_AUDIT, &k, &p, &len) != STORE_OK ||
	    audit_record_read(p, len, &r) != STORE_OK ||
	    !trim_due(t, s, s->first, &r))
		return STORE_LIMIT;
	audit_record_hash(s->first, &r, hash);
	if (memcmp(hash, r.hash, sizeof(hash)) != 0 ||
	    memcmp(s->anchor, r.prev, sizeof(s->anchor)) != 0)
		return STORE_LIMIT;
	if (txn_delete(txn, TABLE_AUDIT, &k) != STORE_OK)
		return txn->err;
	memcpy(s->anchor, hash, sizeof(s->anchor));
	s->first++;
	txn->audit_changed = true;
	return STORE_OK;
}

static int
trim_write(struct store_txn *txn, void *arg)
{
	char text[AUDIT_TRIM_CHARS + 1];
	struct trim *t = arg;
	struct audit_entry e = { .time_ms = t->now_ms,
		.actor = AUDIT_SERVICE,
		.action = AUDIT_AUDIT_TRIM,
		.detail = text };
	int rc = audit_state(txn, &txn->audit);

	t->rows = 0;
	t->more = false;
	if (rc != STORE_OK)
		return rc;
	txn->audit_known = true;
	while (t->rows < t->max && (rc = trim_one(txn, t)) == STORE_OK)
		t->rows++;
	if (txn->err != STORE_OK || t->rows == 0)
		return txn->err;
	t->more = rc == STORE_OK;
	audit_trim_text(&txn->audit, text);
	return audit_append(txn, &e);
}

static void
trim_written(void *arg, int err)
{
	struct trim *t = arg;

	t->done(t->arg, err, t->rows, t->more);
	free(t);
}

enum store_err
audit_trim(struct store *s, int64_t now_ms, int64_t before_ms, uint64_t keep,
    unsigned max, audit_trim_done_fn *done, void *arg)
{
	struct trim *t = calloc(1, sizeof(*t));

	ASSERT(max > 0 && max <= BATCH_MAX);
	if (t == NULL)
		return STORE_NO_MEMORY;
	*t = (struct trim){ .now_ms = now_ms,
		.before_ms = before_ms,
		.keep = keep,
		.max = max,
		.done = done,
		.arg = arg };
	store_write(s, trim_write, t, trim_written, t);
	return STORE_OK;
}
