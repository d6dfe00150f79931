/* Arguments of keywords: checked and brought into a form quick to check. */
#include <stdlib.h>
#include <string.h>

#include "json/canon.h"
#include "json/schema_int.h"

static bool
malformed(struct schema *s, const struct keyword *k, const char *want)
{
	return schema_fail(s, SCHEMA_ERROR_MALFORMED, k->arg,
	    "\"%s\" must be %s", schema_keyword_name(k->op), want);
}

static bool
add_type(struct json_val v, int64_t *types)
{
	if (json_str_eq(v, "integer")) {
		*types |= TYPE_INTEGER;
		return true;
	}
	for (int type = JSON_NULL; type < JSON_TYPE__MAX; type++)
		if (json_str_eq(v, json_type_name((enum json_type)type))) {
			*types |= (int64_t)1 << type;
			return true;
		}
	return false;
}

bool
schema_compile_type(struct schema *s, struct keyword *k)
{
	struct json_iter it;

	if (json_is_string(k->arg)) {
		if (add_type(k->arg, &k->number))
			return true;
	} else if (json_is_array(k->arg) && json_len(k->arg) != 0) {
		for (it = json_iter(k->arg); json_iter_next(&it);)
			if (!add_type(it.val, &k->number))
				return malformed(s, k, "a list of types");
		return true;
	}
	return malformed(s, k,
	    "a type: null, boolean, integer, number, string, array or object");
}

static bool
add_canon(
    struct schema *s, struct json_val v, size_t *ret_first, size_t *ret_len)
{
	size_t first = s->canon.len;

	if (!json_canon_add(v, &s->canon))
		return schema_fail(s, SCHEMA_ERROR_MEMORY, v, "out of memory");
	*ret_first = first;
	*ret_len = s->canon.len - first;
	return true;
}

bool
schema_compile_const(struct schema *s, struct keyword *k)
{
	return add_canon(s, k->arg, &k->first, &k->count);
}

bool
schema_compile_enum(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!json_is_array(k->arg))
		return malformed(s, k, "an array");
	k->count = json_len(k->arg);
	i = k->first = schema_reserve(s, k->count);
	for (it = json_iter(k->arg); json_iter_next(&it); i++)
		if (!add_canon(
			s, it.val, &s->parts[i].first, &s->parts[i].count))
			return false;
	return true;
}

static struct json_decimal
decimal_of(struct json_val v)
{
	const uint8_t *raw = NULL;
	size_t len = 0;

	json_raw(v, &raw, &len);
	return json_decimal_read(raw, len);
}

bool
schema_compile_number(struct schema *s, struct keyword *k)
{
	if (!json_is_number(k->arg))
		return malformed(s, k, "a number");
	k->decimal = decimal_of(k->arg);
	return true;
}

bool
schema_compile_multiple(struct schema *s, struct keyword *k)
{
	if (!schema_compile_number(s, k))
		return false;
	if (k->decimal.negative || k->decimal.ndigits == 0)
		return malformed(s, k, "above 0");
	if (k->decimal.ndigits > JSON_DIVISOR_DIGITS)
		return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, k->arg,
		    "\"multipleOf\" has more than %d digits",
		    JSON_DIVISOR_DIGITS);
	return true;
}

bool
schema_compile_count(struct schema *s, struct keyword *k)
{
	if (!json_get_int64(k->arg, &k->number) || k->number < 0)
		return malformed(s, k, "a whole number from 0");
	return true;
}

bool
schema_compile_bool(struct schema *s, struct keyword *k)
{
	bool b;

	if (!json_get_bool(k->arg, &b))
		return malformed(s, k, "a boolean");
	k->number = b;
	return true;
}

static bool
make_pattern(struct schema *s, struct json_val v, struct pattern **ret)
{
	const char *why = "out of memory";
	size_t len;
	char *source = json_str_dup(v, &len);
	bool good;

	good = source != NULL && pattern_compile(source, len, ret, &why);
	free(source);
	if (!good)
		return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, v,
		    "unsupported pattern: %s", why);
	s->pattern_bytes += pattern_bytes(*ret);
	if (s->pattern_bytes > PATTERN_BYTES_MAX)
		return schema_fail(
		    s, SCHEMA_ERROR_LIMIT, v, "the patterns are too large");
	return true;
}

