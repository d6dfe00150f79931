/* Unit tests of storage/: event logs and journals. */
#include "model/limits.h"
#include "storage/event.h"
#include "storage/journal.h"
#include "t/unit/storage_fixture.h"

struct events {
	struct ulid run;
	enum event_kind kind;
	size_t doc_len;
	unsigned n;
	uint64_t last;
};

static int
append_events(struct store_txn *txn, void *arg)
{
	static const uint8_t doc[EVENT_DOC_BYTES + 1];
	struct events *e = arg;
	struct event_row row = { .kind = e->kind,
		.stamp_ms = FX_NOW,
		.doc = doc,
		.doc_len = e->doc_len };
	uint64_t next;
	int rc = STORE_OK;

	for (unsigned i = 0; rc == STORE_OK && i < e->n; i++) {
		event_next_seq(txn, &e->run, &next);
		rc = event_append(txn, &e->run, &row, &e->last);
		if (rc == STORE_OK && next != e->last)
			return STORE__MAX;
	}
	return rc;
}

struct log_seen {
	uint64_t n;
	uint64_t bytes;
	uint64_t first, last;
	unsigned details;
	bool rising;
};

static bool
log_visit(uint64_t seq, const struct event_row *row, int err, void *arg)
{
	struct log_seen *l = arg;

	if (row == NULL)
		return l->rising = false;
	l->rising = l->n == 0 || seq > l->last;
	l->first = l->n == 0 ? seq : l->first;
	l->last = seq;
	l->n++;
	l->bytes += row->doc_len;
	l->details += !event_is_state(row->kind);
	return l->rising;
}

static struct log_seen
log_read(
    struct store *s, const struct ulid *run, uint64_t after, uint64_t limit)
{
	struct log_seen l = { 0 };

	event_list(fx_read(s), run, after, limit, log_visit, &l);
	store_read_end(s);
	return l;
}

static void
test_events(void)
{
	struct run_record r = fx_run(), other = fx_run();
	struct events e = {
		.run = r.id, .kind = EVENT_PROGRESS, .n = 5, .doc_len = 10
	};
	struct log_seen l;
	struct store *s;

	fx_new();
	s = fx_open();
	is_int(fx_write(s, append_events, &e), STORE_NOT_FOUND, "no such run");
	fx_write(s, fx_insert, &r);
	fx_write(s, fx_insert, &other);
	is_int(fx_write(s, append_events, &e), STORE_OK, "five events");
	is_int(e.last, 5, "numbered from 1");
	e.run = other.id;
	fx_write(s, append_events, &e);
	l = log_read(s, &r.id, 2, 2);
	ok(l.n == 2 && l.first == 3 && l.last == 4, "after 2, at most 2");
	is_int(log_read(s, &r.id, 5, 9).n, 0, "nothing after the last");
	is_int(log_read(s, &r.id, UINT64_MAX, 9).n, 0, "nor after the largest");
	e.doc_len = EVENT_DOC_BYTES + 1;
	is_int(fx_write(s, append_events, &e), STORE_LIMIT, "too long");
	store_free(&s);
	s = fx_open();
	e = (struct events){ .run = r.id, .kind = EVENT_RUN_STARTED, .n = 1 };
	fx_write(s, append_events, &e);
	is_int(e.last, 6, "numbers go on after a restart");
	store_free(&s);
}

static void
test_event_bounds(void)
{
	struct run_record r = fx_run(), big = fx_run();
	struct events e = { .run = r.id, .n = LIMIT_EVENTS };
	struct log_seen l;
	struct store *s;

	fx_new();
	s = fx_open();
	fx_write(s, fx_insert, &r);
	fx_write(s, fx_insert, &big);
	e.kind = EVENT_PROGRESS;
	fx_write(s, append_events, &e);
	e.n = 100;
	is_int(
	    fx_write(s, append_events, &e), STORE_OK, "100 beyond the bound");
	l = log_read(s, &r.id, 0, UINT64_MAX);
	ok(l.n == LIMIT_EVENTS && l.last == LIMIT_EVENTS + 100 && l.rising,
	    "the log keeps its size, the newest is there");
	e.kind = EVENT_APPROVAL_REQUIRED;
	e.n = 3;
	fx_write(s, append_events, &e);
	is_int(log_read(s, &r.id, 0, UINT64_MAX).n, LIMIT_EVENTS + 3,
	    "state events always fit");
	e.kind = EVENT_PROGRESS;
	e.n = 2;
	fx_write(s, append_events, &e);
	l = log_read(s, &r.id, LIMIT_EVENTS + 100, UINT64_MAX);
	ok(l.n == 4 && l.details == 1 && l.last == LIMIT_EVENTS + 105,
	    "and stay when progress goes on");
	e = (struct events){ .run = big.id,
		.kind = EVENT_PROGRESS,
		.n = 200,
		.doc_len = EVENT_DOC_BYTES };
	fx_write(s, append_events, &e);
	l = log_read(s, &big.id, 0, UINT64_MAX);
	ok(l.bytes <= LIMIT_EVENT_LOG_BYTES &&
		l.bytes > LIMIT_EVENT_LOG_BYTES / 2 && l.last == 200,
	    "bounded in bytes, too");
	store_free(&s);
}

