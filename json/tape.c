/*
 * The tokenizer. One loop over states; what is open is kept in arrays of
 * JSON_DEPTH_MAX, so that hostile nesting costs no stack.
 */
#include <stdlib.h>
#include <string.h>

#include "json/number.h"
#include "json/scan.h"
#include "json/tape_int.h"
#include "json/text.h"

enum state {
	STATE_VALUE,
	STATE_FIRST, /* behind '[': a value or ']' */
	STATE_KEY,
	STATE_FIRST_KEY, /* behind '{': a key or '}' */
	STATE_AFTER,     /* behind a value */
	STATE_END,
	STATE_FAIL,
	STATE__MAX
};

struct parser {
	struct json_doc *doc;
	const uint8_t *p;
	const uint8_t *end;
	unsigned flags;
	unsigned max_depth;
	size_t cap;
	enum json_error_kind kind;
	const char *why;
	unsigned depth;
	uint32_t open[JSON_DEPTH_MAX];
	uint32_t count[JSON_DEPTH_MAX];
};

/* So little unused room is not given back: it would cost more. */
#define KEPT_TOKENS 64

/* Objects up to this size are searched for equal keys without allocating. */
#define SMALL_OBJECT 16

static enum state
fail(struct parser *ps, enum json_error_kind kind, const char *why)
{
	ps->kind = kind;
	ps->why = why;
	return STATE_FAIL;
}

static enum state
fail_syntax(struct parser *ps, const char *why)
{
	if (ps->p >= ps->end)
		why = "unexpected end of text";
	return fail(ps, JSON_ERROR_SYNTAX, why);
}

/* The first guess spares a text as browsers write it all further ones. */
static bool
grow(struct parser *ps)
{
	size_t cap = ps->cap == 0 ? (size_t)(ps->end - ps->p) / 8 + 16
				  : ps->cap + ps->cap / 2;
	uint64_t *tape = reallocarray(ps->doc->tape, cap, sizeof(*tape));

	if (tape == NULL) {
		fail(ps, JSON_ERROR_MEMORY, "out of memory");
		return false;
	}
	ps->doc->tape = tape;
	ps->cap = cap;
	return true;
}

static inline bool
push(struct parser *ps, uint64_t token)
{
	if (ps->doc->ntokens == ps->cap && !grow(ps))
		return false;
	ps->doc->tape[ps->doc->ntokens++] = token;
	return true;
}

static inline void
skip_space(struct parser *ps)
{
	while (ps->p < ps->end &&
	    (*ps->p == ' ' || *ps->p == '\n' || *ps->p == '\r' ||
		*ps->p == '\t'))
		ps->p++;
}

static inline size_t
offset(const struct parser *ps, const uint8_t *p)
{
	return (size_t)(p - ps->doc->bytes);
}

