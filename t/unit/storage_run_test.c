/* Unit tests of storage/: run records, lists, totals and recovery. */
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

#define MODEL_RUNS 300
#define MODEL_OPS  1500
#define GROUP_MAX  700

static uint32_t seed = 20240229;

static uint32_t
rnd(uint32_t below)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % below;
}

struct filled {
	struct run_record r;
	const char *doc;
};

static int
insert_filled(struct store_txn *txn, void *arg)
{
	struct filled *f = arg;

	run_insert(txn, &f->r);
	return run_doc_put(
	    txn, &f->r.id, RUN_DOC_RESULT, f->doc, strlen(f->doc));
}

static struct run_record
full_record(void)
{
	struct run_record r = fx_run();

	fx_end_run(&r, RUN_PARTIAL_SUCCESS, FX_NOW + 900, FX_NOW + 1000);
	r.mode = MODE_ASYNC;
	r.priority = PRIORITY_CRITICAL;
	r.attempt = 3;
	r.epoch = UINT32_MAX;
	r.started_ms = FX_NOW + 1;
	r.spent_ms = 77;
	r.heard = UINT64_MAX;
	r.spent_mono_ms = INT64_MAX;
	r.done = 12;
	r.total = 1000;
	r.intent = INTENT_TIMEOUT;
	r.intent_ms = FX_NOW + 2;
	memset(r.trace_id, 'a', STORE_TRACE_CHARS);
	memset(r.template_id, 't', STORE_TEMPLATE_CHARS);
	strlcpy(r.phase, "acting", sizeof(r.phase));
	strlcpy(r.facts_snapshot_id, "f", sizeof(r.facts_snapshot_id));
	strlcpy(r.error_code, "RUN_TIMEOUT", sizeof(r.error_code));
	r.has_identity = true;
	memset(r.identity, 7, sizeof(r.identity));
	return r;
}

static void
test_record(void)
{
	struct filled f = { full_record(), "{\"a\":1}" };
	struct run_record got;
	const uint8_t *p;
	struct store *s;
	size_t len;

	fx_new();
	s = fx_open();
	is_int(fx_write(s, insert_filled, &f), STORE_OK, "insert");
	store_free(&s);
	s = fx_open();
	memset(&got, 0, sizeof(got));
	is_int(fx_get(s, &f.r.id, &got), STORE_OK, "read after reopening");
	ok(memcmp(&got, &f.r, sizeof(got)) == 0, "every field came back");
	ok(run_doc_get(fx_read(s), &f.r.id, RUN_DOC_RESULT, &p, &len) ==
		    STORE_OK &&
		len == 7 && memcmp(p, f.doc, 7) == 0,
	    "the document, too");
	store_read_end(s);
	store_free(&s);
}

struct raw {
	struct key key;
	uint8_t bytes[4096];
	size_t len;
};

static int
raw_put(struct store_txn *txn, void *arg)
{
	struct raw *raw = arg;

	return txn_put(txn, TABLE_RUNS, &raw->key, raw->bytes, raw->len);
}

static int
older_put(struct store_txn *txn, void *arg)
{
	raw_put(txn, arg);
	return meta_put(txn, "schema", 2);
}

/* A record as schema 2 had it: without the last two fields, which are 0. */
static void
test_older(void)
{
	struct run_record r = fx_run(), got;
	struct raw raw;
	const uint8_t *p;
	struct store *s;
	int64_t schema = 0;

	fx_new();
	s = fx_open();
	fx_write(s, fx_insert, &r);
	key_init(&raw.key);
	key_add_ulid(&raw.key, &r.id);
	is_int(txn_get(fx_read(s), TABLE_RUNS, &raw.key, &p, &raw.len),
	    STORE_OK, "a record");
	raw.len -= 2;
	memcpy(raw.bytes, p, raw.len);
	store_read_end(s);
	raw.bytes[2] -= 2; /* of an array of 16 bits' length */
	fx_write(s, older_put, &raw);
	store_free(&s);
	s = fx_open();
	is_int(fx_get(s, &r.id, &got), STORE_OK, "of schema 2 is read");
	ok(memcmp(&got, &r, sizeof(got)) == 0, "as one that was not heard");
	meta_get(fx_read(s), "schema", &schema);
	store_read_end(s);
	is_int(schema, SCHEMA_VERSION, "in a store of today's schema");
	got.heard = 12;
	got.spent_mono_ms = 34;
	is_int(fx_write(s, fx_update, &got), STORE_OK, "it grows");
	r = got;
	fx_get(s, &r.id, &got);
	ok(memcmp(&got, &r, sizeof(got)) == 0, "when it is written");
	store_free(&s);
}

