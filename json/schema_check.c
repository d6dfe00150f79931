/* Keywords that look at one value: types, numbers, strings, names, sizes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/canon.h"
#include "json/schema_int.h"
#include "json/text.h"

/* Looking at a byte of a text is less work than looking at a value. */
#define WORK_PER_STEP 8

static struct json_decimal
decimal_of(struct json_val v)
{
	const uint8_t *raw = NULL;
	size_t len = 0;

	json_raw(v, &raw, &len);
	return json_decimal_read(raw, len);
}

/* Long texts cost steps too. */
static bool
spend_text(struct eval *ev, struct json_val v)
{
	const uint8_t *raw;
	size_t len = 0;

	json_raw(v, &raw, &len);
	return schema_spend(ev, 1 + len / 8);
}

bool
schema_check_nothing(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	return ev->stop == SCHEMA_ERROR_NONE;
}

static void
name_types(int64_t types, char *dst, size_t size)
{
	size_t len = 0;
	const char *name;

	dst[0] = '\0';
	for (int i = JSON_NULL; i <= JSON_TYPE__MAX && len < size; i++) {
		if (!(types >> i & 1))
			continue;
		name = i == JSON_TYPE__MAX ? "integer"
					   : json_type_name((enum json_type)i);
		len += (size_t)snprintf(dst + len, size - len, "%s%s",
		    len == 0 ? "" : " or ", name);
	}
}

bool
schema_check_type(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	enum json_type type = json_type_of(v);
	char want[128], quote[SCHEMA_QUOTE];
	struct json_decimal d;

	if (k->number >> type & 1)
		return true;
	if (type == JSON_NUMBER && (k->number & TYPE_INTEGER)) {
		d = decimal_of(v);
		if (json_decimal_is_int(&d))
			return true;
	}
	name_types(k->number, want, sizeof(want));
	if (type == JSON_NUMBER)
		return schema_mismatch(ev, v, "expected %s, got %s", want,
		    (k->number & TYPE_INTEGER) ? schema_quote(v, quote)
					       : "number");
	return schema_mismatch(
	    ev, v, "expected %s, got %s", want, json_type_name(type));
}

/* The canonical text of v; the caller clears the buf. */
static bool
canon_of(struct eval *ev, struct json_val v, struct buf *ret)
{
	const uint8_t *raw;
	size_t len = 0;

	json_raw(v, &raw, &len);
	/* The longest stretch is 1e20. */
	buf_init(ret, 8 * len + 64);
	if (!spend_text(ev, v))
		return false;
	if (json_canon_add(v, ret))
		return true;
	buf_clear(ret);
	return schema_stop(ev, SCHEMA_ERROR_MEMORY);
}

static bool
canon_is(const struct schema *s, size_t first, size_t len, const struct buf *b)
{
	return b->len == len &&
	    memcmp(s->canon.data + first, b->data, len) == 0;
}

bool
schema_check_const(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	char want[SCHEMA_QUOTE];
	struct buf b;
	bool same;

	if (!canon_of(ev, v, &b))
		return false;
	same = canon_is(ev->schema, k->first, k->count, &b);
	buf_clear(&b);
	return same ||
	    schema_mismatch(ev, v, "expected %s", schema_quote(k->arg, want));
}

static bool
enum_mismatch(struct eval *ev, const struct keyword *k, struct json_val v)
{
	char list[240], one[SCHEMA_QUOTE];
	struct json_iter it;
	size_t len = 0;

	list[0] = '\0';
	for (it = json_iter(k->arg); json_iter_next(&it);) {
		schema_quote(it.val, one);
		if (len + strlen(one) + 8 > sizeof(list)) {
			snprintf(list + len, sizeof(list) - len, ", ...");
			break;
		}
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
		    len == 0 ? "" : ", ", one);
	}
	return schema_mismatch(ev, v, "expected one of %s", list);
}

bool
schema_check_enum(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct part *p = ev->schema->parts + k->first;
	bool same = false;
	struct buf b;

	if (!schema_spend(ev, k->count / 8) || !canon_of(ev, v, &b))
		return false;
	for (size_t i = 0; i < k->count && !same; i++)
		same = canon_is(ev->schema, p[i].first, p[i].count, &b);
	buf_clear(&b);
	return same || enum_mismatch(ev, k, v);
}

