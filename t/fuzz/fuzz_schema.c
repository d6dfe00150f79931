/*
 * JSON Schema: compiling and checking. The input is a text with the members
 * schema and value; anything else is taken as choices of which such a text is
 * made, so that the fuzzer need not find the keywords one by one. The verdict
 * must not depend on the spelling of schema or value, nor on whether somebody
 * wants to know the mistake.
 */
#include "common/panic.h"
#include "json/canon.h"
#include "json/schema_int.h"
#include "json/writer.h"
#include "t/fuzz/fuzz.h"
#include "t/fuzz/json_plain.h"
#include "t/unit/json_support.h"

#define TEXT_MAX ((size_t)1 << 20)
#define NEST_MAX 6

struct gen {
	const uint8_t *p;
	const uint8_t *end;
	struct json_writer w;
	unsigned depth;
};

static void put_schema(struct gen *);
static void put_value(struct gen *);

static unsigned
pick(struct gen *g, unsigned below)
{
	return g->p == g->end ? 0 : *g->p++ % below;
}

static void
put_word(struct gen *g)
{
	static const char *const words[] = { "a", "b", "ab", "", "1",
		"\xc3\xa9", "a b", "/~", "string", "c" };

	json_write_str(&g->w, words[pick(g, 10)]);
}

static void
put_key(struct gen *g, unsigned i)
{
	static const char *const keys[] = { "a", "b", "ab", "c", "d" };

	json_write_key(&g->w, keys[i % 5]);
}

static void
put_number(struct gen *g)
{
	static const char *const numbers[] = { "0", "1", "2", "-1", "0.5",
		"1.0", "3", "1e2", "1e400", "0.1", "9007199254740993",
		"-9223372036854775808", "18446744073709551616", "1e-7", "10" };
	const char *text = numbers[pick(g, 15)];

	json_write_raw(&g->w, text, strlen(text));
}

static void
put_value(struct gen *g)
{
	unsigned kind = pick(g, g->depth > NEST_MAX ? 5 : 9), n;

	g->depth++;
	if (kind == 0)
		json_write_null(&g->w);
	else if (kind == 1)
		json_write_bool(&g->w, pick(g, 2) != 0);
	else if (kind == 2 || kind == 3)
		put_number(g);
	else if (kind == 4)
		put_word(g);
	else if (kind < 7) {
		json_write_begin_array(&g->w);
		for (n = pick(g, 5); n > 0; n--)
			put_value(g);
		json_write_end_array(&g->w);
	} else {
		json_write_begin_object(&g->w);
		for (n = pick(g, 5); n > 0; n--) {
			put_key(g, n);
			put_value(g);
		}
		json_write_end_object(&g->w);
	}
	g->depth--;
}

static void
arg_ref(struct gen *g)
{
	static const char *const refs[] = { "#", "#/$defs/a", "#/$defs/b",
		"#/properties/a", "#x", "b", "b#x", "#/items", "#/allOf/0",
		"#/%25", "http://x/b", "#/definitions/a", "../b", "#/a~1~0b" };

	json_write_str(&g->w, refs[pick(g, 14)]);
}

static void
arg_id(struct gen *g)
{
	static const char *const ids[] = { "b", "http://x/b", "http://x/", "#x",
		"http://x/c?d", "../b", "" };

	json_write_str(&g->w, ids[pick(g, 7)]);
}

static void
arg_anchor(struct gen *g)
{
	json_write_str(&g->w, pick(g, 2) != 0 ? "x" : "y");
}

static void
arg_root_only(struct gen *g)
{
	static const char *const dialects[] = {
		"https://json-schema.org/draft/2020-12/schema",
		"http://json-schema.org/draft-07/schema#",
		"http://json-schema.org/draft-04/schema#"
	};

	json_write_str(&g->w, dialects[pick(g, 3)]);
}

static void
put_type(struct gen *g)
{
	static const char *const types[] = { "string", "number", "integer",
		"boolean", "object", "array", "null", "strin" };

	json_write_str(&g->w, types[pick(g, 8)]);
}

static void
arg_type(struct gen *g)
{
	unsigned n = pick(g, 4);

	if (n == 0) {
		put_type(g);
		return;
	}
	json_write_begin_array(&g->w);
	for (; n > 0; n--)
		put_type(g);
	json_write_end_array(&g->w);
}

static void
arg_enum(struct gen *g)
{
	json_write_begin_array(&g->w);
	for (unsigned n = pick(g, 5); n > 0; n--)
		put_value(g);
	json_write_end_array(&g->w);
}