/* Damage that a checksum does not see: the decoder alone must. */
static void
test_decoder(void)
{
	struct filled f = { full_record(), "" };
	struct run_record got, before;
	struct raw raw, bad;
	const uint8_t *p;
	struct store *s;
	int wrong = 0, changed = 0;

	fx_new();
	s = fx_open();
	fx_write(s, insert_filled, &f);
	key_init(&raw.key);
	key_add_ulid(&raw.key, &f.r.id);
	txn_get(fx_read(s), TABLE_RUNS, &raw.key, &p, &raw.len);
	memcpy(raw.bytes, p, raw.len);
	store_read_end(s);
	memset(&got, 0x55, sizeof(got));
	before = got;
	for (size_t len = 0; len < raw.len; len++) {
		bad = raw;
		bad.len = len;
		fx_write(s, raw_put, &bad);
		wrong += fx_get(s, &f.r.id, &got) != STORE_CORRUPT;
	}
	is_int(wrong, 0, "cut at every byte: damaged");
	ok(memcmp(&got, &before, sizeof(got)) == 0, "the output is untouched");
	bad = raw;
	bad.bytes[bad.len++] = 0xc0;
	fx_write(s, raw_put, &bad);
	is_int(fx_get(s, &f.r.id, &got), STORE_CORRUPT, "a byte too many");
	for (size_t at = 0; at < raw.len; at++) {
		int rc;

		bad = raw;
		bad.bytes[at] = (uint8_t)rnd(256);
		fx_write(s, raw_put, &bad);
		rc = fx_get(s, &f.r.id, &got);
		wrong += rc != STORE_OK && rc != STORE_CORRUPT;
		changed += rc == STORE_CORRUPT;
	}
	ok(wrong == 0 && changed > 20, "mutations are read or refused (%d)",
	    changed);
	store_free(&s);
}

static void
test_update_rules(void)
{
	struct run_record r = fx_run(), bad;
	struct store *s;

	fx_new();
	s = fx_open();
	bad = r;
	bad.created_ms++;
	is_int(fx_write(s, fx_insert, &bad), STORE_INVALID,
	    "createdAt is the id's time");
	bad = r;
	bad.template_id[0] = '\0';
	is_int(fx_write(s, fx_insert, &bad), STORE_INVALID, "no template");
	bad = r;
	memset(bad.trace_id, 'x', sizeof(bad.trace_id));
	is_int(fx_write(s, fx_insert, &bad), STORE_INVALID, "text without end");
	bad = r;
	bad.priority = PRIORITY__MAX;
	is_int(fx_write(s, fx_insert, &bad), STORE_INVALID, "no such priority");
	is_int(fx_write(s, fx_update, &r), STORE_NOT_FOUND, "unknown run");
	fx_write(s, fx_insert, &r);
	bad = r;
	bad.uid++;
	is_int(fx_write(s, fx_update, &bad), STORE_INVALID, "the uid stays");
	bad = r;
	fx_end_run(&bad, RUN_SUCCEEDED, FX_NOW, 0);
	is_int(fx_write(s, fx_update, &bad), STORE_INVALID,
	    "queued does not become succeeded");
	r.status = RUN_RUNNING;
	is_int(fx_write(s, fx_update, &r), STORE_OK, "running");
	bad = r;
	bad.status = RUN_FAILED;
	is_int(fx_write(s, fx_update, &bad), STORE_INVALID,
	    "a terminal run has an end");
	fx_end_run(&r, RUN_FAILED, FX_NOW, 0);
	is_int(fx_write(s, fx_update, &r), STORE_OK, "failed");
	bad = r;
	bad.status = RUN_CANCELED;
	is_int(fx_write(s, fx_update, &bad), STORE_INVALID,
	    "the first terminal state wins");
	r.expires_ms = FX_NOW + 1;
	is_int(fx_write(s, fx_update, &r), STORE_OK, "its expiry may be set");
	store_free(&s);
}

