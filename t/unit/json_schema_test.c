/* Unit tests of the JSON Schema validator. */
#include "json/schema.h"
#include "json/uri.h"
#include "t/unit/json_support.h"

/* What the official suite's files add up to. */
struct tally {
	int cases;
	int decided;
	int wrong;
	int refused;
};

static struct schema *
compile_text(
    const char *text, enum schema_dialect dialect, struct schema_error *e)
{
	struct json_doc *doc = parse(text, 0);
	struct schema *s = NULL;

	schema_compile(json_root(doc), dialect, &s, e);
	json_doc_free(&doc);
	return s;
}

/* want NULL: the value fits. */
static void
expect(const char *schema, const char *value, const char *want)
{
	struct schema_error e = { 0 };
	struct schema *s = compile_text(schema, SCHEMA_2020_12, &e);
	struct json_doc *doc = parse(value, JSON_DUP_ERROR);
	char text[600] = "fits";

	if (s == NULL || !schema_validate(s, json_root(doc), &e))
		schema_error_text(&e, text, sizeof(text));
	is_str(text, want == NULL ? "fits" : want, schema);
	schema_free(&s);
	json_doc_free(&doc);
}

static void
expect_refused(
    const char *schema, enum schema_error_kind kind, const char *want)
{
	struct schema_error e = { 0 };
	struct schema *s = compile_text(schema, SCHEMA_2020_12, &e);
	char text[600] = "";

	schema_error_text(&e, text, sizeof(text));
	if (ok(s == NULL && e.kind == kind, "refused: %.60s", schema))
		is_str(text, want, "why");
	schema_free(&s);
}

static void
test_messages(void)
{
	static const char urls[] =
	    "{\"type\":\"object\",\"properties\":{\"urls\":{\"type\":\"array\","
	    "\"items\":{\"type\":\"string\",\"minLength\":1},\"minItems\":1,"
	    "\"maxItems\":3},\"concurrency\":{\"type\":\"integer\","
	    "\"minimum\":1,\"maximum\":5},\"mode\":{\"enum\":[\"a\",\"b\"]}},"
	    "\"required\":[\"urls\"],\"additionalProperties\":false}";

	expect(urls, "{\"urls\":[\"x\"],\"concurrency\":5.0}", NULL);
	expect(urls, "7", "expected object, got number");
	expect(urls, "{\"urls\":[\"x\",\"y\",3]}",
	    "/urls/2: expected string, got number");
	expect(urls, "{\"url\":[]}",
	    "unknown field \"url\" (did you mean \"urls\"?)");
	expect(urls, "{\"urls\":[\"x\"],\"foo\":1}", "unknown field \"foo\"");
	expect(urls, "{}", "missing field \"urls\"");
	expect(urls, "{\"urls\":[]}", "/urls: too few elements: 0, at least 1");
	expect(urls, "{\"urls\":[\"\"]}",
	    "/urls/0: too few characters: 0, at least 1");
	expect(urls, "{\"urls\":[\"x\"],\"concurrency\":9}",
	    "/concurrency: 9 is out of range (from 1 up to 5)");
	expect(urls, "{\"urls\":[\"x\"],\"concurrency\":1.5}",
	    "/concurrency: expected integer, got 1.5");
	expect(urls, "{\"urls\":[\"x\"],\"mode\":\"c\"}",
	    "/mode: expected one of \"a\", \"b\"");
	expect("{\"type\":[\"string\",\"null\"]}", "[]",
	    "expected null or string, got array");
	expect("{\"properties\":{\"a/b~\":false}}", "{\"a/b~\":1}",
	    "/a~1b~0: nothing is allowed here");
	expect("{\"pattern\":\"^a+$\"}", "\"b\"",
	    "does not match the pattern \"^a+$\"");
	expect("{\"uniqueItems\":true}",
	    "[{\"a\":1,\"b\":2},3,"
	    "{\"b\":2.0,\"a\":1}]",
	    "elements 0 and 2 are equal");
	expect("{\"anyOf\":[{\"type\":\"null\"},{\"properties\":"
	       "{\"a\":{\"const\":1}}}]}",
	    "{\"a\":2}", "/a: expected 1");
	expect("{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]}", "1",
	    "fits none of the 2 schemas of \"oneOf\"");
	expect("{\"oneOf\":[true,true]}", "1",
	    "fits more than one of the schemas of \"oneOf\"");
	expect("{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}",
	    "field name \"abc\" is not allowed");
	expect("{\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}",
	    "missing field \"b\" (\"a\" needs it)");
	expect("{\"multipleOf\":0.01}", "0.075",
	    "0.075 is not a multiple of 0.01");
	expect("{\"maxLength\":2}", "\"\\ud83d\\ude00\\u0000\"", NULL);
}

