/*
 * Checking a store: goes over all tables on one transaction, then over files.
 * Runs in a process of supervisord's program that does nothing else. What is
 * met is believed to be damaged in any way; only LMDB itself is not defended
 * against the pages it reads, which check_pages.c has looked at before.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "storage/check_int.h"

#define PROGRESS_STEPS 100

static const char *const table_names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
};

/* Its first letter: a record's bytes have a checksum, a mark has none. */
static const char *const table_values[] = {
#define TABLE(name, database, key, value) value,
#include "storage/tables.def"
#undef TABLE
};

static check_entry_fn *const entry_fns[TABLE__MAX] = {
	[TABLE_META] = check_meta,
	[TABLE_RUNS] = check_run,
	[TABLE_RUN_DOCS] = check_run_doc,
	[TABLE_RUN_INDEX] = check_run_index,
	[TABLE_RUN_TOTALS] = check_run_total,
	[TABLE_IDEM] = check_idem,
	[TABLE_EVENTS] = check_event,
	[TABLE_EVENT_HEADS] = check_event_head,
	[TABLE_ARTIFACTS] = check_artifact,
	[TABLE_ARTIFACT_BYTES] = check_artifact_bytes,
	[TABLE_ARTIFACTS_BY_RUN] = check_artifact_by_run,
	[TABLE_JOURNAL] = check_journal,
	[TABLE_COLLECT] = check_collect,
	[TABLE_EXPIRY] = check_expiry,
	[TABLE_SESSIONS] = check_session,
	[TABLE_SESSIONS_BY_UID] = check_session_by_uid,
};

static void
key_text(const uint8_t *key, size_t len, char ret[CHECK_KEY_CHARS + 1])
{
	struct ulid id;
	size_t n = 0;

	ret[0] = '\0';
	if (len >= ULID_BYTES && len <= ULID_BYTES + 8) {
		memcpy(&id, key, sizeof(id));
		ulid_format(&id, ret);
		n = ULID_CHARS;
		key += ULID_BYTES;
		len -= ULID_BYTES;
		if (len > 0)
			ret[n++] = ':';
	}
	for (; len > 0 && n + 2 <= CHECK_KEY_CHARS; key++, len--)
		n += (size_t)snprintf(
		    ret + n, CHECK_KEY_CHARS + 1 - n, "%02x", *key);
	ret[n] = '\0';
}

/* The key of meta and audit_state is a name. */
static bool
is_word(const uint8_t *key, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((key[i] < 'a' || key[i] > 'z') && key[i] != '_' &&
		    key[i] != '.')
			return false;
	return len > 0 && len <= CHECK_KEY_CHARS;
}

struct check_fault
check_fault_new(
    enum fault fault, enum store_table table, const uint8_t *key, size_t len)
{
	struct check_fault f = { .fault = fault, .table = table_names[table] };

	if (table == TABLE_AUDIT && len == 8)
		snprintf(f.key, sizeof(f.key), "%llu",
		    (unsigned long long)key_read_u64(key));
	else if (is_word(key, len))
		snprintf(
		    f.key, sizeof(f.key), "%.*s", (int)len, (const char *)key);
	else
		key_text(key, len, f.key);
	return f;
}

void
check_tell(struct check *c, struct check_fault *f)
{
	c->totals.faults[fault_harm(f->fault)]++;
	c->watch->fault(c->watch->arg, f);
}