/* The model: an array in order of insertion, filtered by brute force. */
static struct run_record model[MODEL_RUNS];
static int model_len;

static bool
model_match(const struct run_record *r, const struct run_filter *f)
{
	return (!f->by_uid || r->uid == f->uid) &&
	    (!f->by_status || r->status == f->status) &&
	    (f->template_id == NULL ||
		strcmp(r->template_id, f->template_id) == 0) &&
	    (f->session == NULL ||
		memcmp(&r->session, f->session, sizeof(r->session)) == 0);
}

struct page {
	struct ulid ids[MODEL_RUNS];
	enum run_status statuses[MODEL_RUNS];
	int n;
};

static bool
page_add(const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	struct page *page = arg;

	if (r == NULL || page->n == MODEL_RUNS)
		return false;
	page->statuses[page->n] = r->status;
	page->ids[page->n++] = *id;
	return true;
}

static bool
page_right(struct store *s, const struct run_filter *f, uint64_t offset,
    uint64_t limit)
{
	struct page page = { .n = 0 };
	struct store_txn *txn;
	uint64_t total, other, want = 0;
	int at = 0;
	bool same = true;

	txn = fx_read(s);
	run_list(txn, f, offset, limit, page_add, &page, &total);
	run_total(txn, f, &other);
	store_read_end(s);
	for (int i = model_len - 1; i >= 0; i--) {
		if (!model_match(&model[i], f))
			continue;
		if (want >= offset && want < offset + limit) {
			same = same && at < page.n &&
			    memcmp(&page.ids[at], &model[i].id, ULID_BYTES) ==
				0 &&
			    page.statuses[at] == model[i].status;
			at++;
		}
		want++;
	}
	return same && at == page.n && total == want && other == want;
}

static const char *const templates[] = { "a", "ab", "batch_extract_pages" };

/* What is queued and not yet committed, as it was when it was queued. */
static struct {
	struct run_record runs[GROUP_MAX];
	int total[GROUP_MAX];
	int len, wrong;
} group;

static struct run_record *
group_add(const struct run_record *r)
{
	group.runs[group.len] = *r;
	return &group.runs[group.len++];
}

static void
group_commit(struct store *s)
{
	store_commit(s, FX_NOW);
	group.len = 0;
}

/* Sees what was queued before it, and nothing else. */
static int
group_look(struct store_txn *txn, void *arg)
{
	struct run_filter all = { 0 };
	uint64_t total = 0;
	int rc = run_total(txn, &all, &total);

	group.wrong += rc != STORE_OK || total != *(const uint64_t *)arg;
	return rc;
}

/* Its changes must leave nothing behind, though others were queued before. */
static int
group_refuse(struct store_txn *txn, void *arg)
{
	int rc = fx_insert(txn, arg);

	return rc == STORE_OK ? STORE_INVALID : rc;
}

/* In a session of others, or the first of a new one. */
static void
model_enter(struct run_record *r, struct ulid *sessions)
{
	struct ulid *session = &sessions[rnd(4)];

	r->owns_session = rnd(8) == 0;
	if (r->owns_session)
		*session = ulid_new(FX_NOW);
	r->session = *session;
}

static void
model_step(struct store *s, struct ulid *sessions)
{
	static const enum run_status ends[] = { RUN_SUCCEEDED,
		RUN_PARTIAL_SUCCESS, RUN_FAILED, RUN_CANCELED };
	struct run_record *r;
	uint32_t dice = rnd(10);
	int at;

	if (model_len == 0 || (dice < 4 && model_len < MODEL_RUNS)) {
		r = &model[model_len++];
		*r = fx_run_at(FX_NOW + model_len / 7);
		r->uid = rnd(3) + (rnd(2) != 0 ? 0xffffff00u : 0);
		model_enter(r, sessions);
		strlcpy(
		    r->template_id, templates[rnd(3)], sizeof(r->template_id));
		store_write(s, fx_insert, group_add(r), NULL, NULL);
		return;
	}
	at = (int)rnd((uint32_t)model_len);
	r = &model[at];
	if (dice == 9) {
		store_write(s, fx_delete, &group_add(r)->id, NULL, NULL);
		memmove(r, r + 1, (size_t)(model_len - at - 1) * sizeof(*r));
		model_len--;
		return;
	}
	if (r->status == RUN_QUEUED)
		r->status = RUN_RUNNING;
	else if (r->status == RUN_RUNNING && dice == 8)
		r->status = RUN_QUEUED;
	else if (r->status == RUN_RUNNING)
		fx_end_run(r, ends[rnd(4)], FX_NOW, FX_NOW + rnd(1000));
	store_write(s, fx_update, group_add(r), NULL, NULL);
}

