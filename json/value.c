/* Values of a parsed document: types, members, numbers, strings. */
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "json/number.h"
#include "json/tape_int.h"
#include "json/text.h"

static const struct json_val missing;

void
json_doc_free(struct json_doc **docp)
{
	struct json_doc *doc = *docp;

	if (doc == NULL)
		return;
	MAGIC_CHECK(doc, JSON_DOC_MAGIC);
	doc->magic = 0;
	if (doc->copy != NULL) /* it may be the message of a client */
		explicit_bzero(doc->copy, doc->len);
	free(doc->copy);
	free(doc->tape);
	free(doc);
	*docp = NULL;
}

struct json_val
json_root(const struct json_doc *doc)
{
	struct json_val v = { doc, 0 };

	return v;
}

size_t
json_doc_bytes(const struct json_doc *doc)
{
	MAGIC_CHECK(doc, JSON_DOC_MAGIC);
	return sizeof(*doc) + doc->ntokens * sizeof(*doc->tape) +
	    (doc->copy == NULL ? 0 : doc->len);
}

static uint64_t
token(struct json_val v)
{
	MAGIC_CHECK(v.doc, JSON_DOC_MAGIC);
	ASSERT(v.at < v.doc->ntokens);
	return v.doc->tape[v.at];
}

static const uint8_t *
text_of(struct json_val v, uint64_t t)
{
	return v.doc->bytes + token_off(t);
}

enum json_type
json_type_of(struct json_val v)
{
	static const enum json_type types[TOKEN__MAX] = {
		[TOKEN_NULL] = JSON_NULL,
		[TOKEN_FALSE] = JSON_BOOL,
		[TOKEN_TRUE] = JSON_BOOL,
		[TOKEN_NUMBER] = JSON_NUMBER,
		[TOKEN_STRING] = JSON_STRING,
		[TOKEN_ARRAY] = JSON_ARRAY,
		[TOKEN_OBJECT] = JSON_OBJECT,
		[TOKEN_CLOSE] = JSON_MISSING,
	};

	return v.doc == NULL ? JSON_MISSING : types[token_type(token(v))];
}

const char *
json_type_name(enum json_type type)
{
	static const char *const names[JSON_TYPE__MAX] = {
		[JSON_MISSING] = "nothing",
		[JSON_NULL] = "null",
		[JSON_BOOL] = "boolean",
		[JSON_NUMBER] = "number",
		[JSON_STRING] = "string",
		[JSON_ARRAY] = "array",
		[JSON_OBJECT] = "object",
	};

	return names[type];
}

bool
json_is_missing(struct json_val v)
{
	return v.doc == NULL;
}

bool
json_is_null(struct json_val v)
{
	return json_type_of(v) == JSON_NULL;
}

bool
json_is_bool(struct json_val v)
{
	return json_type_of(v) == JSON_BOOL;
}

bool
json_is_number(struct json_val v)
{
	return json_type_of(v) == JSON_NUMBER;
}

bool
json_is_string(struct json_val v)
{
	return json_type_of(v) == JSON_STRING;
}

bool
json_is_array(struct json_val v)
{
	return json_type_of(v) == JSON_ARRAY;
}

bool
json_is_object(struct json_val v)
{
	return json_type_of(v) == JSON_OBJECT;
}

size_t
json_len(struct json_val v)
{
	enum json_type type = json_type_of(v);

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return 0;
	return token_aux(v.doc->tape[token_aux(token(v))]);
}

struct json_iter
json_iter(struct json_val v)
{
	struct json_iter it = { 0 };
	enum json_type type = json_type_of(v);

	if (type != JSON_ARRAY && type != JSON_OBJECT)
		return it;
	it.val.doc = v.doc;
	it.key.doc = type == JSON_OBJECT ? v.doc : NULL;
	it.next = v.at + 1;
	it.end = token_aux(token(v));
	return it;
}

bool
json_iter_next(struct json_iter *it)
{
	if (it->next >= it->end)
		return false;
	if (it->key.doc != NULL)
		it->key.at = it->next++;
	it->val.at = it->next;
	it->next = tape_skip(it->val.doc->tape, it->next);
	return true;
}

struct json_val
json_obj_getn(struct json_val v, const char *key, size_t len)
{
	struct json_val found = missing;
	struct json_iter it;

	if (!json_is_object(v))
		return missing;
	for (it = json_iter(v); json_iter_next(&it);) {
		if (!json_str_eqn(it.key, key, len))
			continue;
		found = it.val;
		if (v.doc->unique)
			break;
	}
	return found;
}

struct json_val
json_obj_get(struct json_val v, const char *key)
{
	return json_obj_getn(v, key, strlen(key));
}

struct json_val
json_obj_getv(struct json_val v, struct json_val key)
{
	struct json_val found = missing;
	struct json_iter it;
	const char *name;
	size_t len;

	name = json_str_borrow(key, &len);
	if (name != NULL)
		return json_obj_getn(v, name, len);
	if (!json_is_object(v) || !json_is_string(key))
		return missing;
	for (it = json_iter(v); json_iter_next(&it);)
		if (json_str_cmp(it.key, key) == 0)
			found = it.val;
	return found;
}

