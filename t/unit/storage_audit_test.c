/*
 * Unit tests of storage/: the audit log, what its check finds when rows are
 * changed under valid checksums, and its retention.
 */
#include "storage/audit.h"
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

#define ROWS 20

static struct audit_entry
entry(int64_t time_ms, int64_t actor, enum audit_action action)
{
	return (struct audit_entry){ .time_ms = time_ms,
		.actor = actor,
		.action = action,
		.detail = "something" };
}

static int
append(struct store_txn *txn, void *arg)
{
	return audit_append(txn, arg);
}

/* Three appends and a refusal after a put in one turn. */
static int
append_and_refuse(struct store_txn *txn, void *arg)
{
	int rc = audit_append(txn, arg);

	return rc == STORE_OK ? STORE__MAX + 1 : rc;
}

static void
fill(struct store *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct audit_entry e = entry(FX_NOW + i, 1000 + i % 2,
		    i % 4 == 0 ? AUDIT_RUN_SUBMIT : AUDIT_RUN_END);

		e.run.b[15] = (uint8_t)(i % 5);
		if (fx_write(s, append, &e) != STORE_OK)
			errx(1, "audit_append");
	}
}

/* A new store with so many rows. */
static struct store *
filled(unsigned n)
{
	struct store *s;

	fx_new();
	s = fx_open();
	fill(s, n);
	return s;
}

static struct audit_state
state_of(struct store *s)
{
	struct audit_state st;

	if (audit_state(fx_read(s), &st) != STORE_OK)
		errx(1, "audit_state");
	store_read_end(s);
	return st;
}

static struct audit_check
check_with(struct store *s, unsigned batch, const struct audit_check *wanted)
{
	struct audit_check c = { 0 };

	if (wanted != NULL)
		c = *wanted;
	for (unsigned i = 0; i < 1000 && !c.done; i++) {
		audit_check(fx_read(s), &c, batch);
		store_read_end(s);
	}
	return c;
}

static struct audit_check
check(struct store *s)
{
	return check_with(s, 7, NULL);
}

static bool
found(struct store *s, enum audit_fault fault, uint64_t bad)
{
	struct audit_check c = check(s);

	if (c.done && c.fault == fault && c.bad == bad)
		return true;
	printf("# row %llu %s\n", (unsigned long long)c.bad,
	    audit_fault_text(c.fault));
	return false;
}

static void
test_append(void)
{
	struct audit_entry e = entry(FX_NOW, AUDIT_SERVICE, AUDIT_RUN_END);
	struct audit_state st;
	struct store *s;
	int rc;

	fx_new();
	s = fx_open();
	ok(found(s, AUDIT_SOUND, 0), "an empty log is sound");
	store_write(s, append, &e, NULL, NULL);
	store_write(s, append_and_refuse, &e, fx_done, &rc);
	store_write(s, append, &e, NULL, NULL);
	store_commit(s, FX_NOW);
	ok(rc == STORE__MAX + 1, "a function of the turn was taken out");
	st = state_of(s);
	ok(st.rows == 2 && st.first == 1,
	    "it leaves no row and no number behind");
	fill(s, ROWS);
	ok(check(s).checked == ROWS + 2, "all rows are checked");
	ok(found(s, AUDIT_SOUND, 0), "and sound");
	store_free(&s);
	s = fx_open();
	fill(s, 1);
	ok(check(s).checked == ROWS + 3 && found(s, AUDIT_SOUND, 0),
	    "it goes on after a new start");
	store_free(&s);
}

struct seen {
	unsigned left, rows;
	uint64_t first, last;
	char detail[AUDIT_DETAIL_BYTES + 1];
};

static bool
see(uint64_t number, const struct audit_row *row, int err, void *arg)
{
	struct seen *seen = arg;

	if (seen->left-- == 0)
		return false;
	if (seen->rows++ == 0)
		seen->first = number;
	seen->last = number;
	if (err == STORE_OK) {
		memcpy(seen->detail, row->detail, row->detail_len);
		seen->detail[row->detail_len] = '\0';
	}
	return true;
}

static struct seen
list(struct store *s, struct audit_query q, unsigned limit, uint64_t *ret_next)
{
	struct seen seen = { .left = limit };

	if (q.looks == 0)
		q.looks = 1000;
	*ret_next = 12345;
	audit_list(fx_read(s), &q, see, &seen, ret_next);
	store_read_end(s);
	return seen;
}