bool
schema_compile_pattern(struct schema *s, struct keyword *k)
{
	if (!json_is_string(k->arg))
		return malformed(s, k, "a string");
	return make_pattern(s, k->arg, &k->pattern);
}

bool
schema_compile_schema(struct schema *s, struct keyword *k)
{
	return schema_node(s, k->arg, &k->node);
}

bool
schema_compile_schemas(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!json_is_array(k->arg) || json_len(k->arg) == 0)
		return malformed(s, k, "a list of schemas");
	k->count = json_len(k->arg);
	i = k->first = schema_reserve(s, k->count);
	for (it = json_iter(k->arg); json_iter_next(&it); i++)
		if (!schema_node(s, it.val, &s->parts[i].node))
			return false;
	return true;
}

bool
schema_compile_items(struct schema *s, struct keyword *k)
{
	if (!json_is_array(k->arg))
		return schema_compile_schema(s, k);
	if (s->new)
		return malformed(s, k, "a schema (lists are \"prefixItems\")");
	/* An empty list says nothing, but is no mistake in draft-07. */
	if (json_len(k->arg) == 0)
		return true;
	return schema_compile_schemas(s, k);
}

static bool
add_keys(struct schema *s, const struct keyword *k, struct json_val list,
    size_t *ret_first, size_t *ret_count)
{
	struct json_iter it;
	size_t i, n = json_len(list);

	if (!json_is_array(list))
		return malformed(s, k, "a list of names");
	i = *ret_first = schema_reserve(s, n);
	*ret_count = n;
	for (it = json_iter(list); json_iter_next(&it); i++) {
		if (!json_is_string(it.val))
			return malformed(s, k, "a list of names");
		s->parts[i].key = it.val;
	}
	return true;
}

bool
schema_compile_keys(struct schema *s, struct keyword *k)
{
	return add_keys(s, k, k->arg, &k->first, &k->count);
}

/* Parts for the members of an object, with their keys. */
static bool
add_members(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!json_is_object(k->arg))
		return malformed(s, k, "an object");
	k->count = json_len(k->arg);
	i = k->first = schema_reserve(s, k->count);
	for (it = json_iter(k->arg); json_iter_next(&it); i++) {
		s->parts[i].key = it.key;
		s->parts[i].node = NONE;
	}
	return true;
}

bool
schema_compile_dependent(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!add_members(s, k))
		return false;
	i = k->first;
	for (it = json_iter(k->arg); json_iter_next(&it); i++) {
		struct part *p = &s->parts[i];
		bool list = k->op == OP_DEPENDENT_REQUIRED ||
		    (k->op == OP_DEPENDENCIES && json_is_array(it.val));

		if (list ? !add_keys(s, k, it.val, &p->first, &p->count)
			 : !schema_node(s, it.val, &p->node))
			return false;
	}
	return true;
}

static int
compare_parts(const void *a, const void *b)
{
	const struct part *pa = a, *pb = b;

	return json_str_cmp(pa->key, pb->key);
}

bool
schema_compile_properties(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!add_members(s, k))
		return false;
	i = k->first;
	for (it = json_iter(k->arg); json_iter_next(&it); i++)
		if (!schema_node(s, it.val, &s->parts[i].node))
			return false;
	if (k->count > 1)
		qsort(s->parts + k->first, k->count, sizeof(*s->parts),
		    compare_parts);
	return true;
}

bool
schema_compile_patterns(struct schema *s, struct keyword *k)
{
	struct json_iter it;
	size_t i;

	if (!add_members(s, k))
		return false;
	i = k->first;
	for (it = json_iter(k->arg); json_iter_next(&it); i++)
		if (!make_pattern(s, it.key, &s->parts[i].pattern) ||
		    !schema_node(s, it.val, &s->parts[i].node))
			return false;
	return true;
}

bool
schema_compile_root_only(struct schema *s, struct keyword *k)
{
	const char *name = schema_keyword_name(k->op);

	if (json_obj_get(json_root(s->doc), name).at != k->arg.at)
		return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, k->arg,
		    "\"%s\" is supported at the root only", name);
	return json_is_string(k->arg) || malformed(s, k, "a string");
}

bool
schema_compile_annotation(struct schema *s, struct keyword *k)
{
	return !s->failed;
}
