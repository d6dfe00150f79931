/*
 * Checking what belongs to runs: records, lists and totals, documents, events,
 * journals. Runs where check.c does.
 */
#include <stdio.h>
#include <string.h>

#include "ipc/mp.h"
#include "storage/check_int.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/journal.h"

#define SEQ   8
#define INDEX 4

/* The run that an entry belongs to must be there, readable or not. */
static bool
has_owner(struct check *c, const struct txn_walk *w, const struct ulid *run)
{
	if (check_find_run(c, run) != STORE_NOT_FOUND)
		return true;
	check_tell_entry(c, w, FAULT_OWNER_MISSING, run, "its run");
	return false;
}

static bool
key_run(struct check *c, const struct txn_walk *w, size_t more,
    struct ulid *ret_run)
{
	if (check_key_id(w, 0, ULID_BYTES + more, ret_run))
		return true;
	check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
	return false;
}

/* Records. */

static void
check_run_lists(
    struct check *c, const struct txn_walk *w, const struct run_record *r)
{
	unsigned missing = 0;
	struct key k;

	for (unsigned f = 0; f < INDEX_FILTERS; f++) {
		run_index_list(r, f, &k);
		key_add_ulid(&k, &r->id);
		missing += !txn_has(c->txn, TABLE_RUN_INDEX, &k);
	}
	if (missing > 0)
		check_tell_entry(c, w, FAULT_ENTRY_MISSING, &r->id,
		    "%u of the %u lists it belongs to", missing, INDEX_FILTERS);
}

/*
 * While a run lives its key leads to it. Once its life has ended another run
 * may have the key.
 */
static void
check_run_identity(
    struct check *c, const struct txn_walk *w, const struct run_record *r)
{
	struct idem_row row;
	int err;

	if (!r->has_identity)
		return;
	err = idem_read(c->txn, r->identity, &row);
	if (err == STORE_OK && memcmp(&row.run, &r->id, sizeof(r->id)) == 0)
		return;
	if ((err == STORE_OK || err == STORE_NOT_FOUND) && r->expires_ms == 0)
		check_tell_entry(c, w, FAULT_ENTRY_MISSING, &r->id,
		    "its idempotency key leads %s",
		    err == STORE_OK ? "to another run" : "nowhere");
}

void
check_run(struct check *c, const struct txn_walk *w)
{
	struct ulid id;
	int err;

	if (!key_run(c, w, 0, &id))
		return;
	if ((err = check_find_run(c, &id)) != STORE_OK) {
		check_tell_err(c, w, err, &id);
		return;
	}
	c->totals.runs++;
	check_run_lists(c, w, &c->run);
	check_expires(
	    c, w, c->run.expires_ms, EXPIRY_RUN, id.b, ULID_BYTES, &id);
	check_run_identity(c, w, &c->run);
	if (!run_status_terminal(c->run.status))
		check_spool(c, &id);
}

void
check_run_doc(struct check *c, const struct txn_walk *w)
{
	struct ulid id;

	if (!key_run(c, w, 1, &id) || !has_owner(c, w, &id))
		return;
	if (w->entry.key[ULID_BYTES] >= RUN_DOC__MAX)
		check_tell_entry(c, w, FAULT_KEY_WRONG, &id, "a document %u",
		    w->entry.key[ULID_BYTES]);
}

/* Lists. */

static bool
same_prefix(const struct key *k, const struct txn_walk *w, size_t len)
{
	return k->len == len && memcmp(k->b, w->entry.key, len) == 0;
}

/* The total of the list that is over. */
void
check_index_end(struct check *c)
{
	struct check_group *g = &c->group;
	struct check_fault f;
	uint64_t kept = 0;
	int err;

	if (!g->begun)
		return;
	err = run_index_kept(c->txn, &g->prefix, &kept);
	/* One that cannot be read is told where it is met. */
	if (err == STORE_OK && kept != g->count) {
		f = check_fault_new(FAULT_TOTAL_WRONG, TABLE_RUN_TOTALS,
		    g->prefix.b, g->prefix.len);
		snprintf(f.detail, sizeof(f.detail),
		    "it is %llu, and the list has %llu",
		    (unsigned long long)kept, (unsigned long long)g->count);
		check_tell(c, &f);
	}
	g->begun = false;
}

static void
index_count(struct check *c, const struct txn_walk *w, size_t prefix_len)
{
	struct check_group *g = &c->group;

	if (g->begun && !same_prefix(&g->prefix, w, prefix_len))
		check_index_end(c);
	if (!g->begun) {
		g->begun = true;
		key_init(&g->prefix);
		key_add(&g->prefix, w->entry.key, prefix_len);
		g->count = 0;
	}
	g->count++;
}

