/*
 * Compiling a schema: every place that serves as a schema becomes a node, and
 * the list of nodes is also the list of what is still to be compiled, so that
 * neither nesting nor references recurse.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "json/schema_int.h"
#include "json/tape_int.h"

enum dialects {
	BOTH,
	NEW,
	OLD
};

static const struct {
	const char *name;
	enum dialects dialects;
	schema_compile_fn *compile;
} table[OP__MAX] = {
#define K(op, name, dialects, compile, check) \
	{ name, dialects, schema_compile_##compile },
#include "json/keywords.def"
#undef K
};

const char *
schema_keyword_name(enum op op)
{
	return table[op].name;
}

const struct keyword *
schema_keyword(const struct schema *s, const struct node *node, enum op op)
{
	for (size_t i = 0; i < node->count; i++)
		if (s->keywords[node->first + i].op == op)
			return &s->keywords[node->first + i];
	return NULL;
}

bool
schema_fail(struct schema *s, enum schema_error_kind kind, struct json_val v,
    const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	if (s->failed)
		return false;
	s->failed = true;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	if ((size_t)n >= sizeof(text))
		n = sizeof(text) - 1;
	if (s->error != NULL)
		schema_set_error(
		    s->error, kind, json_root(s->doc), v.at, text, (size_t)n);
	return false;
}

size_t
schema_reserve(struct schema *s, size_t n)
{
	size_t first = s->nparts;

	ASSERT(n <= s->room - s->nparts);
	s->nparts += n;
	return first;
}

bool
schema_node(struct schema *s, struct json_val v, uint32_t *ret)
{
	enum json_type type = json_type_of(v);

	if (type != JSON_OBJECT && type != JSON_BOOL)
		return schema_fail(s, SCHEMA_ERROR_MALFORMED, v,
		    "a schema is an object or a boolean, not %s",
		    json_type_name(type));
	if (s->node_at[v.at] == NONE) {
		ASSERT(s->nnodes < s->room);
		s->nodes[s->nnodes] = (struct node){ .at = v.at };
		s->node_at[v.at] = (uint32_t)s->nnodes++;
	}
	*ret = s->node_at[v.at];
	return true;
}

static bool
compile_keyword(struct schema *s, struct json_val key, struct json_val arg,
    struct keyword *k)
{
	char name[SCHEMA_QUOTE];
	enum op op = 0;

	while (op < OP__MAX && !json_str_eq(key, table[op].name))
		op++;
	if (op == OP__MAX || (table[op].dialects == NEW && s->old) ||
	    (table[op].dialects == OLD && s->new))
		return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, key,
		    "unsupported keyword %s", schema_quote(key, name));
	*k = (struct keyword){ .op = op, .arg = arg, .node = NONE };
	return table[op].compile(s, k);
}

static int
compare_keywords(const void *a, const void *b)
{
	const struct keyword *ka = a, *kb = b;

	return (ka->op > kb->op) - (ka->op < kb->op);
}

static bool
compile_node(struct schema *s, size_t i)
{
	struct json_val v = { s->doc, s->nodes[i].at };
	struct json_val ref = json_obj_get(v, "$ref");
	struct node *node = &s->nodes[i];
	struct json_iter it;
	/* In draft-07 whatever stands beside a reference is ignored. */
	bool only_ref = s->old && !json_is_missing(ref);

	s->current = node->at;
	node->fixed = json_get_bool(v, &node->verdict);
	node->first = s->nkeywords;
	for (it = json_iter(v); json_iter_next(&it);) {
		if (only_ref && it.val.at != ref.at)
			continue;
		ASSERT(s->nkeywords < s->room);
		node->count++;
		if (!compile_keyword(
			s, it.key, it.val, &s->keywords[s->nkeywords++]))
			return false;
	}
	if (node->count > 1)
		qsort(s->keywords + node->first, node->count,
		    sizeof(*s->keywords), compare_keywords);
	return true;
}

static bool
read_dialect(struct schema *s, enum schema_dialect dialect)
{
	static const struct {
		const char *uri;
		bool old;
	} uris[] = {
		{ "https://json-schema.org/draft/2020-12/schema", false },
		{ "https://json-schema.org/draft/2020-12/schema#", false },
		{ "http://json-schema.org/draft-07/schema#", true },
		{ "http://json-schema.org/draft-07/schema", true },
	};
	struct json_val v = json_obj_get(json_root(s->doc), "$schema");

	s->old = dialect == SCHEMA_DRAFT_07;
	if (json_is_missing(v))
		return true;
	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++)
		if (json_str_eq(v, uris[i].uri)) {
			s->old = uris[i].old;
			s->new = !uris[i].old;
			return true;
		}
	return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, v,
	    "only 2020-12 and draft-07 are supported");
}