static void
test_list(void)
{
	struct store *s;
	struct seen seen;
	struct ulid run = { { 0 } };
	uint64_t next;

	s = filled(ROWS);
	seen = list(s, (struct audit_query){ 0 }, 1000, &next);
	ok(seen.rows == ROWS && seen.first == ROWS && seen.last == 1 &&
		next == 0,
	    "the list has all rows, the newest first");
	seen = list(s, (struct audit_query){ 0 }, 8, &next);
	ok(seen.rows == 8 && next == ROWS - 7, "a page and where it goes on");
	seen = list(s, (struct audit_query){ .before = next }, 1000, &next);
	ok(seen.first == ROWS - 8 && next == 0, "the next page begins there");
	seen = list(s, (struct audit_query){ .by_actor = true, .actor = 1001 },
	    1000, &next);
	ok(seen.rows == ROWS / 2, "by actor");
	seen = list(s,
	    (struct audit_query){
		.by_action = true, .action = AUDIT_RUN_SUBMIT },
	    1000, &next);
	ok(seen.rows == ROWS / 4, "by action");
	run.b[15] = 3;
	seen = list(s, (struct audit_query){ .run = &run }, 1000, &next);
	ok(seen.rows == ROWS / 5, "by run");
	seen = list(s,
	    (struct audit_query){
		.since_ms = FX_NOW + 5, .until_ms = FX_NOW + 7 },
	    1000, &next);
	ok(seen.rows == 3 && seen.first == 8 && seen.last == 6, "by time");
	seen = list(s,
	    (struct audit_query){ .by_actor = true, .actor = 77, .looks = 6 },
	    1000, &next);
	ok(seen.rows == 0 && next == ROWS - 5,
	    "a list that finds nothing stops and tells where to go on");
	store_free(&s);
}

static void
test_detail(void)
{
	char text[2 * AUDIT_DETAIL_BYTES];
	struct audit_entry e = entry(FX_NOW, 1, AUDIT_RUN_REFUSE);
	struct store *s;
	struct seen seen;
	uint64_t next;

	fx_new();
	s = fx_open();
	memset(text, 'x', sizeof(text));
	memcpy(text + AUDIT_DETAIL_BYTES - 1, "\xc3\xa4", 2);
	text[sizeof(text) - 1] = '\0';
	e.detail = text;
	ok(fx_write(s, append, &e) == STORE_OK, "a long detail is taken");
	seen = list(s, (struct audit_query){ 0 }, 1, &next);
	ok(strlen(seen.detail) == AUDIT_DETAIL_BYTES - 1,
	    "and cut at a character");
	e.detail = NULL;
	ok(fx_write(s, append, &e) == STORE_OK, "as is none");
	ok(found(s, AUDIT_SOUND, 0), "the log is sound");
	store_free(&s);
}

/*
 * Tampering with valid checksums: as somebody would who can write the database
 * and knows its format.
 */
struct tamper {
	uint64_t row, other;
	bool rehash; /* the row's own hash is made anew */
};

static size_t
row_take(
    struct store_txn *txn, uint64_t number, uint8_t *ret, struct key *ret_key)
{
	const uint8_t *p;
	size_t len;

	audit_key(ret_key, number);
	if (txn_get(txn, TABLE_AUDIT, ret_key, &p, &len) != STORE_OK)
		errx(1, "no row %llu", (unsigned long long)number);
	memcpy(ret, p, len);
	return len;
}

static int
edit(struct store_txn *txn, void *arg)
{
	uint8_t bytes[4096], hash[AUDIT_HASH_BYTES];
	const struct tamper *t = arg;
	struct audit_record r;
	struct key k;
	size_t len = row_take(txn, t->row, bytes, &k);

	bytes[len - 1] ^= 1;
	if (t->rehash) {
		audit_record_read(bytes, len, &r);
		audit_record_hash(t->row, &r, hash);
		memcpy(bytes, hash, sizeof(hash));
	}
	return txn_put(txn, TABLE_AUDIT, &k, bytes, len);
}

static int
erase(struct store_txn *txn, void *arg)
{
	const struct tamper *t = arg;
	struct key k;

	audit_key(&k, t->row);
	return txn_delete(txn, TABLE_AUDIT, &k);
}

static int
swap(struct store_txn *txn, void *arg)
{
	uint8_t a[4096], b[4096];
	const struct tamper *t = arg;
	struct key ka, kb;
	size_t na = row_take(txn, t->row, a, &ka);
	size_t nb = row_take(txn, t->other, b, &kb);

	txn_put(txn, TABLE_AUDIT, &ka, b, nb);
	return txn_put(txn, TABLE_AUDIT, &kb, a, na);
}