static void
model_disturb(struct store *s, const struct ulid *sessions)
{
	static uint64_t totals[GROUP_MAX];
	struct run_record stranger = fx_run_at(FX_NOW);

	stranger.session = sessions[rnd(4)];
	stranger.owns_session = false;
	store_write(s, group_refuse, group_add(&stranger), NULL, NULL);
	totals[group.len] = (uint64_t)model_len;
	store_write(s, group_look, &totals[group.len], NULL, NULL);
}

/* In groups of so many writes, which share a commit. */
static void
test_model(int size)
{
	struct run_filter f;
	struct ulid sessions[4];
	struct store *s;
	int wrong = 0, checks = 0, every = size < 5 ? 5 : size;

	fx_new();
	s = fx_open();
	model_len = group.wrong = 0;
	for (int i = 0; i < 4; i++)
		sessions[i] = ulid_new(FX_NOW);
	for (int op = 0; op < MODEL_OPS; op++) {
		model_step(s, sessions);
		if (op % size == size / 2)
			model_disturb(s, sessions);
		if (op % size == 0)
			group_commit(s);
		for (unsigned with = 0; op % every == 0 && with < 16; with++) {
			f = (struct run_filter){
				.by_uid = (with & 1) != 0,
				.uid = rnd(3),
				.by_status = (with & 2) != 0,
				.status = rnd(RUN__MAX),
				.template_id =
				    (with & 4) != 0 ? templates[rnd(3)] : NULL,
				.session =
				    (with & 8) != 0 ? &sessions[rnd(4)] : NULL,
			};
			checks++;
			wrong += !page_right(s, &f, rnd(12), rnd(20));
		}
	}
	group_commit(s);
	ok(wrong == 0 && checks >= 16 * (MODEL_OPS / every),
	    "groups of %d: lists and totals as the model has them (%d of %d"
	    " wrong)",
	    size, wrong, checks);
	is_int(group.wrong, 0, "and within transactions");
	f = (struct run_filter){ 0 };
	ok(page_right(s, &f, 0, MODEL_RUNS), "all of them, newest first");
	ok(page_right(s, &f, (uint64_t)model_len + 5, 10), "behind the end");
	store_free(&s);
}

static bool
count(const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	++*(int *)arg;
	return true;
}

static void
test_list_cost(void)
{
	struct run_filter all = { 0 };
	static struct run_record runs[2000];
	uint64_t steps[2];
	struct store *s;
	int n = 0;

	fx_new();
	s = fx_open();
	for (int round = 0; round < 2; round++) {
		for (int i = round * 100; i < (round == 0 ? 100 : 2000); i++) {
			runs[i] = fx_run();
			store_write(s, fx_insert, &runs[i], NULL, NULL);
		}
		store_commit(s, FX_NOW);
		steps[round] = store_stats(s).cursor_steps;
		run_list(fx_read(s), &all, 30, 10, count, &n, NULL);
		store_read_end(s);
		steps[round] = store_stats(s).cursor_steps - steps[round];
	}
	is_int(n, 20, "two pages");
	is_int(steps[0], 40, "a page costs offset + limit entries");
	is_int(steps[1], steps[0], "also when the table is 20 times as large");
	store_free(&s);
}

static bool
count_until(
    const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	int64_t *last = arg;

	last[0]++;
	last[1] = ulid_time_ms(id);
	return true;
}

/* Ids never go back in time within a process. */
#define RANGE_NOW (FX_NOW + 1000000)

