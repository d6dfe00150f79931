/*
 * Checking the audit log, a bounded number of rows at a time. Runs in
 * supervisord. The first fault ends it: what stands behind a row that was
 * changed proves nothing.
 */
#include <string.h>

#include "common/panic.h"
#include "storage/store_impl.h"

#define NUMBER 8

static const char *const fault_texts[AUDIT_FAULT__MAX] = {
	[AUDIT_SOUND] = "is sound",
	[AUDIT_NO_STATE] = "is followed by no end that can be read",
	[AUDIT_MISSING] = "is missing",
	[AUDIT_DAMAGED] = "is damaged",
	[AUDIT_EDITED] = "was changed",
	[AUDIT_UNLINKED] = "does not follow the row before it",
	[AUDIT_BAD_HEAD] = "is not the one that was written last",
	[AUDIT_BAD_ANCHOR] = "is not the one behind those that were removed",
	[AUDIT_EXTRA] = "stands outside of the log",
	[AUDIT_BEHIND] = "tells that an older copy of the store was put back",
	[AUDIT_RESUMED] = "tells that the log lost its end before it",
	[AUDIT_NOT_NOTED] = "is not the one whose hash was noted",
	[AUDIT_NOTE_GONE] = "is kept no more, so that its hash says nothing",
};

const char *
audit_fault_text(enum audit_fault fault)
{
	ASSERT(fault < AUDIT_FAULT__MAX);
	return fault_texts[fault];
}

static bool
check_fault(struct audit_check *c, enum audit_fault fault, uint64_t row)
{
	c->fault = fault;
	c->bad = row;
	c->done = true;
	return false;
}

static bool
check_noted(struct audit_check *c, uint64_t number, const uint8_t *hash)
{
	if (number != c->noted || number == 0 ||
	    memcmp(hash, c->noted_hash, AUDIT_HASH_BYTES) == 0)
		return true;
	return check_fault(c, AUDIT_NOT_NOTED, number);
}

/* Rows may have been removed since the last time. */
static bool
check_begin(struct audit_check *c)
{
	const struct audit_state *s = &c->state;

	if (c->next >= s->first)
		return true;
	if (c->next == 0 && c->noted > s->rows)
		return check_fault(c, AUDIT_MISSING, c->noted);
	if (c->next == 0 && c->noted != 0 && c->noted < s->first - 1)
		return check_fault(c, AUDIT_NOTE_GONE, c->noted);
	c->next = s->first;
	memcpy(c->prev, s->anchor, sizeof(c->prev));
	return check_noted(c, s->first - 1, s->anchor);
}

static bool
check_special(struct audit_check *c, const struct audit_record *r)
{
	struct audit_row row;

	/* One of a later version's actions is as good as any other. */
	if (audit_row_decode(c->next, r, &row) != STORE_OK)
		return true;
	if (row.action == AUDIT_AUDIT_BEHIND)
		return check_fault(c, AUDIT_BEHIND, c->next);
	if (row.action == AUDIT_STORE_RESTORE)
		c->restored = c->next;
	if (row.action == AUDIT_AUDIT_RESUME)
		return check_fault(c, AUDIT_RESUMED, c->next);
	if (row.action == AUDIT_AUDIT_TRIM &&
	    row.detail_len < sizeof(c->trimmed)) {
		memcpy(c->trimmed, row.detail, row.detail_len);
		c->trimmed[row.detail_len] = '\0';
	}
	return true;
}

static bool
check_row(struct audit_check *c, const struct txn_walk *w)
{
	uint8_t hash[AUDIT_HASH_BYTES];
	struct audit_record r;
	const uint8_t *p;
	size_t len;

	if (walk_payload(w, &p, &len) != STORE_OK ||
	    audit_record_read(p, len, &r) != STORE_OK)
		return check_fault(c, AUDIT_DAMAGED, c->next);
	audit_record_hash(c->next, &r, hash);
	if (memcmp(hash, r.hash, sizeof(hash)) != 0)
		return check_fault(c, AUDIT_EDITED, c->next);
	if (memcmp(c->prev, r.prev, sizeof(c->prev)) != 0)
		return check_fault(c, AUDIT_UNLINKED, c->next);
	if (!check_noted(c, c->next, hash) || !check_special(c, &r))
		return false;
	memcpy(c->prev, hash, sizeof(c->prev));
	c->checked++;
	c->next++;
	return true;
}

static bool
check_entry(struct audit_check *c, const struct txn_walk *w)
{
	uint64_t number =
	    w->entry.key_len == NUMBER ? key_read_u64(w->entry.key) : 0;

	if (number == c->next && number <= c->state.rows)
		return check_row(c, w);
	if (number > c->next && c->next <= c->state.rows)
		return check_fault(c, AUDIT_MISSING, c->next);
	return check_fault(c, AUDIT_EXTRA, number);
}

/* All rows were seen. */
static void
check_end(struct audit_check *c)
{
	const struct audit_state *s = &c->state;
	char text[AUDIT_TRIM_CHARS + 1] = "";

	if (s->first > 1)
		audit_trim_text(s, text);
	c->done = true;
	if (c->next <= s->rows)
		check_fault(c, AUDIT_MISSING, c->next);
	else if (memcmp(c->prev, s->head, sizeof(c->prev)) != 0)
		check_fault(c, AUDIT_BAD_HEAD, s->rows);
	else if (strcmp(text, c->trimmed) != 0)
		check_fault(c, AUDIT_BAD_ANCHOR, s->first);
}

/* Before the first row there is none. */
static bool
check_front(struct store_txn *txn, struct audit_check *c)
{
	uint64_t number = c->state.first;
	struct txn_walk w;
	struct key all;

	key_init(&all);
	walk_up(&w, txn, TABLE_AUDIT, &all, NULL);
	if (walk_next(&w))
		number =
		    w.entry.key_len == NUMBER ? key_read_u64(w.entry.key) : 0;
	walk_end(&w);
	return number >= c->state.first || check_fault(c, AUDIT_EXTRA, number);
}

int
audit_check(struct store_txn *txn, struct audit_check *c, unsigned max)
{
	struct key all, from;
	struct txn_walk w;
	bool more = false;

	if (audit_state(txn, &c->state) != STORE_OK) {
		check_fault(c, AUDIT_NO_STATE, 0);
		return txn->err;
	}
	if (!check_front(txn, c) || !check_begin(c))
		return txn->err;
	key_init(&all);
	audit_key(&from, c->next);
	walk_up(&w, txn, TABLE_AUDIT, &all, &from);
	while (!c->done && walk_next(&w)) {
		more = max-- == 0;
		if (more || !check_entry(c, &w))
			break;
	}
	walk_end(&w);
	if (txn->err == STORE_OK && !more && !c->done)
		check_end(c);
	return txn->err;
}
