/* Unit tests of the JSON writer, of canonical texts and of number texts. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json/canon.h"
#include "json/number.h"
#include "json/writer.h"
#include "t/unit/json_support.h"

static const char *
text_of(struct buf *b)
{
	static char text[4096];

	snprintf(text, sizeof(text), "%.*s", (int)b->len,
	    b->data == NULL ? "" : (char *)b->data);
	buf_clear(b);
	return text;
}

static void
write_sample(struct json_writer *w)
{
	static const char nul[] = "a\0b";

	json_write_begin_object(w);
	json_put_str(
	    w, "s", "\"\\/\n\x01\x7f\xc3\xa9\xc2\x9b\xff\xed\xa0\x80.");
	json_put_strn(w, nul, nul, 3);
	json_put_str(w, "n", NULL);
	json_write_key(w, "a");
	json_write_begin_array(w);
	json_write_int64(w, INT64_MIN);
	json_write_double(w, 0.1);
	json_write_double(w, NAN);
	json_write_bool(w, true);
	json_write_begin_array(w);
	json_write_end_array(w);
	json_write_end_array(w);
	json_put_raw(w, "r", "[1, 2]", 6);
	json_write_end_object(w);
}

static void
test_writer(void)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 1000);
	json_writer_init(&w, &b);
	write_sample(&w);
	ok(json_writer_finish(&w), "a document");
	is_str(text_of(&b),
	    "{\"s\":\"\\\"\\\\/\\n\\u0001\x7f\xc3\xa9\\u009b\xef\xbf\xbd"
	    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.\","
	    "\"a\":\"a\\u0000b\",\"n\":null,"
	    "\"a\":[-9223372036854775808,0.1,null,true,[]],\"r\":[1, 2]}",
	    "its text");
	buf_init(&b, 20);
	json_writer_init(&w, &b);
	write_sample(&w);
	ok(!json_writer_finish(&w) && b.failed && b.len <= 20,
	    "a full buf is noticed at the end");
	buf_clear(&b);
	json_writer_init_pretty(&w, &b);
	json_write_str(&w, "x");
	ok(json_writer_finish(&w), "a bare value");
	is_str(text_of(&b), "\"x\"", "its text");
}

static void
test_exact(void)
{
	ok(json_str_is_exact("a\0\x1b\xc2\x80\xf4\x8f\xbf\xbf", 9) &&
		json_str_is_exact("", 0),
	    "every character can be written");
	ok(!json_str_is_exact("a\xff", 2) &&
		!json_str_is_exact("\xe2\x82", 2) &&
		!json_str_is_exact("\xed\xa0\x80", 3),
	    "what is no UTF-8 cannot");
}

static void
test_pretty(void)
{
	struct json_doc *doc =
	    parse("{\"a\":[1,{\"b\":\"\xc2\x9b\\u0041\"},[]],"
		  "\"c\":{} , \"\\n\":1.50}",
		0);
	struct json_writer w;
	struct buf b;

	buf_init(&b, 1000);
	ok(json_pretty(json_root(doc), &b), "laid out");
	is_str(text_of(&b),
	    "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"\\u009bA\"\n    },\n"
	    "    []\n  ],\n  \"c\": {},\n  \"\\n\": 1.50\n}",
	    "two spaces for a level");
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	json_write_val(&w, json_obj_get(json_root(doc), "c"));
	json_write_val(&w, json_obj_get(json_root(doc), "a"));
	json_write_end_array(&w);
	ok(json_writer_finish(&w), "spliced");
	is_str(text_of(&b), "[{},[1,{\"b\":\"\\u009bA\"},[]]]",
	    "without escapes of letters");
	json_doc_free(&doc);
	doc = parse("[\"\xff\"]", JSON_REPAIR_UTF8);
	json_writer_init(&w, &b);
	json_write_val(&w, json_root(doc));
	ok(json_writer_finish(&w), "spliced from a repaired document");
	is_str(text_of(&b), "[\"\xef\xbf\xbd\"]", "repaired");
	json_doc_free(&doc);
}

/* The deepest document fits on top of the deepest own nesting. */
static void
test_deep(void)
{
	struct json_limits limits = { 0, JSON_DEPTH_MAX };
	char text[2 * JSON_DEPTH_MAX];
	struct json_doc *doc = NULL;
	struct json_writer w;
	struct buf b;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	ok(json_parse((uint8_t *)text, sizeof(text), &limits, 0, &doc, NULL),
	    "512 arrays");
	buf_init(&b, 4 << 20);
	json_writer_init_pretty(&w, &b);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_write_begin_array(&w);
	json_write_val(&w, json_root(doc));
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_write_end_array(&w);
	ok(json_writer_finish(&w), "inside 512 others");
	buf_reset(&b);
	ok(json_canon_add(json_root(doc), &b) && b.len == sizeof(text) &&
		memcmp(b.data, text, b.len) == 0,
	    "canonical as they are");
	buf_clear(&b);
	json_doc_free(&doc);
}

static void
misuse_value_without_key(struct json_writer *w)
{
	json_write_begin_object(w);
	json_write_int64(w, 1);
}

static void
misuse_key_in_array(struct json_writer *w)
{
	json_write_begin_array(w);
	json_write_key(w, "a");
}

static void
misuse_two_values(struct json_writer *w)
{
	json_write_null(w);
	json_write_null(w);
}

static void
misuse_wrong_end(struct json_writer *w)
{
	json_write_begin_array(w);
	json_write_end_object(w);
}

static void
misuse_end_after_key(struct json_writer *w)
{
	json_write_begin_object(w);
	json_write_key(w, "a");
	json_write_end_object(w);
}

static void
misuse_unfinished(struct json_writer *w)
{
	json_write_begin_object(w);
	json_writer_finish(w);
}

