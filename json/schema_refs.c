/*
 * Names of schemas and references to them. A text may hold several resources,
 * each with a URI of its own ($id) and anchors; where each begins is known when
 * the whole text has been compiled, and only then are references resolved.
 * What is not in the text is refused: nothing is fetched.
 */
#include <stdlib.h>
#include <string.h>

#include "json/schema_int.h"
#include "json/tape_int.h"
#include "json/uri.h"

/* The base of a text that does not say what it is called. */
static const char no_base[] = "json-schema:///";

static bool
no_memory(struct schema *s, struct json_val v)
{
	return schema_fail(s, SCHEMA_ERROR_MEMORY, v, "out of memory");
}

/* The innermost resource around a token. */
static const struct resource *
resource_of(const struct schema *s, uint32_t at)
{
	const struct resource *found = &s->resources[0];

	for (size_t i = 1; i < s->nresources; i++) {
		const struct resource *r = &s->resources[i];

		if (r->at <= at && at < r->end && r->at >= found->at)
			found = r;
	}
	return found;
}

static const struct resource *
find_resource(const struct schema *s, const char *uri)
{
	for (size_t i = 0; i < s->nresources; i++)
		if (strcmp(s->resources[i].uri, uri) == 0)
			return &s->resources[i];
	return NULL;
}

/* The absolute form of a reference found at v, to be freed. */
static char *
absolute(struct schema *s, struct json_val v, const char *ref, size_t len)
{
	const char *base = resource_of(s, v.at)->uri;
	struct buf b;
	size_t ignored;

	buf_init(&b, SCHEMA_URI_MAX);
	if (!uri_resolve(base, strlen(base), ref, len, &b)) {
		buf_clear(&b);
		schema_fail(s, SCHEMA_ERROR_LIMIT, v, "the URI is too long");
		return NULL;
	}
	return (char *)buf_take(&b, &ignored);
}

static bool
add_resource(struct schema *s, uint32_t at, char *uri)
{
	struct resource *r;

	r = reallocarray(s->resources, s->nresources + 1, sizeof(*r));
	if (r == NULL || uri == NULL) {
		if (r != NULL)
			s->resources = r;
		free(uri);
		return no_memory(s, json_root(s->doc));
	}
	s->resources = r;
	r[s->nresources++] = (struct resource){
		.at = at, .end = tape_skip(s->doc->tape, at), .uri = uri
	};
	return true;
}

bool
schema_add_root(struct schema *s)
{
	return add_resource(s, 0, strdup(no_base));
}

static bool
add_anchor(struct schema *s, struct json_val v, const char *name)
{
	struct anchor *a;
	char *copy = strdup(name);

	a = reallocarray(s->anchors, s->nanchors + 1, sizeof(*a));
	if (a != NULL)
		s->anchors = a;
	if (a == NULL || copy == NULL) {
		free(copy);
		return no_memory(s, v);
	}
	a[s->nanchors++] = (struct anchor){ .at = s->current, .name = copy };
	return true;
}

/* A string keyword as C text, to be freed. */
static char *
take_name(struct schema *s, const struct keyword *k)
{
	size_t len = 0;
	char *text = json_str_dup(k->arg, &len);

	if (text == NULL || strlen(text) != len) {
		free(text);
		schema_fail(s, SCHEMA_ERROR_MALFORMED, k->arg,
		    "\"%s\" must be a string", schema_keyword_name(k->op));
		return NULL;
	}
	return text;
}

bool
schema_compile_id(struct schema *s, struct keyword *k)
{
	char *id = take_name(s, k), *uri, *hash;
	bool good;

	if (id == NULL)
		return false;
	hash = strchr(id, '#');
	/* In draft-07 such an $id is what $anchor is today. */
	if (s->lexical && !s->new &&hash == id && id[1] != '\0') {
		good = add_anchor(s, k->arg, id + 1);
		free(id);
		return good;
	}
	if (!s->lexical || (hash != NULL && hash[1] != '\0')) {
		free(id);
		return schema_fail(
		    s, SCHEMA_ERROR_UNSUPPORTED, k->arg, "unsupported \"$id\"");
	}
	uri = absolute(
	    s, k->arg, id, hash == NULL ? strlen(id) : (size_t)(hash - id));
	free(id);
	if (uri == NULL)
		return false;
	if (s->current == 0) {
		free(s->resources[0].uri);
		s->resources[0].uri = uri;
		return true;
	}
	if (find_resource(s, uri) != NULL) {
		free(uri);
		return schema_fail(s, SCHEMA_ERROR_MALFORMED, k->arg,
		    "another schema has this \"$id\"");
	}
	return add_resource(s, s->current, uri);
}

