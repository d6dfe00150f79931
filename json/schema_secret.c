/*
 * Which parts of a value a schema marks writeOnly, or are a reference where it
 * says secretRef. Every schema that may apply
 * to a part is asked, those of alternatives too, whether or not they fit: what
 * is held to be secret without need is only harder to use, the other mistake
 * gives a secret away.
 */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "json/schema_int.h"
#include "json/tape_int.h"

/* The marks of a value's document, by token. */
struct search {
	struct eval ev; /* the budget */
	uint8_t *marks;
};

static bool visit(struct search *, uint32_t index, struct json_val);

static void
mark(struct search *w, struct json_val v)
{
	uint32_t end = tape_skip(v.doc->tape, v.at);

	memset(w->marks + v.at, 1, end - v.at);
}

static bool
visit_inner(struct search *w, uint32_t node, struct json_val v)
{
	unsigned hops = w->ev.hops;
	bool good;

	w->ev.hops = 0;
	good = visit(w, node, v);
	w->ev.hops = hops;
	return good;
}

static bool
visit_ref(struct search *w, const struct keyword *k, struct json_val v)
{
	bool good;

	if (w->ev.hops == SCHEMA_REF_HOPS)
		return schema_stop(&w->ev, SCHEMA_ERROR_LIMIT);
	w->ev.hops++;
	good = visit(w, k->node, v);
	w->ev.hops--;
	return good;
}

/* All of a list of schemas, each for the whole value. */
static bool
visit_each(struct search *w, const struct keyword *k, struct json_val v)
{
	const struct part *parts = w->ev.schema->parts + k->first;

	for (size_t i = 0; i < k->count; i++)
		if (parts[i].node != NONE && !visit(w, parts[i].node, v))
			return false;
	return true;
}

/* Which of the two lists of a node's keywords knows a member. */
static bool
is_known(struct search *w, const struct node *node, struct json_val key)
{
	const struct schema *s = w->ev.schema;
	const struct keyword *props = schema_keyword(s, node, OP_PROPERTIES);
	const struct keyword *pats =
	    schema_keyword(s, node, OP_PATTERN_PROPERTIES);
	bool known = props != NULL && schema_property(s, props, key) != NULL;

	for (size_t i = 0; pats != NULL && i < pats->count && !known; i++)
		known = schema_matches(
		    &w->ev, s->parts[pats->first + i].pattern, key);
	return known;
}

static bool
visit_member(struct search *w, const struct node *node, const struct keyword *k,
    const struct json_iter *it)
{
	const struct schema *s = w->ev.schema;
	const struct part *parts = s->parts + k->first, *p;

	switch (k->op) {
	case OP_PROPERTIES:
		p = schema_property(s, k, it->key);
		return p == NULL || visit_inner(w, p->node, it->val);
	case OP_PATTERN_PROPERTIES:
		for (size_t i = 0; i < k->count; i++)
			if (schema_matches(&w->ev, parts[i].pattern, it->key) &&
			    !visit_inner(w, parts[i].node, it->val))
				return false;
		return w->ev.stop == SCHEMA_ERROR_NONE;
	default:
		return is_known(w, node, it->key) ||
		    visit_inner(w, k->node, it->val);
	}
}

static bool
visit_members(struct search *w, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	struct json_iter it;

	if (!json_is_object(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it);)
		if (!schema_spend(&w->ev, 1) || !visit_member(w, node, k, &it))
			return false;
	return true;
}

/* Elements, by their own schema of a list or by one for all. */
static bool
visit_elements(struct search *w, const struct keyword *k, struct json_val v)
{
	const struct part *parts = w->ev.schema->parts + k->first;
	struct json_iter it;
	size_t i = 0;

	if (!json_is_array(v))
		return true;
	for (it = json_iter(v); json_iter_next(&it); i++) {
		if (k->node == NONE && i == k->count)
			break;
		if (!visit_inner(
			w, k->node == NONE ? parts[i].node : k->node, it.val))
			return false;
	}
	return true;
}

static bool
visit_keyword(struct search *w, const struct node *node,
    const struct keyword *k, struct json_val v)
{
	switch (k->op) {
	case OP_WRITE_ONLY:
		if (k->number != 0)
			mark(w, v);
		return true;
	case OP_SECRET_REF:
		if (k->number != 0 && schema_is_secret_ref(v))
			mark(w, v);
		return true;
	case OP_REF:
		return visit_ref(w, k, v);
	case OP_IF:
	case OP_THEN:
	case OP_ELSE:
		return visit(w, k->node, v);
	case OP_ALL_OF:
	case OP_ANY_OF:
	case OP_ONE_OF:
	case OP_DEPENDENT_SCHEMAS:
	case OP_DEPENDENCIES:
		return visit_each(w, k, v);
	case OP_PROPERTIES:
	case OP_PATTERN_PROPERTIES:
	case OP_ADDITIONAL_PROPERTIES:
		return visit_members(w, node, k, v);
	case OP_PREFIX_ITEMS:
	case OP_ITEMS:
	case OP_ADDITIONAL_ITEMS:
	case OP_CONTAINS:
		return visit_elements(w, k, v);
	default:
		return true;
	}
}

static bool
visit(struct search *w, uint32_t index, struct json_val v)
{
	const struct schema *s = w->ev.schema;
	const struct node *node = &s->nodes[index];
	bool good = true;

	if (!schema_spend(&w->ev, 1))
		return false;
	if (w->ev.depth == EVAL_DEPTH_MAX)
		return schema_stop(&w->ev, SCHEMA_ERROR_LIMIT);
	w->ev.depth++;
	for (size_t i = 0; i < node->count && good; i++)
		good = visit_keyword(w, node, &s->keywords[node->first + i], v);
	w->ev.depth--;
	return good;
}

bool
schema_is_secret_ref(struct json_val v)
{
	return json_is_object(v) && json_len(v) == 1 &&
	    json_is_string(json_obj_get(v, SCHEMA_SECRET_REF));
}

bool
schema_has_secrets(const struct schema *s)
{
	MAGIC_CHECK(s, SCHEMA_MAGIC);
	for (size_t i = 0; i < s->nkeywords; i++)
		if ((s->keywords[i].op == OP_WRITE_ONLY ||
			s->keywords[i].op == OP_SECRET_REF) &&
		    s->keywords[i].number != 0)
			return true;
	return false;
}

bool
schema_find_secrets(
    const struct schema *s, struct json_val v, uint8_t **ret_marks)
{
	struct search w = { .ev = { .schema = s, .root = v } };

	MAGIC_CHECK(s, SCHEMA_MAGIC);
	if (json_is_missing(v))
		return false;
	w.marks = calloc(v.doc->ntokens, sizeof(*w.marks));
	if (w.marks == NULL)
		return false;
	if (!visit(&w, 0, v)) {
		free(w.marks);
		return false;
	}
	*ret_marks = w.marks;
	return true;
}

/* When it cannot be found out whether the value is secret, it is. */
void
schema_hide_secret(struct eval *ev, uint32_t at)
{
	static const char hidden[] =
	    "the value is secret, and not as the schema wants it";
	uint8_t *marks = NULL;
	bool found = schema_find_secrets(ev->schema, ev->root, &marks);

	if (!found || marks[at] != 0)
		schema_set_error(ev->error, SCHEMA_ERROR_MISMATCH, ev->root, at,
		    hidden, sizeof(hidden) - 1);
	free(marks);
}