/* "from 1", "above 0", "up to 5", "below 10", joined for what is there. */
static void
describe_range(
    const struct eval *ev, const struct node *node, char *dst, size_t size)
{
	static const struct {
		enum op op;
		const char *word;
	} words[] = { { OP_MINIMUM, "from" }, { OP_EXCLUSIVE_MINIMUM, "above" },
		{ OP_MAXIMUM, "up to" }, { OP_EXCLUSIVE_MAXIMUM, "below" } };
	char quote[SCHEMA_QUOTE];
	size_t len = 0;

	dst[0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct keyword *k =
		    schema_keyword(ev->schema, node, words[i].op);

		if (k != NULL && len < size)
			len += (size_t)snprintf(dst + len, size - len,
			    "%s%s %s", len == 0 ? "" : " ", words[i].word,
			    schema_quote(k->arg, quote));
	}
}

bool
schema_check_range(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	char quote[SCHEMA_QUOTE], range[200];
	struct json_decimal d;
	int order;
	bool good;

	if (!json_is_number(v))
		return true;
	if (!spend_text(ev, v))
		return false;
	d = decimal_of(v);
	order = json_decimal_cmp(&d, &k->decimal);
	good = k->op == OP_MINIMUM          ? order >= 0
	    : k->op == OP_MAXIMUM           ? order <= 0
	    : k->op == OP_EXCLUSIVE_MINIMUM ? order > 0
					    : order < 0;
	if (good)
		return true;
	describe_range(ev, node, range, sizeof(range));
	return schema_mismatch(
	    ev, v, "%s is out of range (%s)", schema_quote(v, quote), range);
}

bool
schema_check_multiple(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	char quote[SCHEMA_QUOTE], want[SCHEMA_QUOTE];
	struct json_decimal d;

	if (!json_is_number(v))
		return true;
	if (!spend_text(ev, v))
		return false;
	d = decimal_of(v);
	return json_decimal_divisible(&d, &k->decimal) ||
	    schema_mismatch(ev, v, "%s is not a multiple of %s",
		schema_quote(v, quote), schema_quote(k->arg, want));
}

static int64_t
count_characters(struct json_val v)
{
	const uint8_t *raw = NULL, *piece;
	struct json_text text;
	size_t len = 0, n;
	int64_t count = 0;

	json_raw(v, &raw, &len);
	json_text_init(&text, raw + 1, len - 2);
	while ((n = json_text_next(&text, &piece)) != 0)
		for (size_t i = 0; i < n; i++)
			count += (piece[i] & 0xc0) != 0x80;
	return count;
}

/* Compares a count with a minimum or maximum. */
static bool
check_count(struct eval *ev, const struct keyword *k, struct json_val v,
    int64_t count, bool is_min, const char *things)
{
	if (is_min ? count >= k->number : count <= k->number)
		return true;
	return schema_mismatch(ev, v, "%s %s: %" PRId64 ", at %s %" PRId64,
	    is_min ? "too few" : "too many", things, count,
	    is_min ? "least" : "most", k->number);
}

bool
schema_check_length(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	if (!json_is_string(v))
		return true;
	if (!spend_text(ev, v))
		return false;
	return check_count(ev, k, v, count_characters(v),
	    k->op == OP_MIN_LENGTH, "characters");
}

bool
schema_check_size(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	bool is_items = k->op == OP_MIN_ITEMS || k->op == OP_MAX_ITEMS;

	if (json_type_of(v) != (is_items ? JSON_ARRAY : JSON_OBJECT))
		return true;
	return check_count(ev, k, v, (int64_t)json_len(v),
	    k->op == OP_MIN_ITEMS || k->op == OP_MIN_PROPERTIES,
	    is_items ? "elements" : "fields");
}

bool
schema_matches(struct eval *ev, struct pattern *p, struct json_val v)
{
	enum pattern_result result;
	const char *text;
	char *copy = NULL;
	size_t len, budget, work;

	if (!spend_text(ev, v))
		return false;
	text = json_str_borrow(v, &len);
	if (text == NULL)
		text = copy = json_str_dup(v, &len);
	if (text == NULL)
		return schema_stop(ev, SCHEMA_ERROR_MEMORY);
	budget = (SCHEMA_STEPS_MAX - ev->steps) * WORK_PER_STEP;
	result = pattern_search(p, text, len, budget, &work);
	free(copy);
	if (!schema_spend(ev, work / WORK_PER_STEP))
		return false;
	if (result == PATTERN_LIMIT)
		return schema_stop(ev, SCHEMA_ERROR_LIMIT);
	return result == PATTERN_MATCH;
}