bool
schema_compile_anchor(struct schema *s, struct keyword *k)
{
	char *name = take_name(s, k);
	bool good;

	if (name == NULL)
		return false;
	good = s->lexical ? add_anchor(s, k->arg, name)
			  : schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, k->arg,
				"unsupported \"$anchor\"");
	free(name);
	return good;
}

/* Resolved when the whole text is known. */
bool
schema_compile_ref(struct schema *s, struct keyword *k)
{
	if (!json_is_string(k->arg))
		return schema_fail(s, SCHEMA_ERROR_MALFORMED, k->arg,
		    "\"$ref\" must be a string");
	return true;
}

/* Percent escapes of a URI fragment, in place; false if one is cut. */
static bool
percent_decode(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		char hex[3] = { 0 }, *end;

		*to = *text;
		if (*text == '%') {
			hex[0] = text[1];
			hex[1] = text[1] == '\0' ? '\0' : text[2];
			*to = (char)strtoul(hex, &end, 16);
			if (end != hex + 2)
				return false;
			text += 2;
		}
		to++;
	}
	*to = '\0';
	return true;
}

/* One token of a JSON pointer: the escapes go, in place. */
static size_t
unescape_token(char *token, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (token[i] == '~' && i + 1 < len &&
		    (token[i + 1] == '0' || token[i + 1] == '1'))
			token[to++] = token[++i] == '0' ? '~' : '/';
		else
			token[to++] = token[i];
	}
	return to;
}

static struct json_val
array_step(struct json_val v, const char *token, size_t len)
{
	size_t index = 0;

	if (len == 0 || len > 6 || (token[0] == '0' && len > 1))
		return json_root(NULL);
	for (size_t i = 0; i < len; i++) {
		if (token[i] < '0' || token[i] > '9')
			return json_root(NULL);
		index = index * 10 + (size_t)(token[i] - '0');
	}
	return json_arr_get(v, index);
}

/* Follows a JSON pointer (changed on the way): "" or "/token/token...". */
static struct json_val
follow_pointer(struct json_val v, char *p)
{
	while (*p != '\0' && !json_is_missing(v)) {
		char *token = p + 1;
		size_t len = strcspn(token, "/");

		p = token + len;
		len = unescape_token(token, len);
		v = json_is_array(v) ? array_step(v, token, len)
				     : json_obj_getn(v, token, len);
	}
	return v;
}

/* The two names of one anchor would be a contradiction: nothing is found. */
static struct json_val
find_anchor(const struct schema *s, const struct resource *r, const char *name)
{
	struct json_val found = json_root(NULL);
	size_t n = 0;

	for (size_t i = 0; i < s->nanchors; i++)
		if (strcmp(s->anchors[i].name, name) == 0 &&
		    resource_of(s, s->anchors[i].at) == r) {
			found.doc = s->doc;
			found.at = s->anchors[i].at;
			n++;
		}
	return n == 1 ? found : json_root(NULL);
}

bool
schema_resolve_ref(struct schema *s, struct keyword *k)
{
	char quote[SCHEMA_QUOTE], *ref = take_name(s, k), *hash, *uri;
	const struct resource *r;
	struct json_val target = json_root(NULL);

	if (ref == NULL)
		return false;
	hash = ref + strcspn(ref, "#");
	uri = absolute(s, k->arg, ref, (size_t)(hash - ref));
	if (uri == NULL) {
		free(ref);
		return false;
	}
	r = find_resource(s, uri);
	free(uri);
	if (*hash == '#')
		hash++;
	if (r != NULL && percent_decode(hash)) {
		target.doc = s->doc;
		target.at = r->at;
		target = *hash == '\0' || *hash == '/'
		    ? follow_pointer(target, hash)
		    : find_anchor(s, r, hash);
	}
	free(ref);
	if (!json_is_missing(target))
		return schema_node(s, target, &k->node);
	schema_quote(k->arg, quote);
	if (r == NULL)
		return schema_fail(s, SCHEMA_ERROR_UNSUPPORTED, k->arg,
		    "\"$ref\" %s is not in this schema", quote);
	return schema_fail(s, SCHEMA_ERROR_MALFORMED, k->arg,
	    "\"$ref\" %s points nowhere", quote);
}

void
schema_free_refs(struct schema *s)
{
	for (size_t i = 0; i < s->nresources; i++)
		free(s->resources[i].uri);
	for (size_t i = 0; i < s->nanchors; i++)
		free(s->anchors[i].name);
	free(s->resources);
	free(s->anchors);
	s->resources = NULL;
	s->anchors = NULL;
	s->nresources = s->nanchors = 0;
}