static void
test_refusals(void)
{
	expect_refused("{\"properties\":{\"a\":{\"unevaluatedItems\":false}}}",
	    SCHEMA_ERROR_UNSUPPORTED,
	    "/properties/a/unevaluatedItems: unsupported keyword "
	    "\"unevaluatedItems\"");
	expect_refused("{\"tpye\":\"string\"}", SCHEMA_ERROR_UNSUPPORTED,
	    "/tpye: unsupported keyword \"tpye\"");
	expect_refused("{\"$ref\":\"http://example.com/x\"}",
	    SCHEMA_ERROR_UNSUPPORTED,
	    "/$ref: \"$ref\" \"http://example.com/x\" is not in this schema");
	expect_refused("{\"$ref\":\"#/$defs/a\"}", SCHEMA_ERROR_MALFORMED,
	    "/$ref: \"$ref\" \"#/$defs/a\" points nowhere");
	expect_refused("{\"items\":[{\"$id\":\"x\"},{\"$id\":\"a/../x\"}]}",
	    SCHEMA_ERROR_MALFORMED,
	    "/items/1/$id: another schema has this \"$id\"");
	expect_refused("{\"$ref\":\"#/examples/0\",\"examples\":"
		       "[{\"$id\":\"x\"}]}",
	    SCHEMA_ERROR_UNSUPPORTED, "/examples/0/$id: unsupported \"$id\"");
	expect_refused("{\"items\":{\"$schema\":\"x\"}}",
	    SCHEMA_ERROR_UNSUPPORTED,
	    "/items/$schema: \"$schema\" is supported at the root only");
	expect_refused("{\"pattern\":\"(a)\\\\1\"}", SCHEMA_ERROR_UNSUPPORTED,
	    "/pattern: unsupported pattern: back references are not "
	    "supported");
	expect_refused("{\"minLength\":-1}", SCHEMA_ERROR_MALFORMED,
	    "/minLength: \"minLength\" must be a whole number from 0");
	expect_refused("{\"type\":\"text\"}", SCHEMA_ERROR_MALFORMED,
	    "/type: \"type\" must be a type: null, boolean, integer, number, "
	    "string, array or object");
	expect_refused("{\"allOf\":[7]}", SCHEMA_ERROR_MALFORMED,
	    "/allOf/0: a schema is an object or a boolean, not number");
	expect_refused("{\"a\":1,\"a\":2}", SCHEMA_ERROR_MALFORMED,
	    "line 1, column 8 of the schema: the object has this key already");
	expect_refused(
	    "{\"$schema\":\"http://json-schema.org/draft-04/schema\"}",
	    SCHEMA_ERROR_UNSUPPORTED,
	    "/$schema: only 2020-12 and draft-07 are supported");
	expect_refused("", SCHEMA_ERROR_MALFORMED, "there is no schema");
}

/* Slow at every place of a long text, but nowhere beyond PCRE2's own limit. */
static void
test_slow_pattern(void)
{
	size_t len = 200000;
	char *text = malloc(len + 3);

	if (text == NULL)
		return;
	for (size_t i = 1; i <= len; i++)
		text[i] = i % 60 == 0 ? 'c' : 'a';
	text[0] = text[len + 1] = '"';
	text[len + 2] = '\0';
	expect("{\"pattern\":\"a*a*a*[bd]\"}", text,
	    "checking this takes too much work");
	expect("{\"pattern\":\"^[ac]+$\"}", text, NULL);
	expect("{\"pattern\":\"^[ab]+$\"}", text,
	    "does not match the pattern \"^[ab]+$\"");
	expect("{\"pattern\":\"b\"}", text, "does not match the pattern \"b\"");
	free(text);
}

