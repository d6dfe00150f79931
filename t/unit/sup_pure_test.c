/* The pure parts of supervisord: queue, options, steps, verdict, envelope. */
#include <stdlib.h>

#include "json/tape.h"
#include "supervisord/envelope.h"
#include "supervisord/lines.h"
#include "supervisord/metacheck.h"
#include "supervisord/options.h"
#include "supervisord/outcome.h"
#include "model/mime.h"
#include "supervisord/readart.h"
#include "supervisord/sched.h"
#include "supervisord/share.h"
#include "supervisord/steps.h"
#include "supervisord/taskresult.h"
#include "t/unit/tap.h"

static void
test_share(void)
{
	struct share_tree tree;
	struct share *a, *b, *c, *root, *none = NULL;
	struct settings set;
	char why[SHARE_TEXT_BYTES];

	settings_default(&set);
	set.maxClientsPerUid = 2;
	share_init(&tree);
	a = share_take(&tree, 1000);
	b = share_take(&tree, 1000);
	c = share_take(&tree, 999);
	root = share_take(&tree, 0);
	ok(a == b && a != c, "one for each user");
	share_grow(a, SHARE_CLIENTS, 1);
	ok(share_has_room(a, &set, SHARE_CLIENTS, 1), "below its limit");
	share_grow(b, SHARE_CLIENTS, 1);
	ok(!share_has_room(a, &set, SHARE_CLIENTS, 1), "at its limit");
	ok(share_has_room(a, &set, SHARE_CLIENTS, 0), "for none there is room");
	ok(!share_has_room(c, &set, SHARE_CLIENTS, UINT64_MAX),
	    "a number that is too great");
	ok(share_has_room(c, &set, SHARE_CLIENTS, 2), "another has its own");
	ok(share_has_room(root, &set, SHARE_CLIENTS, UINT64_MAX),
	    "root has no limit");
	share_refusal(a, &set, SHARE_CLIENTS, 1, why);
	is_str(why,
	    "uid 1000 would have 3 connections with this one, a user may have"
	    " 2 (the setting maxClientsPerUid)",
	    "the refusal names the setting");
	share_grow_hourly(c, SHARE_AUDIT_ROWS, 3);
	share_grow_hourly(c, SHARE_AUDIT_ROWS, 4);
	share_shrink(a, SHARE_CLIENTS, 2);
	share_give(&tree, &a);
	ok(a == NULL && b->refs == 1, "given back");
	share_give(&tree, &b);
	share_give(&tree, &c);
	c = share_take(&tree, 999);
	is_int(c->used[SHARE_AUDIT_ROWS], 7,
	    "what counts for an hour is kept for as long");
	share_end_hour(&tree, SHARE_AUDIT_ROWS);
	is_int(c->used[SHARE_AUDIT_ROWS], 0, "and not longer");
	share_give(&tree, &c);
	share_give(&tree, &root);
	share_give(&tree, &none);
	ok(RB_EMPTY(&tree), "nothing is kept of users who are gone");
}

#define MOST 2

static void
test_sched_owner(void)
{
	struct sched_entry e[6];
	struct sched_owner *one;
	struct sched s;

	memset(e, 0, sizeof(e));
	sched_init(&s);
	ok(sched_first(&s, MOST, 0) == NULL, "an empty queue has no first");
	for (int i = 0; i < 6; i++)
		e[i].owner = sched_owner_take(&s, 1000, false);
	one = e[0].owner;
	ok(one != NULL && one == e[5].owner, "an owner for each user");
	sched_add(&s, &e[0], PRIORITY_LOW, 0);
	sched_add(&s, &e[1], PRIORITY_NORMAL, 0);
	sched_add(&s, &e[2], PRIORITY_NORMAL, 1);
	sched_add(&s, &e[3], PRIORITY_CRITICAL, 2);
	is_int(s.count, 4, "count");
	ok(sched_first(&s, MOST, 3) == &e[3], "the highest class first");
	is_int(sched_position(&s, &e[0], false, 3), 4, "low is last");
	sched_remove(&s, &e[3]);
	ok(sched_first(&s, MOST, 3) == &e[1], "first come, first served");
	is_int(sched_position(&s, &e[2], true, 3), 2, "position in a class");
	sched_add(&s, &e[4], PRIORITY_HIGH, SCHED_AGE_MS - 1);
	ok(sched_first(&s, MOST, SCHED_AGE_MS - 1) == &e[4],
	    "high before normal");
	ok(sched_first(&s, MOST, SCHED_AGE_MS) == &e[1],
	    "who waited rises a class, and came first");
	sched_add(&s, &e[5], PRIORITY_CRITICAL, 10 * SCHED_AGE_MS);
	ok(sched_first(&s, MOST, 10 * SCHED_AGE_MS) == &e[0],
	    "nobody waits for ever: low is first in the end");
	sched_hold(&s, &e[0], true);
	ok(sched_first(&s, MOST, 10 * SCHED_AGE_MS) == &e[1],
	    "one that is held lets the others pass");
	is_int(sched_position(&s, &e[1], false, 10 * SCHED_AGE_MS), 2,
	    "and keeps its place");
	for (int i = 1; i < 6; i++)
		if (e[i].queued)
			sched_hold(&s, &e[i], true);
	ok(sched_first(&s, MOST, 10 * SCHED_AGE_MS) == NULL, "all are held");
	sched_hold(&s, &e[0], false);
	ok(sched_first(&s, MOST, 10 * SCHED_AGE_MS) == &e[0], "its turn again");
	for (int i = 0; i < 6; i++) {
		if (e[i].queued)
			sched_remove(&s, &e[i]);
		sched_owner_give(&s, &e[i].owner);
	}
	ok(!e[0].queued && s.count == 0, "removed");
	sched_owner_give(&s, &e[0].owner);
	ok(RB_EMPTY(&s.owners), "nothing is kept of owners who are gone");
}

