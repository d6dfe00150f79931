/* Unit tests of the JSON parser and of its values. */
#include <math.h>
#include <sys/resource.h>

#include "t/unit/json_support.h"

static void
test_values(void)
{
	struct json_doc *doc = parse(" {\"a\": [1, -2.5e1, true, null], "
				     "\"b\": {\"c\": \"x\\n\\u00e9\"}, "
				     "\"\": \"plain\", \"o\": {}} ",
	    JSON_DUP_ERROR);
	struct json_val root = json_root(doc), a = json_obj_get(root, "a"), s;
	struct json_iter it;
	const uint8_t *raw;
	const char *text;
	char small[8];
	size_t len;
	int64_t n = 7;
	double d = 7;
	bool b = false;

	ok(json_is_object(root) && json_len(root) == 4, "an object of 4");
	ok(json_is_array(a) && json_len(a) == 4, "an array of 4");
	ok(json_get_int64(json_arr_get(a, 0), &n) && n == 1, "an integer");
	ok(json_get_int64(json_arr_get(a, 1), &n) && n == -25,
	    "a whole number with fraction and exponent");
	ok(json_get_double(json_arr_get(a, 1), &d) && d == -25, "a double");
	ok(json_get_bool(json_arr_get(a, 2), &b) && b, "a boolean");
	ok(json_is_null(json_arr_get(a, 3)), "null");
	ok(json_is_missing(json_arr_get(a, 4)), "beyond the end is missing");
	s = json_obj_get(json_obj_get(root, "b"), "c");
	ok(json_str_eq(s, "x\n\xc3\xa9") && json_str_len(s) == 4,
	    "escapes are decoded");
	ok(json_str_borrow(s, &len) == NULL, "a coded string is not lent");
	text = json_str_borrow(json_obj_get(root, ""), &len);
	ok(text != NULL && len == 5 && memcmp(text, "plain", 5) == 0,
	    "a plain string is lent");
	ok(json_str_copy(s, small, 5) && strcmp(small, "x\n\xc3\xa9") == 0,
	    "a copy that just fits");
	ok(!json_str_copy(s, small, 4), "a copy that does not fit");
	ok(json_str_cut(s, small, 4) && strcmp(small, "x\n") == 0,
	    "is cut behind a whole character");
	ok(json_str_cut(s, small, 5) && strcmp(small, "x\n\xc3\xa9") == 0,
	    "unless it fits");
	ok(!json_str_cut(s, small, 0), "nothing fits nowhere");
	ok(json_raw(s, &raw, &len) && len == 11 && raw[0] == '"' &&
		raw[10] == '"',
	    "raw text has the quotes");
	ok(json_raw(a, &raw, &len) && len == 23 && raw[22] == ']',
	    "raw text of an array");
	n = 0;
	for (it = json_iter(root); json_iter_next(&it);)
		n += json_is_string(it.key) + 10 * json_is_object(it.val);
	is_int(n, 24, "walk over members");
	json_doc_free(&doc);
	ok(doc == NULL, "freed");
}

static void
test_missing(void)
{
	struct json_val none = json_root(NULL);
	struct json_iter it = json_iter(none);
	const uint8_t *raw;
	char text[4];
	size_t len;
	int64_t n;
	double d;
	bool b;

	ok(json_is_missing(json_obj_get(json_arr_get(none, 0), "a")),
	    "lookups in nothing find nothing");
	ok(!json_iter_next(&it) && json_len(none) == 0, "nothing is empty");
	ok(!json_get_int64(none, &n) && !json_get_double(none, &d) &&
		!json_get_bool(none, &b) && !json_raw(none, &raw, &len) &&
		!json_str_copy(none, text, 4) && !json_str_eq(none, "") &&
		json_str_dup(none, &len) == NULL,
	    "nothing has no value");
	is_str(json_type_name(json_type_of(none)), "nothing", "its name");
}

static bool
int_of(const char *text, int64_t *ret)
{
	struct json_doc *doc = parse(text, 0);
	bool good = json_get_int64(json_root(doc), ret);

	json_doc_free(&doc);
	return good;
}