/* What an entry of that table is about, as its key has it. */
static void
fault_subject(struct check_fault *f, const struct txn_walk *w)
{
	static const struct ulid none;

	switch (w->table) {
	case TABLE_RUNS:
	case TABLE_RUN_DOCS:
	case TABLE_EVENTS:
	case TABLE_EVENT_HEADS:
	case TABLE_JOURNAL:
	case TABLE_COLLECT:
		f->has_run = check_key_id(w, 0, w->entry.key_len, &f->run);
		break;
	case TABLE_ARTIFACTS:
	case TABLE_ARTIFACT_BYTES:
		f->has_artifact =
		    check_key_id(w, 0, w->entry.key_len, &f->artifact);
		break;
	case TABLE_SESSIONS:
		f->has_session =
		    check_key_id(w, 0, w->entry.key_len, &f->session);
		break;
	default:
		break;
	}
	if (f->has_run && memcmp(&f->run, &none, sizeof(none)) == 0)
		f->has_run = false;
}

void
check_tell_entry(struct check *c, const struct txn_walk *w, enum fault fault,
    const struct ulid *run, const char *fmt, ...)
{
	struct check_fault f =
	    check_fault_new(fault, w->table, w->entry.key, w->entry.key_len);
	va_list ap;

	fault_subject(&f, w);
	if (run != NULL) {
		f.has_run = true;
		f.run = *run;
	}
	va_start(ap, fmt);
	vsnprintf(f.detail, sizeof(f.detail), fmt, ap);
	va_end(ap);
	check_tell(c, &f);
}

void
check_tell_err(
    struct check *c, const struct txn_walk *w, int err, const struct ulid *run)
{
	check_tell_entry(c, w,
	    err == STORE_NEWER ? FAULT_RECORD_NEWER : FAULT_RECORD_DAMAGED, run,
	    "%s", "");
}

bool
check_key_id(
    const struct txn_walk *w, size_t at, size_t len, struct ulid *ret_id)
{
	if (w->entry.key_len != len || len < at + ULID_BYTES)
		return false;
	memcpy(ret_id, w->entry.key + at, ULID_BYTES);
	return true;
}

int
check_find_run(struct check *c, const struct ulid *id)
{
	if (c->run_is_known && memcmp(&c->run_known, id, sizeof(*id)) == 0)
		return c->run_err;
	c->run_is_known = true;
	c->run_known = *id;
	c->run_err = run_get(c->txn, id, &c->run);
	return c->run_err;
}

void
check_expires(struct check *c, const struct txn_walk *w, int64_t stamp_ms,
    enum expiry_kind kind, const void *id, size_t id_len,
    const struct ulid *run)
{
	struct key k;

	if (stamp_ms == 0)
		return;
	expiry_key(&k, stamp_ms, kind, id, id_len);
	if (!txn_has(c->txn, TABLE_EXPIRY, &k))
		check_tell_entry(c, w, FAULT_ENTRY_MISSING, run, "expiry");
}

/* Tells when another hundredth is done. */
void
check_progress(struct check *c, const char *what, uint64_t done,
    uint64_t before, uint64_t total)
{
	uint64_t step = total / PROGRESS_STEPS + 1;

	/* A damaged table may have more than it says. */
	if (done > total)
		total = done;
	if (done / step != before / step || done == total)
		c->watch->progress(c->watch->arg, what, done, total);
}

static void
tell_pages(struct check *c, enum store_table table, const char *what)
{
	struct check_fault f =
	    check_fault_new(FAULT_PAGES_DAMAGED, table, NULL, 0);

	snprintf(f.detail, sizeof(f.detail), "%s", what);
	check_tell(c, &f);
}

static void
check_one(struct check *c, const struct txn_walk *w)
{
	const uint8_t *p;
	struct key key;
	size_t len;
	int err;

	check_progress(
	    c, "records", c->entries_done + 1, c->entries_done, c->entries);
	c->entries_done++;
	c->totals.records++;
	key_init(&key);
	key_add(&key, w->entry.key, w->entry.key_len);
	/* What is walked over may still be out of a search's reach. */
	if (!txn_has(c->txn, w->table, &key))
		check_tell_entry(c, w, FAULT_PAGES_DAMAGED, NULL,
		    "its key does not lead to it");
	if (table_values[w->table][0] == 'm') {
		if (w->entry.value.mv_size != 0)
			check_tell_entry(c, w, FAULT_RECORD_DAMAGED, NULL,
			    "a mark has a value");
	} else if ((err = walk_payload(w, &p, &len)) != STORE_OK) {
		check_tell_err(c, w, err, NULL);
		return;
	}
	if (entry_fns[w->table] != NULL)
		entry_fns[w->table](c, w);
}