static void
put_pattern(struct gen *g, struct buf *b)
{
	static const char *const pieces[] = { "^", "$", "a", "b*", "[a-c]",
		"\\d", "(?:", "|", ")", "{1,3}", ".", "\\u0061", "\\p{L}",
		"(?=", "[^", "]", "\\w+", "(", "\\1", "+?", "\\b", "\\cA",
		"\\u{1f600}", "-", "\xc3\xa9", "(?<n>", "\\k<n>", "(?!", "\\",
		"*", "\\s", "\\S", "[\\s", "\\t", "\\n", "\\0", "\\xe9", "\\x1",
		"\\ud83d\\ude00", "\\ud83d", "\\u{110000}", "\\p{Lu}", "\\P{N}",
		"\\p", "\\p{Han}", "[", "[]", "[^]", "[z-a]", "(?<=", "(?<1",
		"(?i)", "{", "}", "\\-", "{2}", "{3,1}", "\\B", "\\/", "\\." };

	for (unsigned n = pick(g, 12); n > 0; n--)
		buf_add_str(
		    b, pieces[pick(g, sizeof(pieces) / sizeof(*pieces))]);
}

static void
arg_pattern(struct gen *g)
{
	struct buf b;

	buf_init(&b, 1000);
	put_pattern(g, &b);
	json_write_strn(&g->w, (char *)b.data, b.len);
	buf_clear(&b);
}

static void
arg_count(struct gen *g)
{
	json_write_int64(&g->w, pick(g, 5));
}

static void
arg_bool(struct gen *g)
{
	json_write_bool(&g->w, pick(g, 4) != 0);
}

static void
arg_keys(struct gen *g)
{
	json_write_begin_array(&g->w);
	for (unsigned n = pick(g, 4); n > 0; n--)
		put_word(g);
	json_write_end_array(&g->w);
}

static void
arg_schemas(struct gen *g)
{
	json_write_begin_array(&g->w);
	for (unsigned n = pick(g, 3) + 1; n > 0; n--)
		put_schema(g);
	json_write_end_array(&g->w);
}

static void
arg_items(struct gen *g)
{
	if (pick(g, 3) == 0)
		arg_schemas(g);
	else
		put_schema(g);
}

static void
arg_properties(struct gen *g)
{
	json_write_begin_object(&g->w);
	for (unsigned n = pick(g, 4); n > 0; n--) {
		put_key(g, n - 1);
		put_schema(g);
	}
	json_write_end_object(&g->w);
}

static void
arg_patterns(struct gen *g)
{
	struct buf b;

	json_write_begin_object(&g->w);
	buf_init(&b, 1000);
	put_pattern(g, &b);
	json_write_keyn(&g->w, (char *)b.data, b.len);
	buf_clear(&b);
	put_schema(g);
	json_write_end_object(&g->w);
}

static void
arg_dependent(struct gen *g)
{
	json_write_begin_object(&g->w);
	for (unsigned n = pick(g, 3); n > 0; n--) {
		put_key(g, n);
		if (pick(g, 2) != 0)
			arg_keys(g);
		else
			put_schema(g);
	}
	json_write_end_object(&g->w);
}

#define arg_const      put_value
#define arg_annotation put_value
#define arg_number     put_number
#define arg_multiple   put_number
#define arg_schema     put_schema

static void
put_keyword(struct gen *g, enum op op)
{
	static void (*const args[OP__MAX])(struct gen *) = {
#define K(op, name, dialects, compile, check) [OP_##op] = arg_##compile,
#include "json/keywords.def"
#undef K
	};

	json_write_key(&g->w, schema_keyword_name(op));
	if (pick(g, 32) == 31)
		put_value(g);
	else if (op == OP_ADDITIONAL_PROPERTIES && pick(g, 2) == 0)
		json_write_bool(&g->w, false);
	else
		args[op](g);
}

static void
put_schema(struct gen *g)
{
	bool used[OP__MAX] = { false };

	if (g->depth > NEST_MAX || g->p == g->end || pick(g, 16) == 15) {
		json_write_bool(&g->w, pick(g, 2) == 0);
		return;
	}
	g->depth++;
	json_write_begin_object(&g->w);
	for (unsigned n = pick(g, 6); n > 0; n--) {
		enum op op = (enum op)pick(g, OP__MAX);

		if (used[op])
			continue;
		used[op] = true;
		put_keyword(g, op);
	}
	json_write_end_object(&g->w);
	g->depth--;
}

static struct json_doc *
parse_again(const uint8_t *bytes, size_t len)
{
	struct json_limits limits = { 0, JSON_DEPTH_MAX };
	struct json_doc *doc = NULL;

	ASSERT(json_parse(bytes, len, &limits, JSON_DUP_ERROR, &doc, NULL));
	return doc;
}