static void
test_numbers(void)
{
	struct json_doc *doc;
	int64_t n = 0;
	double d = 0;

	ok(int_of("9223372036854775807", &n) && n == INT64_MAX, "2^63-1");
	ok(int_of("-9223372036854775808", &n) && n == INT64_MIN, "-2^63");
	ok(!int_of("9223372036854775808", &n), "2^63 is too large");
	ok(!int_of("-9223372036854775809", &n), "-2^63-1 is too small");
	ok(int_of("922337203685477580700e-2", &n) && n == INT64_MAX,
	    "2^63-1 in disguise");
	ok(int_of("-0", &n) && n == 0, "minus zero");
	ok(int_of("0e99999999999999999999", &n) && n == 0, "zero, inflated");
	ok(!int_of("1e19", &n) && !int_of("1e-1", &n), "not an int64_t");
	ok(!int_of("1.000000000000000005", &n), "almost one");
	ok(!int_of("1e99999999999999999999", &n), "out of sight");
	doc = parse("[-0, 0.1, 5e-324, 1.7976931348623157e308, 1e309, "
		    "0.500000000000000166533453693773481063544750213623046875]",
	    0);
	ok(json_get_double(json_arr_get(json_root(doc), 0), &d) && d == 0 &&
		signbit(d),
	    "minus zero keeps its sign");
	ok(json_get_double(json_arr_get(json_root(doc), 1), &d) && d == 0.1,
	    "0.1");
	ok(json_get_double(json_arr_get(json_root(doc), 2), &d) && d == 5e-324,
	    "the smallest double");
	ok(json_get_double(json_arr_get(json_root(doc), 3), &d) &&
		d == 1.7976931348623157e308,
	    "the largest double");
	ok(!json_get_double(json_arr_get(json_root(doc), 4), &d),
	    "no infinity");
	ok(json_get_double(json_arr_get(json_root(doc), 5), &d) &&
		d == 0x1.0000000000002p-1,
	    "a tie, rounded to even");
	json_doc_free(&doc);
}

static void
expect_error(const char *text, unsigned flags, enum json_error_kind kind,
    unsigned line, unsigned column, const char *message)
{
	struct json_doc *doc = NULL;
	struct json_error e = { 0 };
	bool failed = !json_parse(
	    (const uint8_t *)text, strlen(text), NULL, flags, &doc, &e);

	if (!ok(failed && doc == NULL && e.kind == kind && e.line == line &&
		    e.column == column && strcmp(e.message, message) == 0,
		"%u:%u: %s", line, column, message) &&
	    failed)
		printf("# got %u:%u: %s\n", e.line, e.column, e.message);
	json_doc_free(&doc);
}

static void
test_errors(void)
{
	expect_error("", 0, JSON_ERROR_SYNTAX, 1, 1, "unexpected end of text");
	expect_error("{\"a\":\n  [1,\n  nul]}", 0, JSON_ERROR_SYNTAX, 3, 3,
	    "expected a value");
	expect_error("[\"\xc3\xa9\xe2\x82\xac\" x]", 0, JSON_ERROR_SYNTAX, 1, 7,
	    "expected ',' or ']'");
	expect_error("{\"a\":1,}", 0, JSON_ERROR_SYNTAX, 1, 8,
	    "expected a key in double quotes");
	expect_error("{\"a\" 1}", 0, JSON_ERROR_SYNTAX, 1, 6, "expected ':'");
	expect_error(
	    "{} {}", 0, JSON_ERROR_SYNTAX, 1, 4, "something follows the value");
	expect_error("[\"a\nb\"]", 0, JSON_ERROR_SYNTAX, 1, 4,
	    "control character in a string");
	expect_error(
	    "\"\\x\"", 0, JSON_ERROR_SYNTAX, 1, 3, "not an escape sequence");
	expect_error("\"\\u12g4\"", 0, JSON_ERROR_SYNTAX, 1, 6,
	    "\\u needs four hexadecimal digits");
	expect_error("[-]", 0, JSON_ERROR_SYNTAX, 1, 3, "a digit is missing");
	expect_error("\"\xff\"", 0, JSON_ERROR_SYNTAX, 1, 2, "not UTF-8");
	expect_error("{\"a\":1,\n\"\\u0061\":2}", JSON_DUP_ERROR,
	    JSON_ERROR_DUPLICATE, 2, 1, "the object has this key already");
}

