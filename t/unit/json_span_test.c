/* Unit tests of the span router and of the byte scanners below it. */
#include "json/scan.h"
#include "json/span.h"
#include "t/unit/json_support.h"

static bool
scan(const char *text, struct json_envelope *ret)
{
	return json_envelope_scan((const uint8_t *)text, strlen(text), ret);
}

static bool
span_is(struct json_span s, const char *text)
{
	return s.ptr != NULL && s.len == strlen(text) &&
	    memcmp(s.ptr, text, s.len) == 0;
}

static void
test_envelope(void)
{
	struct json_envelope e;
	struct json_span s = { NULL, 0 };
	int64_t id = 0;
	bool b = false;

	ok(scan("{\"id\":12,\"result\":{\"a\":[{\"id\":1}],\"id\":[]},"
		"\"sessionId\":\"S1\"}\n",
	       &e),
	    "an answer");
	ok(json_span_get_int64(e.id, &id) && id == 12, "id");
	ok(span_is(e.result, "{\"a\":[{\"id\":1}],\"id\":[]}"), "result");
	ok(json_span_str_eq(e.session_id, "S1"), "sessionId");
	ok(e.method.ptr == NULL && e.params.ptr == NULL && e.error.ptr == NULL,
	    "the others are absent");
	ok(json_span_member(e.result, "id", &s) && span_is(s, "[]"),
	    "a member of the result");
	ok(!json_span_member(e.result, "b", &s) &&
		!json_span_member(e.id, "a", &s) &&
		!json_span_member(e.error, "a", &s),
	    "no such member");
	ok(scan(" { \"method\" : \"Page.\\u0065\" , \"params\" : { } } ", &e) &&
		json_span_str_eq(e.method, "Page.e") &&
		span_is(e.params, "{ }"),
	    "an event with spaces and escapes");
	ok(scan("{\"\\u0069d\":7,\"error\":{\"code\":-32000,\"ok\":true}}",
	       &e) &&
		span_is(e.id, "7") && json_span_member(e.error, "ok", &s) &&
		json_span_get_bool(s, &b) && b,
	    "an error, an escaped key, a boolean");
	ok(scan("{}", &e) && e.id.ptr == NULL, "an empty object");
}

static void
test_members(void)
{
	static const char text[] =
	    "{\"a\":1,\"deep\":{\"b\":0},\"b\":[2],\"a\":3,\"\\u0063\":4}";
	static const char *const names[] = { "a", "b", "c", "d" };
	struct json_span whole = { (const uint8_t *)text, sizeof(text) - 1 };
	struct json_span got[4], kept = { whole.ptr, 1 };

	ok(json_span_members(whole, names, 4, got), "several members at once");
	ok(span_is(got[0], "3") && span_is(got[1], "[2]") &&
		span_is(got[2], "4"),
	    "the last of a name, the outer one, an escaped one");
	ok(got[3].ptr == NULL, "and one that is not there");
	for (whole.len--; whole.len > 0; whole.len--) {
		got[0] = kept;
		if (json_span_members(whole, names, 4, got) ||
		    got[0].ptr != kept.ptr)
			break;
	}
	is_int((int)whole.len, 0, "cut anywhere it is no object");
}

static void
test_spoofs(void)
{
	struct json_envelope e;

	ok(scan("{\"method\":\"X\",\"params\":{\"s\":\"\\\",\\\"id\\\":1,"
		"\\\"sessionId\\\":\\\"evil\\\"}\",\"id\":5,"
		"\"sessionId\":\"evil\"},\"sessionId\":\"good\"}",
	       &e),
	    "a page that writes keys into its strings");
	ok(json_span_str_eq(e.session_id, "good") && e.id.ptr == NULL,
	    "does not fool the router");
	ok(scan("{\"a\":\"\\\\\",\"id\":3,\"b\":\"\\\\\\\"id\\\":4\"}", &e) &&
		span_is(e.id, "3"),
	    "backslashes before quotes");
	ok(scan("{\"ids\":1,\"i\":2,\"Id\":3}", &e) && e.id.ptr == NULL,
	    "keys that are only similar");
}

static void
test_malformed(void)
{
	static const char *const bad[] = { "", " ", "[]", "7", "{", "{\"id\"}",
		"{\"id\":}", "{\"id\":1", "{\"id\":1,}", "{,}", "{\"id\":1}x",
		"{\"id\":\"\\", "{\"a\":[{]}", "{\"a\":{\"b\":\"}", "{id:1}",
		"{\"a\":1 \"b\":2}", "{\"a\"\":1}", "{\"a\":1:2}", "{}}" };
	struct json_envelope e, before;
	int refused = 0;

	memset(&e, 0xa5, sizeof(e));
	before = e;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		bool taken = scan(bad[i], &e);

		refused += !taken;
		if (taken)
			printf("# taken: %s\n", bad[i]);
	}
	is_int(refused, sizeof(bad) / sizeof(bad[0]), "malformed messages");
	ok(memcmp(&e, &before, sizeof(e)) == 0, "leave the output alone");
}