/* The owner whose turn it is starts the first of its entries. */
static int
sched_pick(struct sched *s, const struct sched_entry *e, size_t most)
{
	struct sched_entry *first = sched_first(s, most, 0);

	if (first == NULL)
		return -1;
	sched_remove(s, first);
	sched_start(s, first->owner);
	return (int)(first - e);
}

static void
test_sched_shares(void)
{
	static const uint32_t uids[8] = { 7, 7, 7, 7, 8, 8, 0, 0 };
	static const int want[] = { 0, 4, 6, 1, 5, 7, -1 };
	struct sched_entry e[8];
	struct sched s;

	memset(e, 0, sizeof(e));
	sched_init(&s);
	for (int i = 0; i < 8; i++) {
		e[i].owner = sched_owner_take(&s, uids[i], uids[i] == 0);
		sched_add(
		    &s, &e[i], i < 4 ? PRIORITY_CRITICAL : PRIORITY_NORMAL, 0);
	}
	is_int(sched_position(&s, &e[4], false, 0), 2,
	    "another's first run waits for one run of each, however urgent");
	is_int(sched_position(&s, &e[5], false, 0), 5,
	    "the second one for two of those before");
	is_int(sched_position(&s, &e[3], false, 0), 8,
	    "the fourth for all of the others");
	is_int(sched_position(&s, &e[3], true, 0), 4, "fourth of its owner's");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		is_int(sched_pick(&s, e, MOST), want[i],
		    "each owner in turn, two at most");
	ok(sched_is_full(&s, 7, MOST) && !sched_is_full(&s, 7, MOST + 1),
	    "has its share");
	ok(!sched_is_full(&s, 0, MOST) && !sched_is_full(&s, 9, MOST),
	    "root has no limit, who has no run is below");
	sched_stop(e[0].owner);
	is_int(sched_position(&s, &e[2], false, 0), 1, "next");
	ok(sched_pick(&s, e, MOST) == 2, "a slot that is given up is taken");
	sched_add(&s, &e[6], PRIORITY_CRITICAL, 0);
	for (int i = 0; i < 2; i++) {
		sched_stop(e[0].owner);
		sched_stop(e[4].owner);
		sched_stop(e[6].owner);
	}
	sched_add(&s, &e[4], PRIORITY_LOW, 0);
	is_int(sched_pick(&s, e, MOST), 4,
	    "with a slot alone: whose last start is the longest ago");
	sched_stop(e[4].owner);
	is_int(sched_pick(&s, e, MOST), 6, "and then the next one");
	sched_stop(e[6].owner);
	sched_remove(&s, &e[3]);
	for (int i = 0; i < 8; i++)
		sched_owner_give(&s, &e[i].owner);
	ok(RB_EMPTY(&s.owners) && s.count == 0, "all is given back");
}

static bool
read_options(const char *json, struct options *o, struct refusal *r)
{
	struct json_doc *doc;
	bool good;

	memset(r, 0, sizeof(*r));
	if (!json_parse(
		(const uint8_t *)json, strlen(json), NULL, 0, &doc, NULL))
		return false;
	good = options_read(json_root(doc), o, r);
	json_doc_free(&doc);
	return good;
}