/* The ends of the log, to be written with this turn. */
static struct audit_state *
ends_of(struct store_txn *txn)
{
	if (audit_state(txn, &txn->audit) != STORE_OK)
		errx(1, "audit_state");
	txn->audit_known = txn->audit_changed = true;
	return &txn->audit;
}

/* Removes rows, and has the hash of another one for an end that fits. */
static int
cut(struct store_txn *txn, uint64_t from, uint64_t to, uint64_t fits,
    uint8_t end[AUDIT_HASH_BYTES])
{
	uint8_t bytes[4096];
	struct key k;

	row_take(txn, fits, bytes, &k);
	memcpy(end, bytes, AUDIT_HASH_BYTES);
	for (uint64_t n = from; n <= to; n++) {
		audit_key(&k, n);
		txn_delete(txn, TABLE_AUDIT, &k);
	}
	return txn->err;
}

/* Removes the rows from one on, and moves the head back to fit. */
static int
truncate_all(struct store_txn *txn, void *arg)
{
	struct audit_state *st = ends_of(txn);
	const struct tamper *t = arg;
	uint64_t last = st->rows;

	st->rows = t->row - 1;
	return cut(txn, t->row, last, t->row - 1, st->head);
}

/* Removes the rows before one, and moves the anchor to fit. */
static int
behead(struct store_txn *txn, void *arg)
{
	struct audit_state *st = ends_of(txn);
	const struct tamper *t = arg;
	uint64_t first = st->first;

	st->first = t->row;
	return cut(txn, first, t->row - 1, t->row - 1, st->anchor);
}

static int
lose_state(struct store_txn *txn, void *arg)
{
	struct key k;

	(void)arg;
	key_init(&k);
	key_add(&k, "state", 5);
	return txn_delete(txn, TABLE_AUDIT_STATE, &k);
}

static struct store *
tampered(store_write_fn *fn, struct tamper t)
{
	struct store *s;

	s = filled(ROWS);
	if (!found(s, AUDIT_SOUND, 0) || fx_write(s, fn, &t) != STORE_OK)
		errx(1, "tampering failed");
	return s;
}