static void
test_duplicates(void)
{
	struct json_doc *doc = parse("{\"a\":1,\"b\":2,\"\\u0061\":3}", 0);
	int64_t n = 0;
	char text[4096];
	size_t len = 0;

	ok(json_get_int64(json_obj_get(json_root(doc), "a"), &n) && n == 3,
	    "the last of equal keys is found");
	is_int(json_len(json_root(doc)), 3, "all are counted");
	json_doc_free(&doc);
	for (int i = 0; i < 100; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s\"k%d\":{\"k\":0}", i == 0 ? "{" : ",", i);
	snprintf(text + len, sizeof(text) - len, "}");
	doc = parse(text, JSON_DUP_ERROR);
	ok(doc != NULL, "100 different keys");
	json_doc_free(&doc);
	snprintf(text + len, sizeof(text) - len, ",\"k50\":0}");
	ok(parse(text, JSON_DUP_ERROR) == NULL,
	    "a large object, one key twice");
	doc = parse("[{\"a\":{\"a\":1}},{\"a\":2}]", JSON_DUP_ERROR);
	ok(doc != NULL, "equal keys in different objects");
	json_doc_free(&doc);
}

static void
test_strings(void)
{
	struct json_doc *doc = parse("[\"\\ud83d\\ude00\", \"\\ud800\", "
				     "\"\\udc00\\ud800\", \"a\\u0000b\", "
				     "\"\\ud800\\u0041\", \"\\/\\b\\f\\r\\t\"]",
	    0);
	struct json_val root = json_root(doc);
	char text[8] = "kept";

	ok(json_str_eq(json_arr_get(root, 0), "\xf0\x9f\x98\x80"),
	    "a surrogate pair");
	ok(json_str_eq(json_arr_get(root, 1), "\xef\xbf\xbd"),
	    "a lone surrogate");
	ok(json_str_eq(json_arr_get(root, 2), "\xef\xbf\xbd\xef\xbf\xbd"),
	    "two in the wrong order");
	ok(json_str_eqn(json_arr_get(root, 3), "a\0b", 3), "a NUL inside");
	ok(!json_str_copy(json_arr_get(root, 3), text, sizeof(text)) &&
		strcmp(text, "kept") == 0,
	    "which makes no C string");
	ok(json_str_eq(json_arr_get(root, 4),
	       "\xef\xbf\xbd"
	       "A"),
	    "a surrogate followed by a letter");
	ok(json_str_eq(json_arr_get(root, 5), "/\b\f\r\t"), "short escapes");
	ok(json_str_cmp(json_arr_get(root, 1), json_arr_get(root, 2)) < 0,
	    "a prefix comes first");
	json_doc_free(&doc);
	ok(parse("\"\xed\xa0\x80\"", 0) == NULL, "an encoded surrogate");
	doc = parse("\"a\xed\xa0\x80\xe2\x82z\xff\"", JSON_REPAIR_UTF8);
	ok(json_str_eq(json_root(doc),
	       "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	       "\xef\xbf\xbdz\xef\xbf\xbd"),
	    "ill-formed parts repaired one by one");
	json_doc_free(&doc);
}

static void
test_limits(void)
{
	struct json_limits limits = { 0, 512 };
	struct json_doc *doc = NULL;
	struct json_error e = { 0 };
	struct rlimit stack = { 256 << 10, 256 << 10 };
	size_t n = 100000;
	uint8_t *deep = malloc(2 * n);

	if (deep == NULL)
		return;
	memset(deep, '[', n);
	memset(deep + n, ']', n);
	ok(setrlimit(RLIMIT_STACK, &stack) == 0, "a stack of 256 KiB");
	ok(!json_parse(deep, 2 * n, &limits, 0, &doc, &e) &&
		e.kind == JSON_ERROR_LIMIT && e.offset == 512,
	    "100,000 arrays are refused at 512");
	ok(json_parse(deep + n - 512, 1024, &limits, 0, &doc, &e),
	    "512 are not");
	json_doc_free(&doc);
	ok(!json_parse(deep + n - 65, 130, NULL, 0, &doc, &e),
	    "by default 65 are too deep");
	ok(json_parse(deep + n - 64, 128, NULL, 0, &doc, &e), "64 are not");
	json_doc_free(&doc);
	limits.max_bytes = 4;
	ok(!json_parse((const uint8_t *)"[123]", 5, &limits, 0, &doc, &e) &&
		e.kind == JSON_ERROR_LIMIT,
	    "5 bytes where 4 are allowed");
	ok(json_parse(
	       (const uint8_t *)"[12]", 4, &limits, JSON_BORROW, &doc, &e),
	    "4 bytes are");
	json_doc_free(&doc);
	free(deep);
}

static void
test_suite(void)
{
	const char *dir = vectors_dir("json-parsing/test_parsing", "suite");
	struct json_limits limits = { 0, 512 };
	struct dirent **names = NULL;
	int n, good[3] = { 0 }, all[3] = { 0 };

	if (dir == NULL)
		return;
	n = scandir(dir, &names, json_only, alphasort);
	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name;
		int kind = name[0] == 'y' ? 0 : name[0] == 'n' ? 1 : 2;
		struct json_doc *doc = NULL;
		struct json_error e = { 0 };
		size_t len;
		uint8_t *bytes = read_file(dir, name, &len);
		bool accepted = json_parse(bytes, len, &limits, 0, &doc, &e);

		all[kind]++;
		good[kind] +=
		    kind == 1 ? !accepted : accepted && doc_is_sound(doc);
		if (kind == 2)
			printf("# %s %s\n", name,
			    accepted ? "accepted" : e.message);
		else if (accepted == (kind == 1))
			printf("# wrong: %s\n", name);
		json_doc_free(&doc);
		free(bytes);
		free(names[i]);
	}
	free(names);
	printf("# i_: %d of %d accepted\n", good[2], all[2]);
	ok(all[0] == 95 && good[0] == 95, "y_: %d of %d accepted", good[0],
	    all[0]);
	ok(all[1] == 188 && good[1] == 188, "n_: %d of %d refused", good[1],
	    all[1]);
}