struct mark {
	struct ulid run;
	struct journal_row row;
};

static int
journal(struct store_txn *txn, void *arg)
{
	struct mark *m = arg;

	return journal_insert(txn, &m->run, &m->row);
}

static int
collect(struct store_txn *txn, void *arg)
{
	struct collect_row row = { .part = 7,
		.kind = "csv",
		.mime = "text/csv",
		.name = "a.csv",
		.prefix = (const uint8_t *)"url\n",
		.prefix_len = 4 };

	return collect_put(txn, &((struct mark *)arg)->run, &row);
}

static bool
rises(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	uint32_t *next = arg;

	return row != NULL && row->index == index && index == 1u << (*next)++;
}

static void
test_journal(void)
{
	struct run_record r = fx_run();
	struct mark m = { .run = r.id };
	struct journal_row got;
	struct collect_row c;
	struct store *s;
	uint32_t next = 0;

	fx_new();
	s = fx_open();
	m.row.record = (const uint8_t *)"{\"i\":1}";
	m.row.record_len = 7;
	memcpy(m.row.digest, "12345678", 8);
	m.row.ok = true;
	is_int(fx_write(s, journal, &m), STORE_NOT_FOUND, "no such run");
	fx_write(s, fx_insert, &r);
	for (int bit = 9; bit >= 0; bit--) {
		m.row.index = 1u << bit;
		fx_write(s, journal, &m);
	}
	is_int(fx_write(s, journal, &m), STORE_EXISTS, "an item is done once");
	journal_list(fx_read(s), &r.id, rises, &next);
	store_read_end(s);
	is_int(next, 10, "all, in order of index");
	is_int(journal_get(fx_read(s), &r.id, 256, &got), STORE_OK, "one");
	ok(got.ok && got.record_len == 7 && got.nextents == 0 &&
		memcmp(got.record, "{\"i\":1}", 7) == 0 &&
		memcmp(got.digest, "12345678", 8) == 0,
	    "as it was written");
	store_read_end(s);
	is_int(journal_get(fx_read(s), &r.id, 3, &got), STORE_NOT_FOUND,
	    "not journaled");
	store_read_end(s);
	m.row.index = 3;
	m.row.nextents = 1;
	m.row.extents[0].len = 1;
	is_int(fx_write(s, journal, &m), STORE_INVALID,
	    "bytes that no open spool holds");
	m.row.nextents = JOURNAL_EXTENTS + 1;
	is_int(fx_write(s, journal, &m), STORE_LIMIT, "too many pieces");
	m.row.nextents = 0;
	m.row.record_len = LIMIT_ITEM_RECORD_BYTES + 1;
	is_int(fx_write(s, journal, &m), STORE_LIMIT, "too long a record");
	is_int(fx_write(s, collect, &m), STORE_OK, "collection declared");
	is_int(fx_write(s, collect, &m), STORE_OK, "and again");
	is_int(collect_get(fx_read(s), &r.id, 7, &c), STORE_OK, "read");
	ok(strcmp(c.name, "a.csv") == 0 && c.prefix_len == 4 &&
		memcmp(c.prefix, "url\n", 4) == 0 && c.suffix_len == 0,
	    "as declared");
	store_read_end(s);
	store_free(&s);
}

int
main(void)
{
	test_events();
	test_event_bounds();
	test_journal();
	return done_testing();
}