static void
test_rows(void)
{
	static const struct {
		const char *what;
		store_write_fn *fn;
		struct tamper tamper;
		enum audit_fault fault;
		uint64_t bad;
	} rows[] = {
		{ "a row that was changed", edit, { .row = 9 }, AUDIT_EDITED,
		    9 },
		{ "also with a hash that fits it", edit,
		    { .row = 9, .rehash = true }, AUDIT_UNLINKED, 10 },
		{ "also the last one", edit, { .row = ROWS, .rehash = true },
		    AUDIT_BAD_HEAD, ROWS },
		{ "also the first one", edit, { .row = 1 }, AUDIT_EDITED, 1 },
		{ "a row that was removed", erase, { .row = 9 }, AUDIT_MISSING,
		    9 },
		{ "also the first one", erase, { .row = 1 }, AUDIT_MISSING, 1 },
		{ "also the last one", erase, { .row = ROWS }, AUDIT_MISSING,
		    ROWS },
		{ "rows that changed places", swap, { .row = 6, .other = 12 },
		    AUDIT_EDITED, 6 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct store *s = tampered(rows[i].fn, rows[i].tamper);

		ok(found(s, rows[i].fault, rows[i].bad), "%s", rows[i].what);
		store_free(&s);
	}
}

static void
test_ends(void)
{
	struct audit_check noted = { .noted = ROWS };
	struct audit_state st;
	struct store *s;

	s = filled(ROWS);
	st = state_of(s);
	memcpy(noted.noted_hash, st.head, sizeof(st.head));
	fill(s, 3);
	ok(check_with(s, 5, &noted).fault == AUDIT_SOUND,
	    "a head that was noted is in the log");
	fx_write(s, truncate_all, &(struct tamper){ .row = 15 });
	ok(found(s, AUDIT_SOUND, 0),
	    "a log cut with its head can be told by none but");
	ok(check_with(s, 5, &noted).fault == AUDIT_MISSING,
	    "who has noted a head");
	fill(s, 20);
	ok(check_with(s, 5, &noted).fault == AUDIT_NOT_NOTED,
	    "also when it has grown again");
	fx_write(s, behead, &(struct tamper){ .row = 5 });
	ok(found(s, AUDIT_BAD_ANCHOR, 5), "rows removed at the old end");
	fx_write(s, lose_state, NULL);
	ok(found(s, AUDIT_NO_STATE, 0), "the ends themselves removed");
	fill(s, 3);
	st = state_of(s);
	ok(st.rows == 14 + 20 + 1 + 3, "the log goes on all the same");
	ok(found(s, AUDIT_RESUMED, 35), "but tells where it was cut");
	store_free(&s);
}

/* The head is put back so that a row would be written over. */
static int
step_back(struct store_txn *txn, void *arg)
{
	(void)arg;
	ends_of(txn)->rows -= 2;
	return STORE_OK;
}

static void
test_extra(void)
{
	struct audit_state st;
	struct store *s = tampered(step_back, (struct tamper){ 0 });

	ok(found(s, AUDIT_BAD_HEAD, ROWS - 2) ||
		found(s, AUDIT_EXTRA, ROWS - 1),
	    "rows behind the head");
	fill(s, 1);
	st = state_of(s);
	ok(st.rows == ROWS + 2 && found(s, AUDIT_RESUMED, ROWS + 1),
	    "none is written over");
	store_free(&s);
}

/* Retention. */

struct trimmed {
	int err;
	unsigned rows;
	bool more;
};

static void
on_trimmed(void *arg, int err, unsigned rows, bool more)
{
	*(struct trimmed *)arg = (struct trimmed){ err, rows, more };
}

static struct trimmed
trim(struct store *s, int64_t before_ms, uint64_t keep, unsigned max)
{
	struct trimmed t = { -1, 0, false };

	audit_trim(s, FX_NOW + 5000, before_ms, keep, max, on_trimmed, &t);
	store_commit(s, FX_NOW + 5000);
	return t;
}

static void
test_trim(void)
{
	struct audit_check noted = { .noted = 3 };
	struct audit_state st;
	struct trimmed t;
	struct store *s;

	s = filled(ROWS);
	t = trim(s, FX_NOW, 1000, 5);
	ok(t.err == STORE_OK && t.rows == 0 && !t.more, "nothing is due yet");
	t = trim(s, FX_NOW + 8, 1000, 5);
	ok(t.rows == 5 && t.more, "a batch is removed");
	ok(found(s, AUDIT_SOUND, 0), "the rest is sound");
	t = trim(s, FX_NOW + 8, 1000, 5);
	ok(t.rows == 3 && !t.more && found(s, AUDIT_SOUND, 0),
	    "and the last one");
	st = state_of(s);
	ok(st.first == 9 && st.rows == ROWS + 2, "each left a row");
	ok(check_with(s, 5, &noted).fault == AUDIT_NOTE_GONE,
	    "a head noted before that says nothing any more");
	noted.noted = 8;
	memcpy(noted.noted_hash, st.anchor, sizeof(st.anchor));
	ok(check_with(s, 5, &noted).fault == AUDIT_SOUND,
	    "but that of the last row removed does");
	t = trim(s, 0, 10, 1000);
	st = state_of(s);
	ok(t.rows == 4 && st.rows - st.first + 1 == 11,
	    "so many are kept, and the row on that");
	t = trim(s, INT64_MAX, 0, 1000);
	ok(t.err == STORE_OK && found(s, AUDIT_SOUND, 0), "nearly all may go");
	fx_write(s, edit, &(struct tamper){ .row = check(s).state.first });
	t = trim(s, INT64_MAX, 0, 1000);
	ok(t.rows == 0, "a row that was changed is not removed");
	store_free(&s);
}

/* A store of before there was an audit log. */
static int
make_old(struct store_txn *txn, void *arg)
{
	lose_state(txn, arg);
	return meta_put(txn, "schema", 1);
}

static void
test_upgrade(void)
{
	struct store *s;

	fx_new();
	s = fx_open();
	fx_write(s, make_old, NULL);
	store_free(&s);
	s = fx_open();
	ok(state_of(s).rows == 0, "a store of the first schema gets a log");
	fill(s, 2);
	ok(found(s, AUDIT_SOUND, 0) && check(s).checked == 2,
	    "which takes rows");
	store_free(&s);
}

int
main(void)
{
	test_append();
	test_list();
	test_detail();
	test_rows();
	test_ends();
	test_extra();
	test_trim();
	test_upgrade();
	return done_testing();
}