bool
schema_check_pattern(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	char quote[SCHEMA_QUOTE];

	if (!json_is_string(v) || schema_matches(ev, k->pattern, v))
		return ev->stop == SCHEMA_ERROR_NONE;
	return schema_mismatch(ev, v, "does not match the pattern %s",
	    schema_quote(k->arg, quote));
}

/* Canonical texts of an array's elements, to be sorted. */
struct element {
	size_t first;
	size_t len;
	size_t index;
};

static int
compare_elements(const void *a, const void *b, void *bytes)
{
	const struct element *ea = a, *eb = b;
	const uint8_t *text = bytes;
	size_t len = ea->len < eb->len ? ea->len : eb->len;
	int order = memcmp(text + ea->first, text + eb->first, len);

	return order != 0 ? order : (ea->len > eb->len) - (ea->len < eb->len);
}

static bool
find_equal(struct eval *ev, struct json_val v, struct element *e, size_t n,
    struct buf *b)
{
	struct json_iter it;
	size_t i = 0;

	for (it = json_iter(v); json_iter_next(&it); i++) {
		e[i].first = b->len;
		e[i].index = i;
		if (!json_canon_add(it.val, b))
			return schema_stop(ev, SCHEMA_ERROR_MEMORY);
		e[i].len = b->len - e[i].first;
	}
	qsort_r(e, n, sizeof(*e), compare_elements, b->data);
	for (i = 1; i < n; i++) {
		size_t x = e[i - 1].index, y = e[i].index;

		if (compare_elements(&e[i - 1], &e[i], b->data) == 0)
			return schema_mismatch(ev, v,
			    "elements %zu and %zu are equal", x < y ? x : y,
			    x < y ? y : x);
	}
	return true;
}

bool
schema_check_unique(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	size_t n = json_len(v), len = 0;
	struct element *e;
	const uint8_t *raw;
	struct buf b;
	bool good;

	if (k->number == 0 || !json_is_array(v) || n < 2)
		return true;
	if (!schema_spend(ev, n) || !spend_text(ev, v))
		return false;
	e = reallocarray(NULL, n, sizeof(*e));
	if (e == NULL)
		return schema_stop(ev, SCHEMA_ERROR_MEMORY);
	json_raw(v, &raw, &len);
	buf_init(&b, 8 * len + 64);
	good = find_equal(ev, v, e, n, &b);
	buf_clear(&b);
	free(e);
	return good;
}

/* Whether object v has all the keys; the first that is missing is told. */
static bool
has_keys(struct eval *ev, struct json_val v, size_t first, size_t count,
    struct json_val because)
{
	char quote[SCHEMA_QUOTE], needs[SCHEMA_QUOTE];
	const struct part *p = ev->schema->parts + first;

	for (size_t i = 0; i < count; i++) {
		if (!schema_spend(ev, 1 + json_len(v) / 4))
			return false;
		if (!json_is_missing(json_obj_getv(v, p[i].key)))
			continue;
		schema_quote(p[i].key, quote);
		if (json_is_missing(because))
			return schema_mismatch(
			    ev, v, "missing field %s", quote);
		return schema_mismatch(ev, v, "missing field %s (%s needs it)",
		    quote, schema_quote(because, needs));
	}
	return true;
}

bool
schema_check_required(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	return !json_is_object(v) ||
	    has_keys(ev, v, k->first, k->count, json_root(NULL));
}

bool
schema_check_dependent(struct eval *ev, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	const struct part *p = ev->schema->parts + k->first;

	if (!json_is_object(v))
		return true;
	for (size_t i = 0; i < k->count; i++, p++) {
		if (!schema_spend(ev, 1 + json_len(v) / 4))
			return false;
		if (json_is_missing(json_obj_getv(v, p->key)))
			continue;
		if (p->node != NONE
			? !schema_check_node(ev, p->node, v)
			: !has_keys(ev, v, p->first, p->count, p->key))
			return false;
	}
	return true;
}
