/*
 * Keywords that apply schemas to a value, its elements or its members, and the
 * budget of a check. This recurses, but never deeper than EVAL_DEPTH_MAX.
 */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "json/schema_int.h"

static schema_check_fn *const checks[OP__MAX] = {
#define K(op, name, dialects, compile, check) schema_check_##check,
#include "json/keywords.def"
#undef K
};

bool
schema_stop(struct eval *ev, enum schema_error_kind kind)
{
	ev->stop = kind;
	return false;
}

bool
schema_spend(struct eval *ev, size_t steps)
{
	if (ev->stop != SCHEMA_ERROR_NONE)
		return false;
	if (steps > SCHEMA_STEPS_MAX - ev->steps)
		return schema_stop(ev, SCHEMA_ERROR_LIMIT);
	ev->steps += steps;
	return true;
}

/* Its value is elsewhere: nothing but the place can be judged. */
static bool
is_stored_secret(
    const struct eval *ev, const struct node *node, struct json_val v)
{
	const struct keyword *k;

	if (!ev->refs || !schema_is_secret_ref(v))
		return false;
	k = schema_keyword(ev->schema, node, OP_WRITE_ONLY);
	if (k == NULL || k->number == 0)
		k = schema_keyword(ev->schema, node, OP_SECRET_REF);
	return k != NULL && k->number != 0;
}

bool
schema_check_node(struct eval *ev, uint32_t index, struct json_val v)
{
	const struct node *node = &ev->schema->nodes[index];
	bool good = true;

	if (!schema_spend(ev, 1))
		return false;
	if (node->fixed)
		return node->verdict ||
		    schema_mismatch(ev, v, "nothing is allowed here");
	if (is_stored_secret(ev, node, v))
		return true;
	if (ev->depth == EVAL_DEPTH_MAX)
		return schema_stop(ev, SCHEMA_ERROR_LIMIT);
	ev->depth++;
	for (size_t i = 0; i < node->count && good; i++) {
		const struct keyword *k =
		    &ev->schema->keywords[node->first + i];

		good = checks[k->op](ev, node, k, v);
	}
	ev->depth--;
	return good;
}

/* Checks a value inside the one at hand: references start anew. */
static bool
check_inner(struct eval *ev, uint32_t node, struct json_val v)
{
	unsigned hops = ev->hops;
	bool good;

	ev->hops = 0;
	good = schema_check_node(ev, node, v);
	ev->hops = hops;
	return good;
}

/* Only whether it fits, with nothing reported. */
static bool
fits(struct eval *ev, uint32_t node, struct json_val v)
{
	struct schema_error *error = ev->error;
	bool good;

	ev->error = NULL;
	good = schema_check_node(ev, node, v);
	ev->error = error;
	return good;
}

static bool
fits_inner(struct eval *ev, uint32_t node, struct json_val v)
{
	unsigned hops = ev->hops;
	bool good;

	ev->hops = 0;
	good = fits(ev, node, v);
	ev->hops = hops;
	return good;
}

bool
schema_check_ref(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	bool good;

	if (ev->hops == SCHEMA_REF_HOPS)
		return schema_stop(ev, SCHEMA_ERROR_LIMIT);
	ev->hops++;
	good = schema_check_node(ev, k->node, v);
	ev->hops--;
	return good;
}