static bool
key_ascends(const struct key *before, const struct txn_entry *e)
{
	size_t n = before->len < e->key_len ? before->len : e->key_len;
	int cmp = memcmp(before->b, e->key, n);

	return cmp < 0 || (cmp == 0 && before->len < e->key_len);
}

/*
 * Keys that do not rise are of damaged pages, and might go on for ever; a key
 * that no table has is not walked over as if it were ours.
 */
static const char *
walk_fault(struct key *before, const struct txn_entry *e, uint64_t seen)
{
	if (seen > 0 && !key_ascends(before, e))
		return "its keys are out of order";
	if (e->key_len == 0 || e->key_len > STORE_KEY_BYTES)
		return "a key is longer than any of ours";
	key_init(before);
	key_add(before, e->key, e->key_len);
	return NULL;
}

static uint64_t
table_entries(struct check *c, enum store_table table)
{
	MDB_stat st;

	if (mdb_stat(c->txn->mdb, c->store->dbi[table], &st) != 0)
		return 0;
	return st.ms_entries;
}

static void
check_table(struct check *c, enum store_table table)
{
	uint64_t seen = 0, expected = table_entries(c, table);
	const char *fault = NULL;
	struct key all, before;
	struct txn_walk w;

	key_init(&all);
	memset(&c->group, 0, sizeof(c->group));
	walk_up(&w, c->txn, table, &all, NULL);
	while (fault == NULL && walk_next(&w)) {
		fault = walk_fault(&before, &w.entry, seen);
		if (fault != NULL)
			break;
		seen++;
		check_one(c, &w);
	}
	walk_end(&w);
	if (fault == NULL && c->txn->err != STORE_OK)
		fault = store_strerror(c->txn->err);
	else if (fault == NULL && seen != expected)
		fault = "it has not as many entries as it says";
	if (fault != NULL)
		tell_pages(c, table, fault);
	/* The other tables may be well. */
	c->txn->err = STORE_OK;
	if (table == TABLE_RUN_INDEX)
		check_index_end(c);
	if (table == TABLE_EVENTS)
		check_events_end(c);
}

static void
check_tables(struct check *c)
{
	for (int t = 0; t < TABLE__MAX; t++)
		c->entries += table_entries(c, (enum store_table)t);
	for (int t = 0; t < TABLE__MAX; t++)
		check_table(c, (enum store_table)t);
	check_artifact_total(c);
	check_audit(c);
}

/* On a transaction whose pages were looked at. */
static enum store_err
check_begin(struct check *c)
{
	enum store_err err;

	while ((err = store_read_begin(c->store, &c->txn)) == STORE_OK &&
	    !check_pages(c))
		store_read_end(c->store);
	return err;
}

enum store_err
store_check(struct store *s, bool live, const struct check_watch *watch,
    struct check_totals *ret)
{
	struct check c = { .store = s, .live = live, .watch = watch };
	enum store_err err;

	buf_init(&c.files, SIZE_MAX);
	buf_init(&c.spools, SIZE_MAX);
	buf_init(&c.sessions, SIZE_MAX);
	err = check_begin(&c);
	if (err == STORE_OK) {
		check_tables(&c);
		store_read_end(s);
		err = c.files.failed || c.spools.failed || c.sessions.failed
		    ? STORE_NO_MEMORY
		    : check_files(&c);
	}
	buf_clear(&c.files);
	buf_clear(&c.spools);
	buf_clear(&c.sessions);
	if (err == STORE_OK)
		*ret = c.totals;
	return err;
}