/* 2^30 ways through a ladder of references. */
static void
test_ladder(void)
{
	char text[4096];
	size_t len = 0;

	for (int i = 0; i < 30; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
		    "%s\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},"
		    "{\"$ref\":\"#/$defs/d%d\"}]}",
		    i == 0 ? "{\"$ref\":\"#/$defs/d0\",\"$defs\":{" : ",", i,
		    i + 1, i + 1);
	snprintf(text + len, sizeof(text) - len, ",\"d30\":true}}");
	expect(text, "1", "checking this takes too much work");
}

/* A schema or value of n levels: open n times, what is inside, '}' n times. */
static const char *
nested(const char *open, int n, const char *inside)
{
	static char text[4096];
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(
		    text + len, sizeof(text) - len, "%s", open);
	len += (size_t)snprintf(text + len, sizeof(text) - len, "%s", inside);
	for (int i = 0; i < n; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "}");
	return text;
}

static void
test_budgets(void)
{
	static const char tree[] = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":"
				   "{\"properties\":{\"n\":{\"$ref\":"
				   "\"#/$defs/t\"}},\"maxProperties\":1}}}";
	struct buf big;
	size_t len;
	char *text;

	expect("{\"$ref\":\"#\"}", "1", "checking this takes too much work");
	expect("{\"pattern\":\"^(a+)+$\"}",
	    "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"",
	    "checking this takes too much work");
	test_slow_pattern();
	test_ladder();
	expect(tree, nested("{\"n\":", 60, "{}"), NULL);
	expect_refused(nested("{\"not\":", 33, "{}"), SCHEMA_ERROR_LIMIT,
	    "line 1, column 225 of the schema: nested too deep");
	buf_init(&big, 2 * SCHEMA_BYTES_MAX);
	buf_addf(&big, "{\"title\":\"%*s\"}", (int)SCHEMA_BYTES_MAX, "x");
	text = (char *)buf_take(&big, &len);
	if (text == NULL)
		return;
	expect_refused(text, SCHEMA_ERROR_LIMIT,
	    "line 1, column 1 of the schema: longer than allowed");
	free(text);
}