#define HEX32 "0123456789abcdef0123456789abcdef"

/* The refusal of a list, or the lists as they are taken. */
static const char *
read_domains(const char *list)
{
	static char said[400];
	struct refusal r;
	struct options o;
	char json[400];

	snprintf(json, sizeof(json), "{\"allowedDomains\":%s}", list);
	if (!read_options(json, &o, &r)) {
		strlcpy(said, r.message, sizeof(said));
		return said;
	}
	strlcpy(said, o.allowed, sizeof(said));
	options_clear(&o);
	return said;
}

static void
test_domains(void)
{
	static const char *const rows[][2] = {
		{ "[]", "" },
		{ "[\"a.example\",\"*.b.example:443\",\"10.0.0.0/8\",\"[::1]:80\"]",
		    "a.example\n*.b.example:443\n10.0.0.0/8\n[::1]:80" },
		{ "[\"*.B\xc3\xbc"
		  "cher.example:8443\"]",
		    "*.xn--bcher-kva.example:8443" },
		{ "[\"b\\u00fccher.example\"]", "xn--bcher-kva.example" },
		{ "[\"fa\xc3\x9f.example\"]", "xn--fa-hia.example" },
		{ "[\"\xe4\xbe\x8b\xe5\xad\x90.\xe6\xb5\x8b\xe8\xaf\x95\"]",
		    "xn--fsqu00a.xn--0zwm56d" },
	};
	static const char *const bad[][2] = {
		{ "[\"a.example\",1]", "/1: expected a string" },
		{ "[\"\"]", "/0: expected a string" },
		{ "[\"a.example\\nb.example\"]", "/0: a line ends in it" },
		{ "[\"a.example\",\"http://b.example/\"]",
		    "/1: \"http://b.example/\": " },
		{ "[\"a.*.example\"]", "/0: \"a.*.example\": " },
		{ "[\"a.example:99999\"]", "/0: \"a.example:99999\": " },
		{ "[\"b\xc3\xbc"
		  "cher..example\"]",
		    "/0: \"xn--bcher-kva..example\": write a host" },
		{ "[\"\xe2\x98\x83.example\"]",
		    "/0: \"\xe2\x98\x83.example\": not a name of a host: " },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		is_str(read_domains(rows[i][0]), rows[i][1], rows[i][0]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *said = read_domains(bad[i][0]);

		ok(strncmp(said, "/options/allowedDomains", 23) == 0 &&
			strncmp(said + 23, bad[i][1], strlen(bad[i][1])) == 0,
		    "%s: %s", bad[i][0], said);
	}
}

static void
test_options(void)
{
	static const char *const bad[] = { "[]", "{\"mode\":\"slow\"}",
		"{\"timeoutMs\":0}", "{\"timeoutMs\":600001}",
		"{\"timeoutMs\":1.5}", "{\"timeoutMs\":\"1\"}",
		"{\"idempotencyKey\":\"\"}", "{\"priority\":\"urgent\"}",
		"{\"traceId\":1}", "{\"factsSnapshotId\":\"" HEX32 "\"}",
		"{\"outputSchema\":1}", "{\"resources\":\"some\"}",
		"{\"allowedDomains\":[\"a.example/\"]}",
		"{\"forbiddenDomains\":\"a.example\"}",
		"{\"allowedDomains\":[1]}", "{\"modes\":\"sync\"}" };
	static const char *const made[] = { "{\"traceId\":\"XYZ\"}",
		"{\"traceId\":\"00000000000000000000000000000000\"}",
		"{\"traceId\":\"0123456789ABCDEF0123456789ABCDEF\"}",
		"{\"traceId\":\"" HEX32 "0\"}" };
	struct refusal r;
	struct options o;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(!read_options(bad[i], &o, &r) &&
			r.code == ERR_INVALID_PARAMETER &&
			strncmp(r.message, "/options", 8) == 0,
		    "refused: %s", bad[i]);
	ok(read_options("{}", &o, &r) && o.mode == MODE_AUTO &&
		o.priority == PRIORITY_NORMAL && o.timeout_ms == 0,
	    "defaults");
	ok(read_options("{\"mode\":\"sync\",\"timeoutMs\":600000,"
			"\"priority\":\"high\",\"idempotencyKey\":\"k\","
			"\"traceId\":\"" HEX32 "\",\"outputSchema\":{},"
			"\"factsSnapshotId\":\"" HEX32 HEX32 "\","
			"\"allowedDomains\":[],\"resources\":\"all\"}",
	       &o, &r),
	    "all of them");
	ok(o.mode == MODE_SYNC && o.timeout_ms == 600000 &&
		o.priority == PRIORITY_HIGH && o.has_resources && !o.text_only,
	    "read");
	options_clear(&o);
	is_str(o.trace_id, HEX32, "trace id");
	for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
		ok(read_options(made[i], &o, &r) && o.trace_id[0] == '\0',
		    "one is made: %s", made[i]);
}

static void
test_limits(void)
{
	struct template t = { .mode = MODE_AUTO,
		.sync_max = 2,
		.max_timeout_ms = 5000,
		.sync_input = "urls" };
	struct options o = { .mode = MODE_AUTO };
	struct settings s;
	struct json_doc *few, *many;

	settings_default(&s);
	json_parse(
	    (const uint8_t *)"{\"urls\":[1,2]}", 14, NULL, 0, &few, NULL);
	json_parse(
	    (const uint8_t *)"{\"urls\":[1,2,3]}", 16, NULL, 0, &many, NULL);
	is_int(options_mode(&o, &t, json_root(few), false), MODE_SYNC,
	    "few: sync");
	is_int(options_mode(&o, &t, json_root(many), false), MODE_ASYNC,
	    "many: async");
	is_int(options_mode(&o, &t, json_root(few), true), MODE_ASYNC,
	    "auto on a full pool: async");
	o.mode = MODE_SYNC;
	is_int(options_mode(&o, &t, json_root(many), true), MODE_SYNC,
	    "sync stays sync");
	json_doc_free(&few);
	json_doc_free(&many);
	is_int(options_limit(&o, &t, &s, MODE_SYNC), 5000, "the template's");
	t.max_timeout_ms = 600000;
	is_int(options_limit(&o, &t, &s, MODE_SYNC), s.defaultTimeoutMs,
	    "the default");
	o.timeout_ms = 600000;
	is_int(options_limit(&o, &t, &s, MODE_SYNC), s.syncTimeoutMs,
	    "the limit of sync");
	is_int(options_limit(&o, &t, &s, MODE_ASYNC), 600000, "the caller's");
}

static void
test_steps(void)
{
	struct steps s = { 0 }, copy = { 0 };
	struct json_writer w;
	struct buf a, b;
	int taken = 0;

	steps_start(&s, "open", 10);
	steps_start(&s, "read", 20);
	steps_retry(&s, "read");
	steps_end(&s, "open", true, 5, NULL, "{\"n\":1}", 7);
	steps_end(&s, "extra", false, -3, "", NULL, 0);
	ok(strcmp(steps_failed(&s)->name, "extra") == 0, "first failed");
	is_int(steps_failed(&s)->duration_ms, 0, "no negative duration");
	ok(steps_failed(&s)->error_code[0] != '\0', "failed has some code");
	steps_close(&s, "RUN_CANCELED", 50);
	is_str(s.list[1].error_code, "RUN_CANCELED", "in flight: closed");
	is_int(s.list[1].duration_ms, 30, "with its time");
	buf_init(&a, 65536);
	buf_init(&b, 65536);
	json_writer_init(&w, &a);
	steps_write(&s, &w);
	ok(json_writer_finish(&w) && steps_read(&copy, a.data, a.len, 0),
	    "written and read");
	json_writer_init(&w, &b);
	steps_write(&copy, &w);
	ok(json_writer_finish(&w) && a.len == b.len &&
		memcmp(a.data, b.data, a.len) == 0,
	    "to the same");
	for (size_t n = 0; n < a.len; n++)
		taken += steps_read(&copy, a.data, n, 0);
	ok(a.len > 100, "a text to cut");
	is_int(taken, 0, "cut at every byte: refused");
	steps_clear(&s);
	steps_clear(&copy);
	for (int i = 0; i < STEPS_MAX; i++)
		steps_start(&s, "x", 0);
	ok(!steps_start(&s, "x", 0), "bounded");
	steps_clear(&s);
	buf_clear(&a);
	buf_clear(&b);
}

/* Details of steps are bounded in sum; what is left out is marked. */
static void
test_steps_meta(void)
{
	static char meta[8192];
	struct steps s = { 0 };
	size_t bytes = 0, marked = 0;

	memset(meta, ' ', sizeof(meta));
	meta[0] = '{';
	meta[sizeof(meta) - 1] = '}';
	for (int i = 0; i < STEPS_MAX; i++)
		steps_end(&s, "x", true, 0, NULL, meta, sizeof(meta));
	is_int(s.count, STEPS_MAX, "all steps are there");
	for (size_t i = 0; i < s.count; i++) {
		bytes += s.list[i].meta_len;
		marked += strcmp(s.list[i].meta, "{\"truncated\":true}") == 0;
	}
	is_int(bytes, s.meta_bytes, "what their details hold is counted");
	is_int(marked, STEPS_MAX - LIMIT_STEPS_META_BYTES / sizeof(meta),
	    "beyond the bound they are left out and marked");
	steps_clear(&s);
	is_int(s.meta_bytes, 0, "nothing is left");
	steps_start(&s, "y", 0);
	steps_end(&s, "y", true, 0, NULL, meta, sizeof(meta));
	is_int(s.meta_bytes, sizeof(meta), "then there is room again");
	steps_clear(&s);
}

/* One row: facts of items, and what they come to. */
static void
check_items(uint32_t good, uint32_t bad, uint32_t total, bool partial,
    enum run_status want)
{
	struct run_end end = { .given = true, .ok = true };
	struct outcome_facts f = { .end = &end,
		.counted = true,
		.partial_ok = partial,
		.threshold = 0.5,
		.total = total,
		.succeeded = good,
		.failed = bad,
		.lost_text = "" };
	struct steps steps = { 0 };
	struct outcome o;

	steps_end(&steps, "s", true, 1, NULL, NULL, 0);
	outcome_decide(&f, true, &steps, 0, &o);
	ok(o.status == want, "%u good, %u bad of %u%s: %s", good, bad, total,
	    partial ? "" : ", all or nothing", run_status_name(o.status));
	if (want == RUN_FAILED)
		ok(strcmp(o.failed_step, "s") == 0 &&
			strcmp(o.cause, "BELOW_THRESHOLD") == 0 &&
			steps_failed(&steps) != NULL,
		    "names step and cause");
	steps_clear(&steps);
}

/* The commonest reason is named, and a retry is for what it helps against. */
static void
check_common(enum err_code first, enum err_code then, bool want)
{
	struct run_end end = { .given = true, .ok = true };
	struct outcome_facts f = { .end = &end,
		.counted = true,
		.total = 3,
		.failed = 3,
		.lost_text = "" };
	const struct items_cause *common;
	struct steps steps = { 0 };
	struct items items;
	struct outcome o;
	char record[160], text[160];

	items_init(&items);
	for (int i = 0; i < 3; i++) {
		snprintf(record, sizeof(record),
		    "{\"error\":{\"errorCode\":\"STEP_EXECUTION_FAILED\","
		    "\"cause\":\"%s\",\"message\":\"it was %d\"}}",
		    err_name(i == 0 ? first : then), i);
		items_add(&items, record, strlen(record), false);
	}
	common = items_commonest(&items);
	ok(common != NULL && common->code == then && common->n == 2,
	    "two of three failed with %s", err_name(then));
	f.common = common->code;
	f.common_n = common->n;
	f.common_text = common->message;
	outcome_decide(&f, true, &steps, 0, &o);
	snprintf(text, sizeof(text), "2 of them failed with %s: it was 1",
	    err_name(then));
	ok(strstr(o.message, text) != NULL, "which is said: %s", o.message);
	ok(o.retryable == want, "%s",
	    want ? "a retry helps" : "no retry helps");
	steps_clear(&steps);
	items_clear(&items);
}

static void
check_lost(enum run_intent intent, enum err_code lost, bool started,
    enum run_status status, enum err_code code, const char *step)
{
	struct run_end end = { 0 };
	struct outcome_facts f = {
		.intent = intent, .end = &end, .lost = lost, .lost_text = "gone"
	};
	struct steps steps = { 0 };
	struct outcome o;

	outcome_decide(&f, started, &steps, 0, &o);
	ok(o.status == status && o.code == code &&
		strcmp(o.failed_step, step) == 0 && steps.count == 1 &&
		!steps.list[0].ok && steps.list[0].error_code[0] != '\0',
	    "%s in step %s", err_name(o.code), o.failed_step);
	steps_clear(&steps);
}

/* It ends at 100 behind its last step; n steps before. */
static void
check_between(size_t n, size_t want_count)
{
	struct run_end end = { 0 };
	struct outcome_facts f = { .intent = INTENT_CANCEL,
		.end = &end,
		.passed_ms = 1000,
		.lost_text = "" };
	struct steps steps = { 0 };
	const struct step *last;
	struct outcome o;

	for (size_t i = 0; i < n; i++) {
		steps_start(&steps, i + 1 < n ? "open" : "read", 10);
		steps_end(&steps, i + 1 < n ? "open" : "read", true, 20, NULL,
		    "{\"n\":1}", 7);
	}
	outcome_decide(&f, true, &steps, 100, &o);
	last = steps_last(&steps);
	is_int(steps.count, want_count, "how many steps");
	ok(strcmp(o.failed_step, "read") == 0 &&
		strcmp(o.step_code, "RUN_CANCELED") == 0 &&
		steps_failed(&steps) == last && strcmp(last->name, "read") == 0,
	    "between steps: the one begun last");
	is_int(last->duration_ms, n < STEPS_MAX ? 70 : 20, "its time");
	ok(n == STEPS_MAX || steps.list[n - 1].ok, "which stays as it ended");
	steps_clear(&steps);
}

static void
test_outcome(void)
{
	struct run_end end = { .given = true, .ok = true };
	struct outcome_facts f = {
		.intent = INTENT_CANCEL, .end = &end, .lost_text = ""
	};
	struct steps steps = { 0 };
	struct outcome o;

	check_items(2, 0, 2, true, RUN_SUCCEEDED);
	check_items(1, 1, 2, true, RUN_PARTIAL_SUCCESS);
	check_items(1, 2, 3, true, RUN_FAILED);
	check_items(0, 2, 2, true, RUN_FAILED);
	check_items(1, 1, 2, false, RUN_FAILED);
	check_items(1, 0, 3, true, RUN_FAILED);
	check_common(ERR_URL_NOT_ALLOWED, ERR_NAVIGATION_TIMEOUT, true);
	check_common(ERR_NAVIGATION_TIMEOUT, ERR_URL_NOT_ALLOWED, false);
	check_lost(INTENT_NONE, ERR_WORKER_LOST, true, RUN_FAILED,
	    ERR_WORKER_LOST, "start");
	check_lost(
	    INTENT_NONE, ERR_NONE, true, RUN_FAILED, ERR_WORKER_LOST, "start");
	check_lost(INTENT_CANCEL, ERR_NONE, false, RUN_CANCELED,
	    ERR_RUN_CANCELED, "queue");
	check_lost(INTENT_TIMEOUT, ERR_WORKER_LOST, true, RUN_FAILED,
	    ERR_RUN_TIMEOUT, "start");
	check_between(2, 3);
	check_between(STEPS_MAX, STEPS_MAX);
	outcome_decide(&f, true, &steps, 0, &o);
	is_int(o.status, RUN_CANCELED, "an intent comes before a good end");
	steps_clear(&steps);
}

static void
test_taskresult(void)
{
	static const char *const keys[] = { "version", "ok", "trace_id",
		"facts_snapshot_id", "facts_snapshot_source", "task_type",
		"result", "artifacts", "steps", "trace_lines", "error" };
	struct run_record rec = { .trace_id = HEX32, .template_id = "t" };
	struct artifact_row rows[2] = { { .kind = ARTIFACT_CSV },
		{ .kind = ARTIFACT_TASK_RESULT } };
	struct taskresult tr = { .rec = &rec,
		.artifacts = rows,
		.nartifacts = 2,
		.message = "m",
		.failed_step = "queue" };
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct json_val v;
	bool b = true;
	struct buf out;

	buf_init(&out, 65536);
	for (int i = 0; i < RUN__MAX; i++) {
		if (!run_status_terminal((enum run_status)i))
			continue;
		rec.status = (enum run_status)i;
		tr.code = i == RUN_FAILED ? ERR_WORKER_LOST
		    : i == RUN_CANCELED   ? ERR_RUN_CANCELED
					  : ERR_NONE;
		buf_reset(&out);
		json_writer_init(&w, &out);
		taskresult_write(&tr, &w);
		ok(json_writer_finish(&w) &&
			json_parse(out.data, out.len, NULL, JSON_DUP_ERROR,
			    &doc, NULL),
		    "%s: JSON", run_status_name(rec.status));
		v = json_root(doc);
		is_int(json_len(v), 11, "eleven members");
		for (size_t k = 0; k < 11; k++)
			if (json_is_missing(json_obj_get(v, keys[k])))
				ok(false, "%s is missing", keys[k]);
		json_get_bool(json_obj_get(v, "ok"), &b);
		ok(b == (tr.code == ERR_NONE), "ok");
		ok(json_is_null(json_obj_get(v, "error")) ==
			(tr.code == ERR_NONE),
		    "error");
		if (tr.code != ERR_NONE)
			is_int(json_len(json_obj_get(v, "error")), 4,
			    "code, message, retryable, step");
		ok(json_is_array(json_obj_get(v, "steps")) &&
			json_is_object(json_obj_get(v, "result")) &&
			json_len(json_obj_get(v, "artifacts")) == 1,
		    "shapes; the envelope does not name itself");
		json_doc_free(&doc);
	}
	buf_clear(&out);
}

static void
test_result_cut(void)
{
	static const char worker[] = "{\"items\":1,\"extra\":true}";
	struct ulid id = { { 1 } };
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct items items;
	char record[1024];
	struct json_val v;
	struct buf out;

	memset(record, 'x', sizeof(record));
	memcpy(record, "{\"t\":\"", 6);
	memcpy(record + sizeof(record) - 2, "\"}", 2);
	items_init(&items);
	items.by_items = true;
	for (int i = 0; i < 500; i++)
		items_add(&items, record, sizeof(record), i % 5 != 0);
	ok(items.succeeded == 400 && items.failed == 100, "counted");
	ok(items.shown > 200 && items.shown_len <= RESULT_INLINE_MAX,
	    "%u of 500 fit an answer", items.shown);
	buf_init(&out, ENVELOPE_BYTES_MAX);
	json_writer_init(&w, &out);
	result_write(&items, 500, worker, strlen(worker), &id, &w);
	ok(json_writer_finish(&w) &&
		json_parse(out.data, out.len, NULL, JSON_DUP_ERROR, &doc, NULL),
	    "cut: JSON without equal keys");
	v = json_root(doc);
	is_int(json_len(json_obj_get(v, "items")), items.shown, "items");
	ok(json_is_object(json_obj_get(v, "truncated")), "says so");
	json_doc_free(&doc);
	buf_reset(&out);
	json_writer_init(&w, &out);
	result_write(&items, 500, worker, strlen(worker), NULL, &w);
	ok(json_writer_finish(&w) &&
		json_parse(out.data, out.len, NULL, JSON_DUP_ERROR, &doc, NULL),
	    "whole: JSON");
	v = json_root(doc);
	is_int(json_len(json_obj_get(v, "items")), 500, "all items");
	ok(!json_is_missing(json_obj_get(v, "extra")), "the worker's member");
	json_doc_free(&doc);
	buf_clear(&out);
	items_clear(&items);
}

static void
test_chunks(void)
{
	static const uint8_t text[] = "a\xc3\xa9\xf0\x9f\x98\x80";

	ok(mime_is_text("text/csv; charset=utf-8") &&
		mime_is_text("application/json") &&
		mime_is_text("application/ld+json") &&
		!mime_is_text("image/png") &&
		!mime_is_text("application/jsonx"),
	    "which types are text");
	is_int(readart_whole_characters(text, 1), 1, "one byte");
	is_int(readart_whole_characters(text, 2), 1, "not half of two");
	is_int(readart_whole_characters(text, 3), 3, "both");
	is_int(readart_whole_characters(text, 6), 3, "not three of four");
	is_int(readart_whole_characters(text, 7), 7, "all four");
	is_int(readart_whole_characters(text + 4, 3), 3, "no text at all");
}

static void
test_lines(void)
{
	struct lines l = { .count = 0 };
	char text[2 * LINES_CHARS];

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < LINES_MAX + 5; i++)
		lines_add(&l, text);
	is_int(l.count, LINES_MAX, "number of lines is bounded");
	is_int(strlen(l.list[0]), LINES_CHARS, "and their length");
	lines_clear(&l);
	lines_read(&l, "[\"a\",\"b\"]", 9);
	is_int(l.count, 2, "read back");
	lines_clear(&l);
}