void
check_run_index(struct check *c, const struct txn_walk *w)
{
	size_t len = w->entry.key_len;
	struct key prefix;
	struct ulid id;
	int err;

	if (len <= ULID_BYTES || w->entry.key[0] >= INDEX_FILTERS) {
		check_tell_entry(c, w, FAULT_KEY_WRONG, NULL, "%s", "");
		return;
	}
	memcpy(&id, w->entry.key + len - ULID_BYTES, ULID_BYTES);
	index_count(c, w, len - ULID_BYTES);
	err = check_find_run(c, &id);
	if (err == STORE_OK)
		run_index_list(&c->run, w->entry.key[0], &prefix);
	if (err == STORE_NOT_FOUND ||
	    (err == STORE_OK && !same_prefix(&prefix, w, len - ULID_BYTES)))
		check_tell_entry(c, w, FAULT_ENTRY_EXTRA, &id, "%s",
		    err == STORE_OK ? "the run is not as this list says" : "");
}

void
check_run_total(struct check *c, const struct txn_walk *w)
{
	uint64_t kept = 0;
	struct key prefix;
	struct txn_walk list;
	bool found;
	int err;

	key_init(&prefix);
	key_add(&prefix, w->entry.key, w->entry.key_len);
	if ((err = run_index_kept(c->txn, &prefix, &kept)) != STORE_OK) {
		check_tell_err(c, w, err, NULL);
		return;
	}
	walk_up(&list, c->txn, TABLE_RUN_INDEX, &prefix, NULL);
	found =
	    walk_next(&list) && list.entry.key_len == prefix.len + ULID_BYTES;
	walk_end(&list);
	if (!found)
		check_tell_entry(c, w, FAULT_TOTAL_WRONG, NULL,
		    "it is %llu, and there is no such list",
		    (unsigned long long)kept);
}

/* Events. */

void
check_events_end(struct check *c)
{
	struct check_group *g = &c->group;
	struct event_totals t;
	struct check_fault f;
	struct ulid run;

	if (!g->begun)
		return;
	g->begun = false;
	memcpy(&run, g->prefix.b, sizeof(run));
	/* A head that cannot be read is told where it is met. */
	if (event_totals(c->txn, &run, &t) != STORE_OK ||
	    (t.count == g->count && t.bytes == g->bytes &&
		t.last_seq == g->last))
		return;
	f = check_fault_new(
	    FAULT_LOG_WRONG, TABLE_EVENT_HEADS, run.b, sizeof(run));
	f.has_run = true;
	f.run = run;
	snprintf(f.detail, sizeof(f.detail),
	    "%llu events to number %llu, and %llu to %llu are there",
	    (unsigned long long)t.count, (unsigned long long)t.last_seq,
	    (unsigned long long)g->count, (unsigned long long)g->last);
	check_tell(c, &f);
}

static void
event_count(struct check *c, const struct txn_walk *w, size_t payload_len)
{
	struct check_group *g = &c->group;

	if (g->begun && memcmp(g->prefix.b, w->entry.key, ULID_BYTES) != 0)
		check_events_end(c);
	if (!g->begun) {
		memset(g, 0, sizeof(*g));
		g->begun = true;
		key_add(&g->prefix, w->entry.key, ULID_BYTES);
	}
	g->count++;
	g->bytes += payload_len;
	g->last = key_read_u64(w->entry.key + ULID_BYTES);
}

void
check_event(struct check *c, const struct txn_walk *w)
{
	struct event_row row;
	const uint8_t *p;
	struct ulid id;
	size_t len;
	int err;

	if (!key_run(c, w, SEQ, &id) || !has_owner(c, w, &id))
		return;
	err = walk_payload(w, &p, &len);
	if (err == STORE_OK) {
		event_count(c, w, len);
		err = event_row_read(p, len, &row);
	}
	if (err != STORE_OK)
		check_tell_err(c, w, err, &id);
}

void
check_event_head(struct check *c, const struct txn_walk *w)
{
	struct event_totals t;
	struct txn_walk events;
	struct key prefix;
	struct ulid id;
	bool found;
	int err;

	if (!key_run(c, w, 0, &id) || !has_owner(c, w, &id))
		return;
	if ((err = event_totals(c->txn, &id, &t)) != STORE_OK) {
		check_tell_err(c, w, err, &id);
		return;
	}
	key_init(&prefix);
	key_add_ulid(&prefix, &id);
	walk_up(&events, c->txn, TABLE_EVENTS, &prefix, NULL);
	found = walk_next(&events);
	walk_end(&events);
	if (!found && t.count > 0)
		check_tell_entry(c, w, FAULT_LOG_WRONG, &id,
		    "%llu events, and none is there",
		    (unsigned long long)t.count);
}

/* Journals. */

void
check_journal(struct check *c, const struct txn_walk *w)
{
	struct journal_row row;
	struct ulid id;
	int err;

	if (!key_run(c, w, INDEX, &id) || !has_owner(c, w, &id))
		return;
	err = journal_get(
	    c->txn, &id, key_read_u32(w->entry.key + ULID_BYTES), &row);
	if (err != STORE_OK)
		check_tell_err(c, w, err, &id);
}

void
check_collect(struct check *c, const struct txn_walk *w)
{
	struct collect_row row;
	struct ulid id;
	int err;

	if (!key_run(c, w, 1, &id) || !has_owner(c, w, &id))
		return;
	err = collect_get(c->txn, &id, w->entry.key[ULID_BYTES], &row);
	if (err != STORE_OK)
		check_tell_err(c, w, err, &id);
}