struct json_val
json_arr_get(struct json_val v, size_t index)
{
	struct json_iter it;

	if (!json_is_array(v))
		return missing;
	for (it = json_iter(v); json_iter_next(&it);)
		if (index-- == 0)
			return it.val;
	return missing;
}

bool
json_get_bool(struct json_val v, bool *ret)
{
	if (!json_is_bool(v))
		return false;
	*ret = token_type(token(v)) == TOKEN_TRUE;
	return true;
}

bool
json_get_int64(struct json_val v, int64_t *ret)
{
	struct json_decimal d;
	uint64_t t;

	if (!json_is_number(v))
		return false;
	t = token(v);
	d = json_decimal_read(text_of(v, t), token_aux(t));
	return json_decimal_int64(&d, ret);
}

bool
json_get_double(struct json_val v, double *ret)
{
	struct json_decimal d;
	uint64_t t;
	double n;

	if (!json_is_number(v))
		return false;
	t = token(v);
	d = json_decimal_read(text_of(v, t), token_aux(t));
	if (!json_decimal_double(&d, &n))
		return false;
	*ret = n == 0 && *text_of(v, t) == '-' ? -0.0 : n;
	return true;
}

size_t
json_str_len(struct json_val v)
{
	uint64_t t;

	if (!json_is_string(v))
		return 0;
	t = token(v);
	if (!token_flag(t))
		return token_aux(t);
	return json_text_len(text_of(v, t), token_aux(t));
}

const char *
json_str_borrow(struct json_val v, size_t *ret_len)
{
	uint64_t t;

	if (!json_is_string(v) || token_flag(token(v)))
		return NULL;
	t = token(v);
	*ret_len = token_aux(t);
	return (const char *)text_of(v, t);
}

bool
json_str_copy(struct json_val v, char *dst, size_t size)
{
	uint64_t t;

	if (!json_is_string(v))
		return false;
	t = token(v);
	return json_text_copy(text_of(v, t), token_aux(t), dst, size);
}

bool
json_str_cut(struct json_val v, char *dst, size_t size)
{
	size_t len = 0;
	char *text = json_str_dup(v, &len);
	bool good = text != NULL && memchr(text, '\0', len) == NULL && size > 0;

	if (good) {
		if (len >= size)
			for (len = size - 1;
			     len > 0 && ((uint8_t)text[len] & 0xc0) == 0x80;)
				len--;
		memcpy(dst, text, len);
		dst[len] = '\0';
	}
	free(text);
	return good;
}

char *
json_str_dup(struct json_val v, size_t *ret_len)
{
	uint64_t t;
	size_t len;
	uint8_t *s;

	if (!json_is_string(v))
		return NULL;
	t = token(v);
	len = json_str_len(v);
	s = malloc(len + 1);
	if (s == NULL)
		return NULL;
	json_text_decode(text_of(v, t), token_aux(t), s);
	s[len] = '\0';
	if (ret_len != NULL)
		*ret_len = len;
	return (char *)s;
}

bool
json_str_add(struct json_val v, struct buf *out)
{
	uint64_t t;

	if (!json_is_string(v))
		return false;
	t = token(v);
	return json_text_add(text_of(v, t), token_aux(t), out);
}

bool
json_str_eqn(struct json_val v, const char *bytes, size_t len)
{
	uint64_t t;

	if (!json_is_string(v))
		return false;
	t = token(v);
	if (!token_flag(t))
		return token_aux(t) == len &&
		    (len == 0 || memcmp(text_of(v, t), bytes, len) == 0);
	return json_text_eq(text_of(v, t), token_aux(t), bytes, len);
}

bool
json_str_eq(struct json_val v, const char *text)
{
	return json_str_eqn(v, text, strlen(text));
}

int
json_str_cmp(struct json_val a, struct json_val b)
{
	uint64_t ta, tb;

	if (!json_is_string(a) || !json_is_string(b))
		return 0;
	ta = token(a);
	tb = token(b);
	return json_text_cmp(
	    text_of(a, ta), token_aux(ta), text_of(b, tb), token_aux(tb));
}

bool
json_raw(struct json_val v, const uint8_t **ret, size_t *ret_len)
{
	uint64_t t;
	size_t off, len;

	if (json_is_missing(v))
		return false;
	t = token(v);
	off = token_off(t);
	len = token_aux(t);
	if (token_type(t) == TOKEN_STRING) {
		off--;
		len += 2;
	} else if (token_type(t) == TOKEN_ARRAY ||
	    token_type(t) == TOKEN_OBJECT) {
		len = token_off(v.doc->tape[len]) + 1 - off;
	}
	*ret = v.doc->bytes + off;
	*ret_len = len;
	return true;
}