static void
test_misuse(void)
{
	static void (*const cases[])(
	    struct json_writer *) = { misuse_value_without_key,
		misuse_key_in_array, misuse_two_values, misuse_wrong_end,
		misuse_end_after_key, misuse_unfinished };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = 0;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (pid == 0) {
			struct json_writer w;
			struct buf b;

			if (freopen("/dev/null", "w", stderr) == NULL)
				_exit(1);
			buf_init(&b, 1000);
			json_writer_init(&w, &b);
			cases[i](&w);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT,
		    "misuse %zu is caught", i);
	}
}

static void
expect_canon(const char *text, const char *want)
{
	struct json_doc *doc = parse(text, 0);
	struct buf b;

	buf_init(&b, 1000);
	if (json_canon_add(json_root(doc), &b))
		is_str(text_of(&b), want, text);
	else
		ok(false, "%s", text);
	buf_clear(&b);
	json_doc_free(&doc);
}

static void
test_canon(void)
{
	expect_canon(" { \"b\" : [ true , null ] , \"a\" : { } } ",
	    "{\"a\":{},\"b\":[true,null]}");
	expect_canon(
	    "{\"b\":{\"z\":1,\"y\":{\"q\":[],\"p\":2}},\"a\":0,\"c\":3}",
	    "{\"a\":0,\"b\":{\"y\":{\"p\":2,\"q\":[]},\"z\":1},\"c\":3}");
	expect_canon(
	    "{\"a\":1,\"\\u0061\":2,\"b\":0,\"a\":3}", "{\"a\":3,\"b\":0}");
	expect_canon(
	    "\"\\u0041\\/\\u00e9\\n\\u001f\"", "\"A/\xc3\xa9\\n\\u001f\"");
	expect_canon("[1.0,10e-1,100E-2,-0,-0.0e7,0.000]", "[1,1,1,0,0,0]");
	expect_canon("[1e21,1e20,123456789012345678901234]",
	    "[1e+21,100000000000000000000,1.23456789012345678901234e+23]");
	expect_canon("[0.000001,0.0000001,-12.50]", "[0.000001,1e-7,-12.5]");
	expect_canon(
	    "[99e99999999999999999999,0.5e-9007199254740993,1e+9007199254740992]",
	    "[9.9e+9007199254740992,5e-9007199254740992,1e+9007199254740992]");
	expect_canon("[1.000000000000000005,9007199254740993]",
	    "[1.000000000000000005,9007199254740993]");
}

static const char *
double_text(double v)
{
	struct buf b;

	buf_init(&b, 100);
	json_double_add(v, &b);
	return text_of(&b);
}

static void
test_doubles(void)
{
	uint64_t seed = 1;
	int wrong = 0;

	is_str(double_text(0.1), "0.1", "0.1");
	is_str(double_text(-0.0), "-0", "minus zero");
	is_str(double_text(5e-324), "5e-324", "the smallest");
	is_str(double_text(1.7976931348623157e308), "1.7976931348623157e+308",
	    "the largest");
	is_str(double_text(1e21), "1e+21", "1e21");
	is_str(double_text(123456789012345680000.0), "123456789012345680000",
	    "a large whole number");
	is_str(double_text(1.795293014890207e12), "1795293014890.207",
	    "a time stamp");
	is_str(double_text(2.2250738585072014e-308), "2.2250738585072014e-308",
	    "the smallest normal one");
	is_str(double_text(0.3), "0.3", "0.3");
	is_str(double_text(0.1 + 0.2), "0.30000000000000004", "0.1 + 0.2");
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = (uint64_t)random_next(&seed) << 33 ^
		    (uint64_t)random_next(&seed) << 16 ^ random_next(&seed);
		struct json_doc *doc;
		double v, back = 0;

		memcpy(&v, &bits, sizeof(v));
		if (!isfinite(v))
			continue;
		doc = parse(double_text(v), 0);
		json_get_double(json_root(doc), &back);
		wrong += memcmp(&v, &back, sizeof(v)) != 0;
		json_doc_free(&doc);
	}
	is_int(wrong, 0, "20,000 doubles read back as themselves");
}

static struct json_decimal
decimal(const char *text)
{
	return json_decimal_read((const uint8_t *)text, strlen(text));
}

static bool
divisible(const char *a, const char *b)
{
	struct json_decimal da = decimal(a), db = decimal(b);

	return json_decimal_divisible(&da, &db);
}

static int
compare(const char *a, const char *b)
{
	struct json_decimal da = decimal(a), db = decimal(b);

	return json_decimal_cmp(&da, &db);
}

static void
test_decimals(void)
{
	ok(compare("1.0", "1") == 0 && compare("0", "-0") == 0 &&
		compare("100", "1e2") == 0,
	    "equal");
	ok(compare("-2", "-1") < 0 && compare("-1", "0") < 0 &&
		compare("0.5", "0.05") > 0 && compare("99", "1e2") < 0 &&
		compare("1.5", "1.25") > 0 && compare("12", "1.25e1") < 0,
	    "ordered");
	ok(compare("9223372036854775808", "9223372036854775807") > 0,
	    "beyond 2^63");
	ok(divisible("0.0075", "0.0001") && divisible("1e308", "0.5") &&
		divisible("0", "7") && divisible("-21", "7") &&
		divisible("12391239123", "1e-8") && divisible("35", "3.5"),
	    "multiples");
	ok(!divisible("0.00751", "0.0001") && !divisible("22", "7") &&
		!divisible("1e308", "0.123456789") && !divisible("5", "1e1"),
	    "no multiples");
}

int
main(void)
{
	test_writer();
	test_exact();
	test_pretty();
	test_deep();
	test_misuse();
	test_canon();
	test_doubles();
	test_decimals();
	return done_testing();
}