/* How many are in the range, and of what time the last one is. */
static void
is_range(struct store *s, struct run_range range, uint64_t offset, int n,
    int64_t last, const char *name)
{
	struct run_filter queued = { .by_status = true };
	int64_t seen[2] = { 0, 0 };
	struct store_txn *txn = fx_read(s);
	uint64_t total = 0, counted = 0;
	bool more = false;
	int err = run_list_range(
	    txn, &queued, &range, offset, 100, count_until, seen, &total);

	/* An offset and what is before do not change what there is. */
	if (err == STORE_OK && offset == 0 && range.before == NULL) {
		err =
		    run_count_range(txn, &queued, &range, 10, &counted, &more);
		ok(err == STORE_OK && counted == (uint64_t)n && !more,
		    "%s: %d counted", name, n);
		err = run_count_range(txn, &queued, &range, 3, &counted, &more);
		ok(counted == (uint64_t)(n < 3 ? n : 3) && more == (n > 3),
		    "%s: at most 3 counted", name);
	}
	store_read_end(s);
	ok(err == STORE_OK && seen[0] == n && (n == 0 || seen[1] == last) &&
		total == 10,
	    "%s: %lld of %llu, last %lld", name, (long long)seen[0],
	    (unsigned long long)total, (long long)(seen[1] - RANGE_NOW));
}

static bool
some_visit(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	struct ulid **at = arg;

	*(*at)++ = *id;
	return true;
}

/* A list in steps is the list at once. */
static void
test_list_some(void)
{
	struct run_filter queued = { .by_status = true };
	struct ulid ids[30], *at = ids, seen[30];
	int steps = 0, rc = STORE_OK;
	struct run_walk walk = { .offset = 7 }, none = { .offset = 30 };
	struct store *s;

	memset(seen, 0, sizeof(seen));
	fx_new();
	s = fx_open();
	for (int i = 0; i < 30; i++) {
		struct run_record r = fx_run();

		ids[29 - i] = r.id;
		fx_write(s, fx_insert, &r);
	}
	at = seen;
	while (rc == STORE_OK && !walk.done) {
		rc = run_list_some(fx_read(s), &queued, &walk,
		    5 * RUN_WORK_VISIT, some_visit, &at);
		store_read_end(s);
		steps++;
	}
	ok(rc == STORE_OK && at - seen == 23 &&
		memcmp(seen, ids + 7, 23 * sizeof(ids[0])) == 0,
	    "a list in steps has each run once");
	ok(steps >= 5, "of bounded length: %d", steps);
	at = seen;
	rc = run_list_some(fx_read(s), &queued, &none, 1, some_visit, &at);
	store_read_end(s);
	ok(rc == STORE_OK && none.done && at == seen,
	    "behind the end there is nothing to walk to");
	store_free(&s);
}

static void
test_range(void)
{
	struct run_record runs[10];
	uint64_t steps;
	struct store *s;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 10; i++) {
		runs[i] = fx_run();
		runs[i].created_ms = RANGE_NOW + 100 * i;
		runs[i].id = ulid_new(runs[i].created_ms);
		runs[i].updated_ms = runs[i].created_ms;
		store_write(s, fx_insert, &runs[i], NULL, NULL);
	}
	store_commit(s, RANGE_NOW + 1000);
	is_range(s, (struct run_range){ 0 }, 0, 10, RANGE_NOW, "no bounds");
	is_range(s, (struct run_range){ .since_ms = RANGE_NOW + 500 }, 0, 5,
	    RANGE_NOW + 500, "since, that moment included");
	is_range(s, (struct run_range){ .since_ms = RANGE_NOW + 501 }, 0, 4,
	    RANGE_NOW + 600, "since a moment later");
	is_range(s, (struct run_range){ .until_ms = RANGE_NOW + 500 }, 0, 6,
	    RANGE_NOW, "until, that moment included");
	is_range(s, (struct run_range){ .until_ms = RANGE_NOW + 499 }, 0, 5,
	    RANGE_NOW, "until a moment earlier");
	is_range(s,
	    (struct run_range){
		.since_ms = RANGE_NOW + 200, .until_ms = RANGE_NOW + 700 },
	    2, 4, RANGE_NOW + 200, "both, and an offset");
	is_range(s, (struct run_range){ .until_ms = RANGE_NOW - 1 }, 0, 0, 0,
	    "before all");
	is_range(s, (struct run_range){ .since_ms = RANGE_NOW + 901 }, 0, 0, 0,
	    "after all");
	is_range(s, (struct run_range){ .until_ms = INT64_MAX }, 0, 10,
	    RANGE_NOW, "a time that no id has");
	is_range(s, (struct run_range){ .before = &runs[3].id }, 0, 3,
	    RANGE_NOW, "behind a run");
	is_range(s,
	    (struct run_range){
		.before = &runs[3].id, .until_ms = RANGE_NOW + 100 },
	    0, 2, RANGE_NOW, "the lower of two tops");
	is_range(s,
	    (struct run_range){
		.before = &runs[3].id, .until_ms = RANGE_NOW + 800 },
	    0, 3, RANGE_NOW, "whichever it is");
	steps = store_stats(s).cursor_steps;
	is_range(s, (struct run_range){ .before = &runs[1].id }, 0, 1,
	    RANGE_NOW, "far down");
	ok(store_stats(s).cursor_steps - steps <= 2, "costs no walk to it");
	store_free(&s);
}