static bool
is_hex(uint8_t c)
{
	return (c >= '0' && c <= '9') ||
	    ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* p is at a backslash. */
static bool
check_escape(struct parser *ps)
{
	ps->p++;
	if (ps->p == ps->end ||
	    memchr("\"\\/bfnrtu", *ps->p, sizeof("\"\\/bfnrtu") - 1) == NULL) {
		fail_syntax(ps, "not an escape sequence");
		return false;
	}
	if (*ps->p++ != 'u')
		return true;
	for (int i = 0; i < 4; i++, ps->p++) {
		if (ps->p == ps->end || !is_hex(*ps->p)) {
			fail_syntax(ps, "\\u needs four hexadecimal digits");
			return false;
		}
	}
	return true;
}

/* p is behind the opening quote, and is left behind the closing one. */
static inline bool
scan_string(struct parser *ps)
{
	const uint8_t *start = ps->p;
	unsigned flag = 0;
	size_t n;

	for (;;) {
		ps->p = json_scan_plain(ps->p, ps->end);
		if (ps->p == ps->end) {
			fail_syntax(ps, NULL);
			return false;
		}
		if (*ps->p == '"')
			break;
		if (*ps->p == '\\') {
			flag = TOKEN_CODED;
			if (!check_escape(ps))
				return false;
		} else if (*ps->p < 0x20) {
			fail_syntax(ps, "control character in a string");
			return false;
		} else {
			if (!json_utf8_step(ps->p, ps->end, &n)) {
				flag = TOKEN_CODED;
				if (!(ps->flags & JSON_REPAIR_UTF8)) {
					fail_syntax(ps, "not UTF-8");
					return false;
				}
			}
			ps->p += n;
		}
	}
	n = (size_t)(ps->p++ - start);
	return push(ps, token_make(TOKEN_STRING, flag, offset(ps, start), n));
}

static enum state
scan_number(struct parser *ps)
{
	const uint8_t *bad;
	size_t n = json_number_scan(ps->p, ps->end, &bad);

	if (n == 0) {
		ps->p = bad;
		return fail_syntax(ps, "a digit is missing");
	}
	if (!push(ps, token_make(TOKEN_NUMBER, 0, offset(ps, ps->p), n)))
		return STATE_FAIL;
	ps->p += n;
	return STATE_AFTER;
}

static enum state
scan_word(struct parser *ps)
{
	static const struct {
		enum token_type type;
		const char *text;
		size_t len;
	} words[] = { { TOKEN_NULL, "null", 4 }, { TOKEN_TRUE, "true", 4 },
		{ TOKEN_FALSE, "false", 5 } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = words[i].len;

		if ((size_t)(ps->end - ps->p) < n ||
		    memcmp(ps->p, words[i].text, n) != 0)
			continue;
		if (!push(
			ps, token_make(words[i].type, 0, offset(ps, ps->p), n)))
			return STATE_FAIL;
		ps->p += n;
		return STATE_AFTER;
	}
	return fail_syntax(ps, "expected a value");
}

static enum state
open_container(struct parser *ps, enum token_type type)
{
	if (ps->depth == ps->max_depth)
		return fail(ps, JSON_ERROR_LIMIT, "nested too deep");
	ps->open[ps->depth] = ps->doc->ntokens;
	ps->count[ps->depth] = 0;
	if (!push(ps, token_make(type, 0, offset(ps, ps->p), 0)))
		return STATE_FAIL;
	ps->depth++;
	ps->p++;
	return type == TOKEN_ARRAY ? STATE_FIRST : STATE_FIRST_KEY;
}

int
tape_str_cmp(const struct json_doc *doc, uint32_t a, uint32_t b)
{
	uint64_t ta = doc->tape[a], tb = doc->tape[b];
	const uint8_t *pa = doc->bytes + token_off(ta);
	const uint8_t *pb = doc->bytes + token_off(tb);
	uint32_t na = token_aux(ta), nb = token_aux(tb);
	int order;

	if (token_flag(ta) || token_flag(tb))
		return json_text_cmp(pa, na, pb, nb);
	order = memcmp(pa, pb, na < nb ? na : nb);
	return order != 0 ? order : (na > nb) - (na < nb);
}

static int
compare_keys(const void *a, const void *b, void *doc)
{
	uint32_t ka = *(const uint32_t *)a, kb = *(const uint32_t *)b;
	int order = tape_str_cmp(doc, ka, kb);

	return order != 0 ? order : (ka > kb) - (ka < kb);
}

void
tape_sort_keys(const struct json_doc *doc, uint32_t *keys, size_t n)
{
	union {
		const struct json_doc *in;
		void *out;
	} arg = { .in = doc };

	qsort_r(keys, n, sizeof(*keys), compare_keys, arg.out);
}

/* Refuses equal keys in the object at open, whose close is not pushed yet. */
static bool
check_unique(struct parser *ps, uint32_t open, uint32_t n)
{
	struct json_doc *doc = ps->doc;
	uint32_t small[SMALL_OBJECT], *big = NULL, *keys = small;
	uint32_t at = open + 1, twice = 0;

	if (n < 2)
		return true;
	if (n > SMALL_OBJECT)
		keys = big = reallocarray(NULL, n, sizeof(*keys));
	if (keys == NULL) {
		fail(ps, JSON_ERROR_MEMORY, "out of memory");
		return false;
	}
	for (uint32_t i = 0; i < n; i++) {
		keys[i] = at;
		at = tape_skip(doc->tape, at + 1);
	}
	tape_sort_keys(doc, keys, n);
	for (uint32_t i = 1; i < n && twice == 0; i++)
		if (tape_str_cmp(doc, keys[i - 1], keys[i]) == 0)
			twice = keys[i];
	free(big);
	if (twice == 0)
		return true;
	ps->p = doc->bytes + token_off(doc->tape[twice]) - 1;
	fail(ps, JSON_ERROR_DUPLICATE, "the object has this key already");
	return false;
}

static enum state
close_container(struct parser *ps)
{
	struct json_doc *doc = ps->doc;
	uint32_t open = ps->open[ps->depth - 1];
	uint32_t n = ps->count[ps->depth - 1];
	enum token_type type = token_type(doc->tape[open]);

	if (type == TOKEN_OBJECT && (ps->flags & JSON_DUP_ERROR) &&
	    !check_unique(ps, open, n))
		return STATE_FAIL;
	doc->tape[open] |= doc->ntokens;
	if (!push(ps, token_make(TOKEN_CLOSE, 0, offset(ps, ps->p), n)))
		return STATE_FAIL;
	ps->depth--;
	ps->p++;
	return STATE_AFTER;
}

static enum state
step_value(struct parser *ps)
{
	if (ps->p == ps->end)
		return fail_syntax(ps, NULL);
	if (ps->depth != 0)
		ps->count[ps->depth - 1]++;
	switch (*ps->p) {
	case '"':
		ps->p++;
		return scan_string(ps) ? STATE_AFTER : STATE_FAIL;
	case '{':
		return open_container(ps, TOKEN_OBJECT);
	case '[':
		return open_container(ps, TOKEN_ARRAY);
	default:
		if (*ps->p == '-' || (*ps->p >= '0' && *ps->p <= '9'))
			return scan_number(ps);
		return scan_word(ps);
	}
}

static inline enum state
step_key(struct parser *ps)
{
	if (ps->p == ps->end || *ps->p != '"')
		return fail_syntax(ps, "expected a key in double quotes");
	ps->p++;
	if (!scan_string(ps))
		return STATE_FAIL;
	skip_space(ps);
	if (ps->p == ps->end || *ps->p != ':')
		return fail_syntax(ps, "expected ':'");
	ps->p++;
	return STATE_VALUE;
}

static inline enum state
step_after(struct parser *ps)
{
	bool array;

	if (ps->depth == 0)
		return ps->p == ps->end
		    ? STATE_END
		    : fail_syntax(ps, "something follows the value");
	array =
	    token_type(ps->doc->tape[ps->open[ps->depth - 1]]) == TOKEN_ARRAY;
	if (ps->p < ps->end && *ps->p == ',') {
		ps->p++;
		return array ? STATE_VALUE : STATE_KEY;
	}
	if (ps->p < ps->end && *ps->p == (array ? ']' : '}'))
		return close_container(ps);
	return fail_syntax(
	    ps, array ? "expected ',' or ']'" : "expected ',' or '}'");
}

static inline enum state
step(struct parser *ps, enum state state)
{
	skip_space(ps);
	switch (state) {
	case STATE_FIRST:
		if (ps->p < ps->end && *ps->p == ']')
			return close_container(ps);
		return step_value(ps);
	case STATE_VALUE:
		return step_value(ps);
	case STATE_FIRST_KEY:
		if (ps->p < ps->end && *ps->p == '}')
			return close_container(ps);
		return step_key(ps);
	case STATE_KEY:
		return step_key(ps);
	default:
		return step_after(ps);
	}
}

static void
describe(const struct parser *ps, struct json_error *ret)
{
	const uint8_t *p = ps->doc->bytes;

	memset(ret, 0, sizeof(*ret));
	ret->kind = ps->kind;
	ret->message = ps->why;
	ret->offset = offset(ps, ps->p);
	ret->line = 1;
	ret->column = 1;
	for (; p < ps->p; p++) {
		if (*p == '\n') {
			ret->line++;
			ret->column = 1;
		} else if ((*p & 0xc0) != 0x80) {
			ret->column++;
		}
	}
}

static bool
take_bytes(struct parser *ps, const uint8_t *bytes, size_t len)
{
	struct json_doc *doc = ps->doc;

	if (!(ps->flags & JSON_BORROW) && len != 0) {
		doc->copy = malloc(len);
		if (doc->copy == NULL) {
			fail(ps, JSON_ERROR_MEMORY, "out of memory");
			return false;
		}
		memcpy(doc->copy, bytes, len);
		bytes = doc->copy;
	}
	doc->bytes = ps->p = bytes;
	doc->len = len;
	ps->end = bytes + len;
	return true;
}

/* Fills the document; false leaves the reason in the parser. */
static bool
run(struct parser *ps, const uint8_t *bytes, size_t len, size_t max_bytes)
{
	struct json_doc *doc = ps->doc;
	enum state state = STATE_VALUE;
	uint64_t *tape;

	if (len == 0)
		bytes = (const uint8_t *)"";
	doc->bytes = ps->p = bytes;
	if (len > max_bytes) {
		fail(ps, JSON_ERROR_LIMIT, "longer than allowed");
		return false;
	}
	if (!take_bytes(ps, bytes, len))
		return false;
	while (state < STATE_END)
		state = step(ps, state);
	if (state == STATE_FAIL)
		return false;
	if (ps->cap - doc->ntokens < KEPT_TOKENS)
		return true;
	tape = reallocarray(doc->tape, doc->ntokens, sizeof(*tape));
	if (tape != NULL)
		doc->tape = tape;
	return true;
}

bool
json_parse(const uint8_t *bytes, size_t len, const struct json_limits *limits,
    unsigned flags, struct json_doc **ret, struct json_error *ret_error)
{
	struct parser ps;
	size_t max_bytes = limits == NULL ? 0 : limits->max_bytes;

	/* The arrays of open containers need no clearing. */
	memset(&ps, 0, offsetof(struct parser, open));
	ps.flags = flags;
	ps.max_depth = limits == NULL ? 0 : limits->max_depth;
	if (ps.max_depth == 0)
		ps.max_depth = JSON_DEPTH_DEFAULT;
	if (ps.max_depth > JSON_DEPTH_MAX)
		ps.max_depth = JSON_DEPTH_MAX;
	if (max_bytes == 0)
		max_bytes = JSON_BYTES_DEFAULT;
	if (max_bytes > JSON_BYTES_MAX)
		max_bytes = JSON_BYTES_MAX;
	ps.doc = calloc(1, sizeof(*ps.doc));
	if (ps.doc == NULL) {
		if (ret_error != NULL)
			*ret_error = (struct json_error){ JSON_ERROR_MEMORY, 0,
				1, 1, "out of memory" };
		return false;
	}
	ps.doc->magic = JSON_DOC_MAGIC;
	ps.doc->unique = (flags & JSON_DUP_ERROR) != 0;
	ps.doc->repaired = (flags & JSON_REPAIR_UTF8) != 0;
	if (!run(&ps, bytes, len, max_bytes)) {
		if (ret_error != NULL)
			describe(&ps, ret_error);
		json_doc_free(&ps.doc);
		return false;
	}
	*ret = ps.doc;
	return true;
}