static void
test_strings(void)
{
	struct json_envelope e;
	struct json_span s = { NULL, 0 };
	struct buf b;
	char text[8];

	buf_init(&b, 100);
	ok(scan("{\"result\":\"QUJD\",\"error\":\"a\\ud800\",\"id\":\"\xff\","
		"\"method\":\"x\\u0000\"}",
	       &e),
	    "strings");
	ok(json_span_str_borrow(e.result, &s) && span_is(s, "QUJD"),
	    "plain ones are lent");
	ok(!json_span_str_borrow(e.error, &s) &&
		!json_span_str_borrow(e.id, &s),
	    "others are not");
	ok(json_span_str_add(e.error, &b) && json_span_str_add(e.id, &b) &&
		b.len == 7 &&
		memcmp(b.data, "a\xef\xbf\xbd\xef\xbf\xbd", 7) == 0,
	    "they are decoded and repaired");
	ok(json_span_str_copy(e.result, text, 5) && !strcmp(text, "QUJD") &&
		!json_span_str_copy(e.result, text, 4) &&
		!json_span_str_copy(e.method, text, sizeof(text)),
	    "copies fit and have no NUL inside");
	buf_clear(&b);
}

/* The fast scanners stop where the portable ones do, at every alignment. */
static void
test_scanners(void)
{
	uint8_t bytes[80];
	uint64_t seed = 7;
	int differ = 0;

	for (int round = 0; round < 20000; round++) {
		size_t from = random_next(&seed) % 20;
		size_t to = 80 - random_next(&seed) % 20;
		const uint8_t *p = bytes + from, *end = bytes + to;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = 'a' + random_next(&seed) % 26;
		for (uint32_t k = random_next(&seed) % 3; k > 0; k--)
			bytes[random_next(&seed) % 80] =
			    (uint8_t)random_next(&seed);
		differ +=
		    json_scan_plain(p, end) != json_scan_plain_portable(p, end);
		differ +=
		    json_scan_quote(p, end) != json_scan_quote_portable(p, end);
		differ +=
		    json_scan_nest(p, end) != json_scan_nest_portable(p, end);
	}
	is_int(differ, 0, "scanners agree");
}

/* Whatever is a JSON object for the parser splits into the same members. */
static bool
agrees(const uint8_t *bytes, size_t len, const struct json_doc *doc)
{
	static const char *const keys[] = { "id", "method", "sessionId",
		"params", "result", "error" };
	struct json_envelope e;
	struct json_span spans[6];
	bool split = json_envelope_scan(bytes, len, &e);

	if (!json_is_object(json_root(doc)))
		return !split;
	if (!split)
		return false;
	memcpy(spans,
	    (struct json_span[]){
		e.id, e.method, e.session_id, e.params, e.result, e.error },
	    sizeof(spans));
	for (size_t i = 0; i < 6; i++) {
		struct json_val v = json_obj_get(json_root(doc), keys[i]);
		const uint8_t *raw = NULL;
		size_t n = 0;

		if (json_is_missing(v) != (spans[i].ptr == NULL))
			return false;
		if (json_raw(v, &raw, &n) &&
		    (raw != spans[i].ptr || n != spans[i].len))
			return false;
	}
	return true;
}

static void
test_events(void)
{
	const char *dir = vectors_dir("cdp-json", "events");
	char command[8192];
	size_t len = 0, good = 0, all = 0;
	uint8_t *bytes, *p, *end;
	FILE *f;

	if (dir == NULL)
		return;
	snprintf(command, sizeof(command),
	    "zstd -dc '%s/events.nul.zst' 2>/dev/null", dir);
	f = popen(command, "r");
	bytes = f == NULL ? NULL : slurp(f, &len);
	if (f == NULL || pclose(f) != 0) {
		tap_skip("events", "no zstd program here");
		free(bytes);
		return;
	}
	for (p = bytes; p < bytes + len; p = end + 1) {
		struct json_doc *doc = NULL;

		end = memchr(p, '\0', (size_t)(bytes + len - p));
		if (end == NULL)
			end = bytes + len;
		all++;
		good += json_parse(p, (size_t)(end - p), NULL, JSON_BORROW,
			    &doc, NULL) &&
		    doc_is_sound(doc) && agrees(p, (size_t)(end - p), doc);
		json_doc_free(&doc);
	}
	ok(all == 2373 && good == all, "events: %zu of %zu", good, all);
	free(bytes);
}

static void
test_damage(void)
{
	static const char text[] =
	    "{\"method\":\"A.b\",\"params\":{\"x\":[1,\"\\\"}\",{}]},\"id\":5,"
	    "\"error\":null,\"sessionId\":\"0123456789ABCDEF\"}";
	size_t len = sizeof(text) - 1;
	uint64_t seed = 99;
	int parsed = 0, wrong = 0, whole = 0;

	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = malloc(n == 0 ? 1 : n);
		struct json_envelope e;

		memcpy(cut, text, n);
		whole += json_envelope_scan(cut, n, &e);
		free(cut);
	}
	is_int(whole, 0, "no beginning is a message");
	for (int i = 0; i < 100000; i++) {
		uint8_t *hurt = malloc(len);
		struct json_doc *doc = NULL;
		struct json_envelope e;

		memcpy(hurt, text, len);
		for (uint32_t k = random_next(&seed) % 3 + 1; k > 0; k--)
			hurt[random_next(&seed) % len] =
			    (uint8_t) "{}[]\",:\\u0 id"[random_next(&seed) %
				13];
		if (json_parse(hurt, len, NULL, JSON_BORROW, &doc, NULL)) {
			parsed++;
			wrong += !agrees(hurt, len, doc);
			json_doc_free(&doc);
		} else {
			json_envelope_scan(hurt, len, &e);
		}
		free(hurt);
	}
	ok(parsed > 100 && wrong == 0,
	    "damaged messages: %d still parse, %d split wrongly", parsed,
	    wrong);
}

int
main(void)
{
	test_envelope();
	test_members();
	test_spoofs();
	test_malformed();
	test_strings();
	test_scanners();
	test_events();
	test_damage();
	return done_testing();
}