static void
test_transform(void)
{
	const char *dir =
	    vectors_dir("json-parsing/test_transform", "transforms");
	struct dirent **names = NULL;
	int n, good = 0;

	if (dir == NULL)
		return;
	n = scandir(dir, &names, json_only, alphasort);
	for (int i = 0; i < n; i++) {
		struct json_doc *doc = NULL;
		size_t len;
		uint8_t *bytes = read_file(dir, names[i]->d_name, &len);

		good += json_parse(
			    bytes, len, NULL, JSON_REPAIR_UTF8, &doc, NULL) &&
		    doc_is_sound(doc);
		json_doc_free(&doc);
		free(bytes);
		free(names[i]);
	}
	free(names);
	ok(n == 22 && good == n, "transforms: %d of %d", good, n);
}

static void
test_cdp(void)
{
	const char *dir = vectors_dir("cdp-json", "browser messages");
	struct dirent **names = NULL;
	int n, good = 0;

	if (dir == NULL)
		return;
	n = scandir(dir, &names, json_only, alphasort);
	for (int i = 0; i < n; i++) {
		struct json_doc *doc = NULL;
		size_t len;
		uint8_t *bytes = read_file(dir, names[i]->d_name, &len);

		good += json_parse(bytes, len, NULL, JSON_BORROW, &doc, NULL) &&
		    doc_is_sound(doc);
		json_doc_free(&doc);
		free(bytes);
		free(names[i]);
	}
	free(names);
	ok(n == 10 && good == n, "browser messages: %d of %d", good, n);
}

/* Every beginning of a text, and many ways to damage it, in exact memory so
 * that a sanitizer sees a read beyond it. */
static void
test_damage(void)
{
	static const char text[] =
	    "{\"id\":7,\"a\":[1.5e-3,-0,true,false,null,{}],"
	    "\"\\ud83d\\ude00\":\"\xe2\x82\xac long enough for sixteen\"}";
	size_t len = sizeof(text) - 1;
	uint64_t seed = 42;
	int accepted = 0, unsound = 0;

	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = malloc(n == 0 ? 1 : n);
		struct json_doc *doc = NULL;

		memcpy(cut, text, n);
		accepted += json_parse(cut, n, NULL, JSON_BORROW, &doc, NULL);
		json_doc_free(&doc);
		free(cut);
	}
	is_int(accepted, 0, "no beginning is a text");
	accepted = 0;
	for (int i = 0; i < 100000; i++) {
		uint8_t *hurt = malloc(len);
		struct json_doc *doc = NULL;
		unsigned flags = random_next(&seed) & 7;

		memcpy(hurt, text, len);
		for (uint32_t k = random_next(&seed) % 4 + 1; k > 0; k--)
			hurt[random_next(&seed) % len] =
			    (uint8_t) "{}[]\",:\\u0e-\xe2\x82 "[random_next(
								    &seed) %
				16];
		if (json_parse(hurt, len, NULL, flags, &doc, NULL)) {
			accepted++;
			unsound += !doc_is_sound(doc);
		}
		json_doc_free(&doc);
		free(hurt);
	}
	ok(accepted > 100 && unsound == 0,
	    "100,000 damaged texts: %d accepted, %d unsound", accepted,
	    unsound);
}

int
main(void)
{
	test_values();
	test_missing();
	test_numbers();
	test_errors();
	test_duplicates();
	test_strings();
	test_suite();
	test_transform();
	test_cdp();
	test_damage();
	test_limits();
	return done_testing();
}