/* A template's metadata without a fault. */
#define META(members)                                                         \
	"{\"id\":\"t\",\"version\":\"1.2.0\",\"name\":\"T\",\"description\":" \
	"\"d\",\"inputs\":{\"type\":\"object\",\"properties\":{\"n\":"        \
	"{\"type\":\"integer\"}}},\"outputs\":{\"type\":\"object\"},"         \
	"\"limits\":{},\"trustLevelSupport\":[\"local\"],\"executionMode\":"  \
	"\"auto\",\"supportsPartialSuccess\":false,\"restartSafe\":true,"     \
	"\"exampleInputs\":{\"n\":1}" members "}"

static void
note_fault(void *arg, bool warning, const char *path, const char *message)
{
	char *text = arg;
	size_t len = strlen(text);

	snprintf(text + len, 1024 - len, "%s%s ", warning ? "?" : "!", path);
}

static void
is_faulty(const char *json, const char *want, const char *name)
{
	struct registry *r = registry_new();
	struct json_doc *doc = NULL;
	char got[1024] = "";

	json_parse((const uint8_t *)json, strlen(json), NULL, 0, &doc, NULL);
	metacheck(json_root(doc), r, note_fault, got);
	is_str(got, want, name);
	json_doc_free(&doc);
	registry_free(&r);
}