/* The examples of RFC 3986 §5.4, fragments left out. */
static void
test_uris(void)
{
	static const char base[] = "http://a/b/c/d;p?q";
	static const char *const cases[][2] = { { "g:h", "g:h" },
		{ "g", "http://a/b/c/g" }, { "./g", "http://a/b/c/g" },
		{ "g/", "http://a/b/c/g/" }, { "/g", "http://a/g" },
		{ "//g", "http://g" }, { "?y", "http://a/b/c/d;p?y" },
		{ "g?y", "http://a/b/c/g?y" }, { ";x", "http://a/b/c/;x" },
		{ "g;x", "http://a/b/c/g;x" }, { "", "http://a/b/c/d;p?q" },
		{ ".", "http://a/b/c/" }, { "./", "http://a/b/c/" },
		{ "..", "http://a/b/" }, { "../", "http://a/b/" },
		{ "../g", "http://a/b/g" }, { "../..", "http://a/" },
		{ "../../", "http://a/" }, { "../../g", "http://a/g" },
		{ "../../../g", "http://a/g" },
		{ "../../../../g", "http://a/g" }, { "/./g", "http://a/g" },
		{ "/../g", "http://a/g" }, { "g.", "http://a/b/c/g." },
		{ "..g", "http://a/b/c/..g" }, { "./../g", "http://a/b/g" },
		{ "./g/.", "http://a/b/c/g/" }, { "g/./h", "http://a/b/c/g/h" },
		{ "g/../h", "http://a/b/c/h" },
		{ "g;x=1/../y", "http://a/b/c/y" },
		{ "g?y/../x", "http://a/b/c/g?y/../x" },
		{ "http:g", "http:g" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b;
		char *got = NULL;
		size_t len;

		buf_init(&b, 100);
		if (uri_resolve(base, strlen(base), cases[i][0],
			strlen(cases[i][0]), &b))
			got = (char *)buf_take(&b, &len);
		is_str(got, cases[i][1], cases[i][0]);
		free(got);
		buf_clear(&b);
	}
}

static void
test_patterns(void)
{
	static const struct {
		const char *pattern; /* as in JSON */
		const char *text;
		int match; /* -1: the pattern is refused */
	} cases[] = {
		{ "b", "abc", 1 },
		{ "^b", "abc", 0 },
		{ "c$", "abc\\n", 0 },
		{ "a.c", "a\\u2028c", 0 },
		{ "a.c", "a\\ud83d\\ude00c", 1 },
		{ "^\\\\d$", "\\u0663", 0 },
		{ "^\\\\w$", "\\u00e9", 0 },
		{ "^\\\\W$", "\\u00e9", 1 },
		{ "^\\\\s$", "\\ufeff", 1 },
		{ "^[\\\\s]$", "\\u2003", 1 },
		{ "^\\\\S$", "\\u00a0", 0 },
		{ "^[\\\\s\\\\S]$", "\\n", 1 },
		{ "^[^\\\\S]$", "x", 0 },
		{ "^[]$", "", 0 },
		{ "^[^]$", "\\n", 1 },
		{ "^[a\\\\-z]$", "b", 0 },
		{ "^[a-c]$", "b", 1 },
		{ "^[\\\\w-.]+$", "a-.b", 1 },
		{ "^[[:alpha:]]$", ":]", 1 },
		{ "^[a-]$", "-", 1 },
		{ "^\\\\u{1F600}$", "\\ud83d\\ude00", 1 },
		{ "^\\\\ud83d\\\\ude00$", "\\ud83d\\ude00", 1 },
		{ "^\\\\x41\\\\cJ\\\\0$", "A\\n\\u0000", 1 },
		{ "^[\\\\b]$", "\\b", 1 },
		{ "\\\\bx\\\\b", "a x b", 1 },
		{ "^\\\\p{Letter}+$", "\\u00e9\\u4e2d", 1 },
		{ "^\\\\p{gc=Lu}$", "a", 0 },
		{ "^\\\\P{L}$", "7", 1 },
		{ "^(?<year>\\\\d{4})-(?:\\\\d\\\\d)$", "2024-01", 1 },
		{ "^(?=a)(?!b)a$", "a", 1 },
		{ "(?<=a)b", "ab", 1 },
		{ "^a{2,3}?$", "aaa", 1 },
		{ "^x{y}$", "x{y}", 1 },
		{ "^a{,3}$", "a{,3}", 1 },
		{ "", "anything", 1 },
		{ "\\\\/\\\\-\\\\.", "/-.", 1 },
		{ "a++", "a", -1 },
		{ "a**", "a", -1 },
		{ "^*", "a", -1 },
		{ "(?i)a", "a", -1 },
		{ "(?>a)", "a", -1 },
		{ "(*UTF)a", "a", -1 },
		{ "\\\\Aa", "a", -1 },
		{ "a\\\\Z", "a", -1 },
		{ "\\\\Qa\\\\E", "a", -1 },
		{ "\\\\1", "a", -1 },
		{ "\\\\k<a>", "a", -1 },
		{ "\\\\p{Greek}", "a", -1 },
		{ "\\\\ud800", "a", -1 },
		{ "(a", "a", -1 },
		{ "a)", "a", -1 },
		{ "[a", "a", -1 },
		{ "[z-a]", "a", -1 },
		{ "a\\\\", "a", -1 },
		{ "a{3,2}", "a", -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char schema[200], value[200];
		struct schema *s;
		struct json_doc *doc;
		int got = -1;

		snprintf(schema, sizeof(schema), "{\"pattern\":\"%s\"}",
		    cases[i].pattern);
		snprintf(value, sizeof(value), "\"%s\"", cases[i].text);
		s = compile_text(schema, SCHEMA_2020_12, NULL);
		doc = parse(value, 0);
		if (s != NULL && doc != NULL)
			got = schema_validate(s, json_root(doc), NULL);
		is_int(got, cases[i].match, cases[i].pattern);
		schema_free(&s);
		json_doc_free(&doc);
	}
}

static const char *
name_of(struct json_val v)
{
	static char text[200];

	if (!json_str_copy(json_obj_get(v, "description"), text, sizeof(text)))
		text[0] = '\0';
	return text;
}

static void
run_group(struct json_val group, enum schema_dialect dialect, const char *file,
    struct tally *t)
{
	struct json_iter it = json_iter(json_obj_get(group, "tests"));
	struct schema_error e = { 0 };
	struct schema *s = NULL;

	schema_compile(json_obj_get(group, "schema"), dialect, &s, &e);
	if (s == NULL && getenv("VERBOSE") != NULL)
		printf("# %s: %s: %s: %s\n", file, name_of(group), e.pointer,
		    e.message);
	while (json_iter_next(&it)) {
		bool want = false, got;

		t->cases++;
		if (s == NULL) {
			t->refused++;
			continue;
		}
		e.kind = SCHEMA_ERROR_NONE;
		json_get_bool(json_obj_get(it.val, "valid"), &want);
		got = schema_validate(s, json_obj_get(it.val, "data"), &e);
		if (!got && e.kind != SCHEMA_ERROR_MISMATCH) {
			t->refused++;
		} else if (got == want) {
			t->decided++;
		} else {
			t->wrong++;
			printf("# wrong: %s: %s", file, name_of(group));
			printf(": %s (%s)\n", name_of(it.val), e.message);
		}
	}
	schema_free(&s);
}

static bool
is_core(const char *file)
{
	/* Wholly about keywords that are refused. */
	static const char *const other[] = { "anchor.json", "definitions.json",
		"defs.json", "dynamicRef.json", "infinite-loop-detection.json",
		"refRemote.json", "unevaluatedItems.json",
		"unevaluatedProperties.json", "vocabulary.json" };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (strcmp(file, other[i]) == 0)
			return false;
	return true;
}

static void
run_draft(const char *draft, enum schema_dialect dialect, int want_cases)
{
	char below[200];
	const char *dir;
	struct dirent **names = NULL;
	struct tally core = { 0 }, rest = { 0 };
	int n;

	snprintf(below, sizeof(below), "json-schema/tests/%s", draft);
	dir = vectors_dir(below, draft);
	if (dir == NULL)
		return;
	n = scandir(dir, &names, json_only, alphasort);
	for (int i = 0; i < n; i++) {
		const char *file = names[i]->d_name;
		struct json_doc *doc = NULL;
		struct json_iter it;
		size_t len;
		uint8_t *bytes = read_file(dir, file, &len);

		json_parse(bytes, len, NULL, 0, &doc, NULL);
		for (it = json_iter(json_root(doc)); json_iter_next(&it);)
			run_group(it.val, dialect, file,
			    is_core(file) ? &core : &rest);
		json_doc_free(&doc);
		free(bytes);
		free(names[i]);
	}
	free(names);
	printf("# %s core: %d cases, %d right, %d refused, %d wrong\n", draft,
	    core.cases, core.decided, core.refused, core.wrong);
	printf("# %s rest: %d cases, %d right, %d refused, %d wrong\n", draft,
	    rest.cases, rest.decided, rest.refused, rest.wrong);
	is_int(core.cases + rest.cases, want_cases, "all required cases");
	is_int(core.wrong + rest.wrong, 0, "none is decided wrongly");
	ok(core.decided * 100 >= core.cases * 98,
	    "%s: at least 98 %% of the core are decided", draft);
}

/* Optional cases may be refused or decided otherwise only where the suite asks
 * for more than annotations; nothing about patterns and numbers may be. */
static void
test_optional(void)
{
	static const char *const files[] = { "ecmascript-regex.json",
		"non-bmp-regex.json", "bignum.json", "float-overflow.json" };
	const char *dir =
	    vectors_dir("json-schema/tests/draft2020-12/optional", "optional");
	struct tally t = { 0 };

	for (size_t i = 0; dir != NULL && i < 4; i++) {
		struct json_doc *doc = NULL;
		struct json_iter it;
		size_t len;
		uint8_t *bytes = read_file(dir, files[i], &len);

		if (bytes != NULL)
			json_parse(bytes, len, NULL, 0, &doc, NULL);
		for (it = json_iter(json_root(doc)); json_iter_next(&it);)
			run_group(it.val, SCHEMA_2020_12, files[i], &t);
		json_doc_free(&doc);
		free(bytes);
	}
	if (dir != NULL)
		ok(t.wrong == 0 && t.cases > 0,
		    "optional: %d cases, %d right, %d refused, %d wrong",
		    t.cases, t.decided, t.refused, t.wrong);
}

/* Damaged schemas must be refused or work, whatever is checked with them. */
static void
test_damage(void)
{
	static const char text[] =
	    "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/x\"}"
	    ",\"b\":{\"pattern\":\"^[a-z]+(x|y){1,3}$\",\"minLength\":2}},"
	    "\"$defs\":{\"x\":{\"enum\":[1,\"a\",null],\"not\":{}}},"
	    "\"items\":[{},{\"uniqueItems\":true}],\"required\":[\"a\"],"
	    "\"anyOf\":[{\"minimum\":1},{\"oneOf\":[true,false]}],"
	    "\"patternProperties\":{\"^a\":{\"multipleOf\":0.5}}}";
	struct json_doc *value =
	    parse("{\"a\":1,\"b\":\"abcx\",\"c\":[1,1]}", 0);
	uint64_t seed = 3;
	int compiled = 0, valid = 0;

	for (int i = 0; i < 20000; i++) {
		char *hurt = strdup(text);
		struct schema_error e = { 0 };
		struct schema *s;

		for (uint32_t k = random_next(&seed) % 3 + 1; k > 0; k--)
			hurt[random_next(&seed) % (sizeof(text) - 1)] =
			    "{}[]\",:$ax#/01.-()+*^\\"[random_next(&seed) % 23];
		s = compile_text(hurt, SCHEMA_2020_12, &e);
		if (s != NULL) {
			compiled++;
			valid += schema_validate(s, json_root(value), &e);
		}
		schema_free(&s);
		free(hurt);
	}
	json_doc_free(&value);
	ok(compiled > 100 && valid < compiled,
	    "20,000 damaged schemas: %d compile, %d accept", compiled, valid);
}

/* The value with every part that is secret written as *. */
static void
show_marks(struct json_val v, const uint8_t *marks, struct buf *b)
{
	const uint8_t *raw;
	struct json_iter it;
	size_t len;

	if (json_type_of(v) < JSON_ARRAY || marks[v.at] != 0) {
		json_raw(v, &raw, &len);
		buf_add(b, marks[v.at] ? "*" : (const char *)raw,
		    marks[v.at] ? 1 : len);
		return;
	}
	buf_add_str(b, "(");
	for (it = json_iter(v); json_iter_next(&it);)
		show_marks(it.val, marks, b);
	buf_add_str(b, ")");
}

static void
expect_secrets(const char *schema, const char *value, const char *want)
{
	struct schema *s = compile_text(schema, SCHEMA_2020_12, NULL);
	struct json_doc *doc = parse(value, JSON_DUP_ERROR);
	uint8_t *marks = NULL;
	struct buf b;

	buf_init(&b, 1000);
	if (schema_find_secrets(s, json_root(doc), &marks))
		show_marks(json_root(doc), marks, &b);
	buf_add(&b, "", 1);
	is_str((const char *)b.data, want, schema);
	free(marks);
	buf_clear(&b);
	schema_free(&s);
	json_doc_free(&doc);
}

#define W "{\"writeOnly\":true}"

static void
test_secrets(void)
{
	static const char login[] =
	    "{\"properties\":{\"user\":{},\"password\":{\"type\":\"string\","
	    "\"minLength\":8,\"writeOnly\":true},\"pin\":{\"type\":"
	    "\"integer\",\"maximum\":9999,\"writeOnly\":true}},"
	    "\"additionalProperties\":false}";

	expect_secrets(login, "{\"user\":1,\"password\":\"x\"}", "(1*)");
	expect_secrets("{\"properties\":{\"a\":" W "}}",
	    "{\"a\":{\"b\":[1,2]},\"c\":3}", "(*3)");
	expect_secrets(W, "[1]", "*");
	expect_secrets("{\"writeOnly\":false}", "[1]", "(1)");
	expect_secrets("{\"items\":" W "}", "[1,2]", "(**)");
	expect_secrets("{\"prefixItems\":[true," W "]}", "[1,2,3]", "(1*3)");
	expect_secrets("{\"prefixItems\":[true],\"contains\":{\"properties\":"
		       "{\"a\":" W "}}}",
	    "[1,{\"a\":2}]", "(1(*))");
	expect_secrets("{\"patternProperties\":{\"^p\":" W "}}",
	    "{\"pw\":1,\"q\":2}", "(*2)");
	expect_secrets("{\"properties\":{\"a\":true},\"patternProperties\":"
		       "{\"^b\":true},\"additionalProperties\":" W "}",
	    "{\"a\":1,\"b\":2,\"c\":3}", "(12*)");
	expect_secrets("{\"$ref\":\"#/$defs/s\",\"$defs\":{\"s\":"
		       "{\"properties\":{\"k\":" W ",\"n\":{\"$ref\":"
		       "\"#/$defs/s\"}}}}}",
	    "{\"n\":{\"n\":{\"k\":1}},\"x\":2}", "(((*))2)");
	expect_secrets("{\"anyOf\":[{\"properties\":{\"a\":" W "}},"
		       "{\"type\":\"object\"}]}",
	    "{\"a\":1}", "(*)");
	expect_secrets("{\"oneOf\":[true],\"allOf\":[{\"properties\":"
		       "{\"a\":" W "}}]}",
	    "{\"a\":1}", "(*)");
	expect_secrets("{\"if\":true,\"then\":{\"properties\":{\"a\":" W
		       "}},\"else\":{\"properties\":{\"b\":" W "}}}",
	    "{\"a\":1,\"b\":2}", "(**)");
	expect_secrets("{\"dependentSchemas\":{\"a\":{\"properties\":{\"b\":" W
		       "}}}}",
	    "{\"a\":1,\"b\":2}", "(1*)");
	expect_secrets("{\"$ref\":\"#\"}", "1", "");
	expect_secrets("{\"items\":{\"secretRef\":true}}",
	    "[1,2,{\"secretRef\":\"x\"},{\"secretRef\":1}]", "(12*(1))");
	expect_refused("{\"writeOnly\":1}", SCHEMA_ERROR_MALFORMED,
	    "/writeOnly: \"writeOnly\" must be a boolean");
	expect(login, "{\"password\":\"geheim\"}",
	    "/password: the value is secret, and not as the schema wants it");
	expect(login, "{\"pin\":12345}",
	    "/pin: the value is secret, and not as the schema wants it");
	expect(login, "{\"pin\":12.5}",
	    "/pin: the value is secret, and not as the schema wants it");
	expect(login, "{\"pasword\":\"geheim\"}",
	    "unknown field \"pasword\" (did you mean \"password\"?)");
	expect("{\"properties\":{\"a\":{\"writeOnly\":true,\"properties\":{"
	       "\"b\":true},\"additionalProperties\":false}}}",
	    "{\"a\":{\"geheim\":1}}",
	    "/a: the value is secret, and not as the schema wants it");
	expect("{\"anyOf\":[{\"type\":\"null\"},{\"properties\":{\"a\":{"
	       "\"writeOnly\":true,\"maximum\":1}}}]}",
	    "{\"a\":2}",
	    "/a: the value is secret, and not as the schema wants it");
}

int
main(void)
{
	test_secrets();
	test_messages();
	test_refusals();
	test_budgets();
	test_uris();
	test_patterns();
	run_draft("draft2020-12", SCHEMA_2020_12, 1299);
	run_draft("draft7", SCHEMA_DRAFT_07, 927);
	test_optional();
	test_damage();
	return done_testing();
}