const struct part *
schema_property(
    const struct schema *s, const struct keyword *k, struct json_val key)
{
	size_t low = 0, high = k->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct part *p = &s->parts[k->first + mid];
		int order = json_str_cmp(key, p->key);

		if (order == 0)
			return p;
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

bool
schema_check_properties(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	struct json_iter it;

	if (!json_is_object(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);) {
		const struct part *p;

		if (!schema_spend(ev, 1))
			return false;
		p = schema_property(ev->schema, k, it.key);
		if (p != NULL && !check_inner(ev, p->node, it.val))
			return false;
	}
	return true;
}

bool
schema_check_patterns(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct part *parts = ev->schema->parts + k->first;
	struct json_iter it;

	if (!json_is_object(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);)
		for (size_t i = 0; i < k->count; i++) {
			bool hit = schema_matches(ev, parts[i].pattern, it.key);

			if (ev->stop != SCHEMA_ERROR_NONE ||
			    (hit && !check_inner(ev, parts[i].node, it.val)))
				return false;
		}
	return true;
}

static bool
unknown_field(struct eval *ev, const struct keyword *props, struct json_val v,
    struct json_val key)
{
	char name[SCHEMA_QUOTE], meant[SCHEMA_QUOTE];
	struct json_val guess;

	if (ev->error == NULL)
		return schema_mismatch(ev, v, "unknown field");
	guess = schema_guess(ev->schema, props, key);
	schema_quote(key, name);
	if (json_is_missing(guess))
		return schema_mismatch(ev, v, "unknown field %s", name);
	return schema_mismatch(ev, v, "unknown field %s (did you mean %s?)",
	    name, schema_quote(guess, meant));
}

bool
schema_check_additional(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct schema *s = ev->schema;
	const struct keyword *props = schema_keyword(s, node, OP_PROPERTIES);
	const struct keyword *pats =
	    schema_keyword(s, node, OP_PATTERN_PROPERTIES);
	const struct node *extra = &s->nodes[k->node];
	struct json_iter it;

	if (!json_is_object(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);) {
		bool known =
		    props != NULL && schema_property(s, props, it.key) != NULL;

		if (!schema_spend(ev, 1))
			return false;
		for (size_t i = 0; pats != NULL && i < pats->count && !known;
		     i++)
			known = schema_matches(
			    ev, s->parts[pats->first + i].pattern, it.key);
		if (ev->stop != SCHEMA_ERROR_NONE)
			return false;
		if (known)
			continue;
		if (extra->fixed && !extra->verdict)
			return unknown_field(ev, props, v, it.key);
		if (!check_inner(ev, k->node, it.val))
			return false;
	}
	return true;
}

bool
schema_check_names(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	char name[SCHEMA_QUOTE];
	struct json_iter it;

	if (!json_is_object(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);) {
		if (fits_inner(ev, k->node, it.key))
			continue;
		if (ev->stop != SCHEMA_ERROR_NONE)
			return false;
		return schema_mismatch(ev, v, "field name %s is not allowed",
		    schema_quote(it.key, name));
	}
	return true;
}

/* Element i against the i-th of a list of schemas. */
static bool
check_list(struct eval *ev, const struct keyword *k, struct json_val v)
{
	const struct part *parts = ev->schema->parts + k->first;
	struct json_iter it;
	size_t i = 0;

	for (it = json_iter(v); i < k->count && json_iter_next(&it); i++)
		if (!check_inner(ev, parts[i].node, it.val))
			return false;
	return true;
}

/* All elements from the one at first on against one schema. */
static bool
check_rest(struct eval *ev, uint32_t node, struct json_val v, size_t first)
{
	struct json_iter it;
	size_t i = 0;

	for (it = json_iter(v); json_iter_next(&it); i++)
		if (i >= first && !check_inner(ev, node, it.val))
			return false;
	return true;
}

bool
schema_check_prefix(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	return !json_is_array(v) || check_list(ev, k, v);
}

bool
schema_check_items(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct keyword *prefix =
	    schema_keyword(ev->schema, node, OP_PREFIX_ITEMS);

	if (!json_is_array(v))
		return true;
	if (k->node == NONE)
		return check_list(ev, k, v);
	return check_rest(ev, k->node, v, prefix == NULL ? 0 : prefix->count);
}

/* Says something only beside a list of items. */
bool
schema_check_more_items(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct keyword *items =
	    schema_keyword(ev->schema, node, OP_ITEMS);

	if (!json_is_array(v) || items == NULL || items->node != NONE)
		return true;
	return check_rest(ev, k->node, v, items->count);
}

bool
schema_check_contains(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct keyword *min =
	    schema_keyword(ev->schema, node, OP_MIN_CONTAINS);
	const struct keyword *max =
	    schema_keyword(ev->schema, node, OP_MAX_CONTAINS);
	long long n = 0, least = min == NULL ? 1 : min->number;
	struct json_iter it;

	if (!json_is_array(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);)
		n += fits_inner(ev, k->node, it.val);
	if (ev->stop != SCHEMA_ERROR_NONE)
		return false;
	if (n < least)
		return schema_mismatch(ev, v,
		    "elements that fit \"contains\": %lld, at least %lld", n,
		    least);
	return max == NULL || n <= max->number ||
	    schema_mismatch(ev, v,
		"elements that fit \"contains\": %lld, at most %lld", n,
		(long long)max->number);
}

bool
schema_check_all_of(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct part *parts = ev->schema->parts + k->first;

	for (size_t i = 0; i < k->count; i++)
		if (!schema_check_node(ev, parts[i].node, v))
			return false;
	return true;
}

/*
 * No alternative fits. If one of them got further than the others, into the
 * value, its mistake is the one to tell.
 */
static bool
report_nearest(struct eval *ev, const struct keyword *k, struct json_val v,
    uint32_t nearest, uint32_t depth_at)
{
	if (ev->error != NULL && (depth_at > v.at || k->count == 1))
		return schema_check_node(ev, nearest, v);
	return schema_mismatch(ev, v, "fits none of the %zu schemas of \"%s\"",
	    k->count, schema_keyword_name(k->op));
}

/* How many of a list fit, at most limit; else the nearest is reported. */
static bool
count_fits(struct eval *ev, const struct keyword *k, struct json_val v,
    size_t limit, size_t *ret)
{
	const struct part *parts = ev->schema->parts + k->first;
	uint32_t nearest = parts[0].node, best = 0;
	size_t n = 0;

	for (size_t i = 0; i < k->count && n < limit; i++) {
		ev->fail_at = 0;
		if (fits(ev, parts[i].node, v)) {
			n++;
		} else if (ev->fail_at > best) {
			best = ev->fail_at;
			nearest = parts[i].node;
		}
		if (ev->stop != SCHEMA_ERROR_NONE)
			return false;
	}
	*ret = n;
	return n != 0 || report_nearest(ev, k, v, nearest, best);
}

bool
schema_check_any_of(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	size_t n;

	return count_fits(ev, k, v, 1, &n);
}

bool
schema_check_one_of(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	size_t n;

	return count_fits(ev, k, v, 2, &n) &&
	    (n == 1 ||
		schema_mismatch(
		    ev, v, "fits more than one of the schemas of \"oneOf\""));
}

bool
schema_check_not(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	if (fits(ev, k->node, v))
		return schema_mismatch(ev, v, "fits what \"not\" forbids");
	return ev->stop == SCHEMA_ERROR_NONE;
}

bool
schema_check_if(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct keyword *branch;
	bool hit = fits(ev, k->node, v);

	if (ev->stop != SCHEMA_ERROR_NONE)
		return false;
	branch = schema_keyword(ev->schema, node, hit ? OP_THEN : OP_ELSE);
	return branch == NULL || schema_check_node(ev, branch->node, v);
}

static bool
validate(const struct schema *s, struct json_val v, bool refs,
    struct schema_error *ret_error)
{
	struct schema_error error = { 0 };
	struct eval ev = {
		.schema = s, .root = v, .error = &error, .refs = refs
	};
	static const char limit[] = "checking this takes too much work";
	static const char memory[] = "out of memory";

	MAGIC_CHECK(s, SCHEMA_MAGIC);
	if (json_is_missing(v))
		schema_set_error(&error, SCHEMA_ERROR_MISMATCH, v, 0,
		    "there is no value", 17);
	else if (schema_check_node(&ev, 0, v))
		return true;
	else if (schema_has_secrets(s))
		schema_hide_secret(&ev, ev.told_at);
	if (ev.stop == SCHEMA_ERROR_LIMIT)
		schema_set_error(
		    &error, ev.stop, v, v.at, limit, sizeof(limit) - 1);
	else if (ev.stop == SCHEMA_ERROR_MEMORY)
		schema_set_error(
		    &error, ev.stop, v, v.at, memory, sizeof(memory) - 1);
	if (ret_error != NULL)
		*ret_error = error;
	return false;
}

bool
schema_validate(
    const struct schema *s, struct json_val v, struct schema_error *ret_error)
{
	return validate(s, v, false, ret_error);
}

bool
schema_validate_inputs(
    const struct schema *s, struct json_val v, struct schema_error *ret_error)
{
	return validate(s, v, true, ret_error);
}