static void
test_metacheck(void)
{
	is_faulty(META(""), "", "a template as it should be");
	is_faulty("[]", "! ", "no table");
	is_faulty("{}",
	    "!/id !/version !/name !/description !/inputs "
	    "!/outputs !/limits !/trustLevelSupport "
	    "!/executionMode !/supportsPartialSuccess "
	    "!/restartSafe !/exampleInputs ",
	    "an empty one");
	is_faulty(META(",\"wide\":1"), "?/wide ", "an unknown member");
	is_faulty(META(",\"partialSuccessThreshold\":2,\"items\":1,"
		       "\"resources\":\"none\",\"keepsSession\":\"yes\""),
	    "!/partialSuccessThreshold !/keepsSession !/items !/resources ",
	    "values out of bounds and of other types");
	is_faulty(META(",\"syncUpTo\":{\"input\":\"m\",\"max\":1}"),
	    "!/syncUpTo ", "a name that is no input");
	is_faulty(META(",\"syncUpTo\":{\"input\":\"n\",\"max\":1}"), "",
	    "and one that is");
	is_faulty("{\"id\":\"T x\",\"version\":\"1.02.0\",\"name\":\"\","
		  "\"description\":7,\"inputs\":{\"type\":\"object\","
		  "\"properties\":{\"a\":{\"minimum\":\"x\"}}},\"outputs\":[],"
		  "\"limits\":{\"maxUrls\":0},\"trustLevelSupport\":[\"all\"],"
		  "\"executionMode\":\"now\",\"supportsPartialSuccess\":1,"
		  "\"restartSafe\":null,\"exampleInputs\":{}}",
	    "!/id !/version !/name !/description "
	    "!/inputs/properties/a/minimum !/outputs !/limits/maxUrls "
	    "!/trustLevelSupport !/executionMode !/supportsPartialSuccess "
	    "!/restartSafe ",
	    "all at once");
	is_faulty("{\"id\":\"t\",\"version\":\"1.0.0\",\"name\":\"T\","
		  "\"description\":\"d\",\"inputs\":{\"type\":\"object\","
		  "\"required\":[\"n\"]},\"outputs\":{\"type\":\"object\"},"
		  "\"limits\":{},\"trustLevelSupport\":[\"local\"],"
		  "\"executionMode\":\"auto\",\"supportsPartialSuccess\":false,"
		  "\"restartSafe\":true,\"exampleInputs\":{}}",
	    "!/exampleInputs ", "an example that does not fit");
}

static void
test_registry(void)
{
	struct registry *r = registry_new();
	const char *good = META(""), *bad = META(",\"items\":1");
	char why[128] = "";

	ok(!registry_add(r, "{", 1, why, sizeof(why)), "no JSON");
	ok(!registry_add(r, "{\"id\":\"t\"}", 10, why, sizeof(why)),
	    "a template without all of its metadata");
	is_str(why, "/version: is missing", "is told the first fault");
	ok(!registry_add(r, bad, strlen(bad), why, sizeof(why)), "wrong type");
	is_str(why, "/items: expected true or false", "says so");
	is_int(registry_count(r), 0, "none is taken");
	ok(registry_add(r, good, strlen(good), why, sizeof(why)), "a good one");
	ok(!registry_add(r, good, strlen(good), why, sizeof(why)), "not twice");
	ok(registry_find(r, "t")->restart_safe, "is found");
	registry_free(&r);
}

int
main(void)
{
	test_sched_owner();
	test_sched_shares();
	test_share();
	test_options();
	test_domains();
	test_limits();
	test_steps();
	test_steps_meta();
	test_outcome();
	test_taskresult();
	test_result_cut();
	test_chunks();
	test_lines();
	test_metacheck();
	test_registry();
	return done_testing();
}