static struct json_doc *
canon_doc(struct json_val v)
{
	struct json_doc *doc;
	struct buf b;

	buf_init(&b, 16 << 20);
	ASSERT(json_canon_add(v, &b));
	doc = parse_again(b.data, b.len);
	buf_clear(&b);
	return doc;
}

/* Well-formed text, and a pointer that leads somewhere unless it was cut. */
static void
check_error(const struct schema_error *e, struct json_val root, bool compiling)
{
	size_t n = strlen(e->message), m = strlen(e->pointer);
	char line[64];

	ASSERT(e->kind > SCHEMA_ERROR_NONE && e->kind < SCHEMA_ERROR__MAX);
	ASSERT((e->kind == SCHEMA_ERROR_MISMATCH) != compiling ||
	    e->kind == SCHEMA_ERROR_LIMIT);
	ASSERT(n > 0 && n < sizeof(e->message) && m < sizeof(e->pointer));
	ASSERT(json_plain_utf8((const uint8_t *)e->message, n));
	ASSERT(json_plain_utf8((const uint8_t *)e->pointer, m));
	for (size_t i = 0; i < n; i++)
		ASSERT((unsigned char)e->message[i] >= ' ');
	for (size_t i = 0; i < m; i++)
		ASSERT((unsigned char)e->pointer[i] >= ' ');
	ASSERT(m == 0 || e->pointer[0] == '/');
	schema_error_text(e, line, sizeof(line));
	ASSERT(strlen(line) < sizeof(line));
}

static enum schema_error_kind
verdict(const struct schema *s, struct json_val v)
{
	struct schema_error e = { 0 };
	bool good = schema_validate(s, v, &e);

	if (good)
		return SCHEMA_ERROR_NONE;
	check_error(&e, v, false);
	if (e.kind == SCHEMA_ERROR_MISMATCH)
		ASSERT(!schema_validate(s, v, NULL));
	return e.kind;
}

static void
same_verdict(enum schema_error_kind a, enum schema_error_kind b)
{
	ASSERT(a == b || a == SCHEMA_ERROR_LIMIT || b == SCHEMA_ERROR_LIMIT);
}

/* The document of the schema goes before it is used. */
static struct schema *
compile(struct json_val root, enum schema_dialect dialect)
{
	struct schema_error e = { 0 };
	struct schema *s = NULL;
	const uint8_t *raw;
	size_t len;
	struct json_doc *doc;

	ASSERT(json_raw(root, &raw, &len));
	doc = parse_again(raw, len);
	if (!schema_compile(json_root(doc), dialect, &s, &e)) {
		ASSERT(s == NULL);
		check_error(&e, json_root(doc), true);
	}
	json_doc_free(&doc);
	return s;
}

static void
check_pair(
    struct json_val schema, struct json_val value, enum schema_dialect dialect)
{
	struct schema *s = compile(schema, dialect), *t;
	struct json_doc *doc, *other;
	enum schema_error_kind kind;

	if (s == NULL)
		return;
	kind = verdict(s, value);
	doc = canon_doc(value);
	same_verdict(kind, verdict(s, json_root(doc)));
	other = canon_doc(schema);
	t = compile(json_root(other), dialect);
	/* Numbers may grow beyond the limit when they are written out. */
	if (t != NULL)
		same_verdict(kind, verdict(t, json_root(doc)));
	schema_free(&t);
	schema_free(&s);
	json_doc_free(&doc);
	json_doc_free(&other);
}

static struct json_doc *
make_pair(const uint8_t *bytes, size_t size)
{
	struct gen g = { .p = bytes, .end = bytes + size };
	struct json_doc *doc = NULL;
	struct buf b;

	if (size == 0)
		return NULL;
	buf_init(&b, TEXT_MAX);
	json_writer_init(&g.w, &b);
	json_write_begin_object(&g.w);
	json_write_key(&g.w, "value");
	put_value(&g);
	json_write_key(&g.w, "schema");
	put_schema(&g);
	json_write_end_object(&g.w);
	if (json_writer_finish(&g.w))
		doc = parse_again(b.data, b.len);
	buf_clear(&b);
	return doc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct json_doc *doc = NULL;
	struct json_val schema, value;

	if (!json_parse(bytes, size, NULL, JSON_DUP_ERROR, &doc, NULL))
		doc = make_pair(bytes, size);
	schema = json_obj_get(json_root(doc), "schema");
	value = json_obj_get(json_root(doc), "value");
	if (!json_is_missing(schema) && !json_is_missing(value)) {
		check_pair(schema, value, SCHEMA_2020_12);
		check_pair(schema, value, SCHEMA_DRAFT_07);
	}
	json_doc_free(&doc);
	return 0;
}