/* Copies and parses the schema's own text. */
static bool
take_text(struct schema *s, struct json_val root)
{
	struct json_limits limits = { SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX };
	struct schema_error e = { 0 };
	struct json_error je;
	const uint8_t *raw;
	size_t len;

	if (!json_raw(root, &raw, &len)) {
		s->failed = true;
		e.kind = SCHEMA_ERROR_MALFORMED;
		snprintf(e.message, sizeof(e.message), "there is no schema");
	} else if (!json_parse(
		       raw, len, &limits, JSON_DUP_ERROR, &s->doc, &je)) {
		s->failed = true;
		e.kind = je.kind == JSON_ERROR_MEMORY ? SCHEMA_ERROR_MEMORY
		    : je.kind == JSON_ERROR_LIMIT     ? SCHEMA_ERROR_LIMIT
						      : SCHEMA_ERROR_MALFORMED;
		snprintf(e.message, sizeof(e.message),
		    "line %u, column %u of the schema: %s", je.line, je.column,
		    je.message);
	}
	if (s->failed && s->error != NULL)
		*s->error = e;
	return !s->failed;
}

/*
 * A token of the text is at most once a node, once a part, and once the key of
 * a keyword: so many of each are enough.
 */
static bool
make_room(struct schema *s)
{
	s->room = s->doc->ntokens;
	s->nodes = calloc(s->room, sizeof(*s->nodes));
	s->keywords = calloc(s->room, sizeof(*s->keywords));
	s->parts = calloc(s->room, sizeof(*s->parts));
	s->node_at = calloc(s->room, sizeof(*s->node_at));
	if (s->nodes == NULL || s->keywords == NULL || s->parts == NULL ||
	    s->node_at == NULL)
		return schema_fail(
		    s, SCHEMA_ERROR_MEMORY, json_root(s->doc), "out of memory");
	memset(s->node_at, 0xff, s->room * sizeof(*s->node_at));
	return true;
}

static void *
shrink(void *array, size_t n, size_t size)
{
	void *p = reallocarray(array, n == 0 ? 1 : n, size);

	/* cppcheck-suppress memleak; array and p are never both owned */
	return p == NULL ? array : p;
}

/*
 * First everything that can be reached without references, then these; what
 * only they lead to comes last.
 */
static bool
compile_nodes(struct schema *s)
{
	size_t node = 0, keyword = 0;

	s->lexical = true;
	while (node < s->nnodes || keyword < s->nkeywords) {
		while (node < s->nnodes)
			if (!compile_node(s, node++))
				return false;
		s->lexical = false;
		for (; keyword < s->nkeywords; keyword++)
			if (s->keywords[keyword].op == OP_REF &&
			    !schema_resolve_ref(s, &s->keywords[keyword]))
				return false;
	}
	return true;
}

static bool
compile(struct schema *s, struct json_val root, enum schema_dialect dialect)
{
	uint32_t first;

	if (!take_text(s, root) || !read_dialect(s, dialect) || !make_room(s) ||
	    !schema_add_root(s) || !schema_node(s, json_root(s->doc), &first) ||
	    !compile_nodes(s))
		return false;
	schema_free_refs(s);
	s->nodes = shrink(s->nodes, s->nnodes, sizeof(*s->nodes));
	s->keywords = shrink(s->keywords, s->nkeywords, sizeof(*s->keywords));
	s->parts = shrink(s->parts, s->nparts, sizeof(*s->parts));
	free(s->node_at);
	s->node_at = NULL;
	return true;
}

bool
schema_compile(struct json_val root, enum schema_dialect dialect,
    struct schema **ret, struct schema_error *ret_error)
{
	struct schema *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		if (ret_error != NULL)
			*ret_error = (struct schema_error){ SCHEMA_ERROR_MEMORY,
				"", "out of memory" };
		return false;
	}
	s->magic = SCHEMA_MAGIC;
	s->error = ret_error;
	buf_init(&s->canon, 4 * SCHEMA_BYTES_MAX);
	if (!compile(s, root, dialect)) {
		schema_free(&s);
		return false;
	}
	s->error = NULL;
	*ret = s;
	return true;
}

void
schema_free(struct schema **sp)
{
	struct schema *s = *sp;

	if (s == NULL)
		return;
	MAGIC_CHECK(s, SCHEMA_MAGIC);
	s->magic = 0;
	for (size_t i = 0; i < s->nkeywords; i++)
		pattern_free(&s->keywords[i].pattern);
	for (size_t i = 0; i < s->nparts; i++)
		pattern_free(&s->parts[i].pattern);
	schema_free_refs(s);
	json_doc_free(&s->doc);
	buf_clear(&s->canon);
	free(s->nodes);
	free(s->keywords);
	free(s->parts);
	free(s->node_at);
	free(s);
	*sp = NULL;
}