struct settle {
	int called;
	struct ulid requeue;
	int fail_with;
	uint32_t seen_attempt;
};

static int
settle(struct store_txn *txn, struct run_record *r, int err, void *arg)
{
	struct settle *st = arg;
	unsigned budget = 100;

	st->called++;
	if (st->fail_with != 0)
		return st->fail_with;
	if (err != STORE_OK)
		return run_delete(txn, &r->id, &budget);
	if (memcmp(&r->id, &st->requeue, sizeof(r->id)) == 0) {
		r->status = RUN_QUEUED;
		r->attempt++;
		return STORE_OK;
	}
	fx_end_run(r, RUN_FAILED, FX_NOW + 10, FX_NOW + 20);
	return STORE_OK;
}

static int
break_record(struct store_txn *txn, void *arg)
{
	struct key k;

	key_init(&k);
	key_add_ulid(&k, arg);
	return txn_put(txn, TABLE_RUNS, &k, "x", 1);
}

static void
test_recovery(void)
{
	struct run_record r[4], got;
	struct run_filter queued = { .by_status = true, .status = RUN_QUEUED };
	struct settle st = { 0 };
	struct page page = { .n = 0 };
	struct store *s;

	fx_new();
	s = fx_open();
	for (int i = 0; i < 4; i++) {
		r[i] = fx_run();
		fx_write(s, fx_insert, &r[i]);
		r[i].status = i < 3 ? RUN_RUNNING : RUN_QUEUED;
		fx_write(s, fx_update, &r[i]);
	}
	fx_write(s, break_record, &r[2].id);
	store_free(&s);
	s = fx_open();
	is_int(store_epoch(s), 0, "no epoch before recovery");
	st.fail_with = STORE_LIMIT;
	is_int(store_recover(s, FX_NOW, settle, &st), STORE_LIMIT,
	    "a recovery may fail");
	is_int(store_epoch(s), 0, "then there is no epoch");
	st = (struct settle){ .requeue = r[0].id };
	is_int(store_recover(s, FX_NOW, settle, &st), STORE_OK, "recovery");
	is_int(store_epoch(s), 1, "first epoch");
	is_int(st.called, 3, "asked for every run that was running");
	fx_get(s, &r[0].id, &got);
	ok(got.status == RUN_QUEUED && got.attempt == 2, "one goes on");
	fx_get(s, &r[1].id, &got);
	ok(got.status == RUN_FAILED && got.expires_ms == FX_NOW + 20,
	    "one has failed");
	is_int(fx_get(s, &r[2].id, &got), STORE_NOT_FOUND,
	    "the damaged one is gone");
	run_list_oldest(fx_read(s), &queued, page_add, &page);
	store_read_end(s);
	ok(page.n == 2 && memcmp(&page.ids[0], &r[0].id, ULID_BYTES) == 0 &&
		memcmp(&page.ids[1], &r[3].id, ULID_BYTES) == 0,
	    "the queue in its order");
	store_free(&s);
	s = fx_open();
	store_recover(s, FX_NOW, settle, &st);
	is_int(store_epoch(s), 2, "next epoch");
	store_free(&s);
}

int
main(void)
{
	test_record();
	test_older();
	test_decoder();
	test_update_rules();
	test_model(1);
	test_model(40);
	test_model(300);
	test_list_cost();
	test_list_some();
	test_range();
	test_recovery();
	return done_testing();
}
