/*
 * Inputs from the command line. Runs in browsertaskctl; reads the files that
 * were named to it and nothing else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "ctl/ctl.h"
#include "ctl/inputs.h"
#include "json/writer.h"
#include "model/limits.h"

/* One argument, cut at its = or :=. */
struct pair {
	const char *key;
	size_t key_len;
	const char *value;
	bool is_json;
};

static bool
pair_cut(const char *arg, struct pair *ret)
{
	const char *eq = strchr(arg, '=');

	if (eq == NULL || eq == arg)
		return false;
	ret->key = arg;
	ret->is_json = eq[-1] == ':';
	ret->key_len = (size_t)(eq - arg) - ret->is_json;
	ret->value = eq + 1;
	return ret->key_len > 0;
}

static bool
same_key(const struct pair *a, const struct pair *b)
{
	return a->key_len == b->key_len &&
	    memcmp(a->key, b->key, a->key_len) == 0;
}

static bool
is_document(const char *arg)
{
	return arg[0] == '@' || strcmp(arg, "-") == 0;
}

static bool
slurp(const char *path, struct buf *b)
{
	bool in = strcmp(path, "-") == 0;
	FILE *f = in ? stdin : fopen(path, "r");
	uint8_t *room;
	size_t n;
	bool good;

	if (f == NULL) {
		ctl_error("%s: %s", path, strerror(errno));
		return false;
	}
	while ((room = buf_reserve(b, 16384)) != NULL &&
	    (n = fread(room, 1, 16384, f)) > 0)
		b->len += n;
	good = !ferror(f) && !b->failed;
	if (!good)
		ctl_error("%s: %s", in ? "standard input" : path,
		    b->failed ? "too long" : strerror(errno));
	if (!in)
		fclose(f);
	return good;
}

static bool
parse(const uint8_t *bytes, size_t len, const char *name,
    struct json_doc **ret_doc)
{
	struct json_error e;

	if (json_parse(bytes, len, NULL, JSON_DUP_ERROR, ret_doc, &e))
		return true;
	ctl_error(
	    "%s: line %u, column %u: %s", name, e.line, e.column, e.message);
	return false;
}

/* A word as the schema wants it; as a string when it does not fit. */
static void
put_word(
    struct json_writer *w, const char *text, size_t len, struct json_val type)
{
	struct json_doc *doc = NULL;
	struct json_val v;
	bool fits = false;

	if ((json_str_eq(type, "integer") || json_str_eq(type, "number") ||
		json_str_eq(type, "boolean") || json_str_eq(type, "object")) &&
	    json_parse((const uint8_t *)text, len, NULL, 0, &doc, NULL)) {
		v = json_root(doc);
		fits = json_str_eq(type, "boolean") ? json_is_bool(v)
		    : json_str_eq(type, "object")   ? json_is_object(v)
						    : json_is_number(v);
		if (fits)
			json_write_val(w, v);
	}
	if (!fits)
		json_write_strn(w, text, len);
	json_doc_free(&doc);
}

static bool
put_lines(struct json_writer *w, const char *path, struct json_val type)
{
	const char *at, *end, *stop;
	bool good = true;
	struct buf b;

	buf_init(&b, LIMIT_INPUT_BYTES);
	if (!slurp(path, &b)) {
		buf_clear(&b);
		return false;
	}
	end = (const char *)b.data + b.len;
	for (at = (const char *)b.data; at < end; at = stop + 1) {
		size_t len;

		stop = memchr(at, '\n', (size_t)(end - at));
		if (stop == NULL)
			stop = end;
		len = (size_t)(stop - at);
		if (len > 0 && at[len - 1] == '\r')
			len--;
		if (!json_str_is_exact(at, len)) {
			ctl_error("%s: %.*s is not UTF-8", path, (int)len, at);
			good = false;
			break;
		}
		if (len > 0)
			put_word(w, at, len, type);
	}
	buf_clear(&b);
	return good;
}

static bool
put_one(struct json_writer *w, const struct pair *p, struct json_val type)
{
	struct json_doc *doc = NULL;

	if (p->is_json) {
		if (!parse((const uint8_t *)p->value, strlen(p->value), p->key,
			&doc))
			return false;
		json_write_val(w, json_root(doc));
		json_doc_free(&doc);
		return true;
	}
	if (p->value[0] == '@')
		return put_lines(w, p->value + 1, type);
	put_word(w, p->value, strlen(p->value), type);
	return true;
}

/* All arguments with the key of args[first]. */
static bool
put_key(struct json_writer *w, char *const *args, int nargs, int first,
    struct json_val schema)
{
	struct json_val property, type;
	struct pair p = { 0 }, q = { 0 };
	bool array, good = pair_cut(args[first], &p);
	int count = 0;

	ASSERT(good);
	for (int i = first; i < nargs; i++)
		if (!is_document(args[i]) && pair_cut(args[i], &q))
			count += same_key(&p, &q);
	property =
	    json_obj_getn(json_obj_get(schema, "properties"), p.key, p.key_len);
	type = json_obj_get(property, "type");
	array = count > 1 ||
	    (!p.is_json && (p.value[0] == '@' || json_str_eq(type, "array")));
	if (json_str_eq(type, "array"))
		type = json_obj_get(json_obj_get(property, "items"), "type");
	json_write_keyn(w, p.key, p.key_len);
	if (array)
		json_write_begin_array(w);
	for (int i = first; i < nargs && good; i++)
		if (!is_document(args[i]) && pair_cut(args[i], &q) &&
		    same_key(&p, &q))
			good = put_one(w, &q, type);
	if (!good && !array)
		json_write_null(w);
	if (array)
		json_write_end_array(w);
	return good;
}

static bool
key_before(char *const *args, int at)
{
	struct pair p = { 0 }, q = { 0 };

	pair_cut(args[at], &p);
	for (int i = 0; i < at; i++)
		if (!is_document(args[i]) && pair_cut(args[i], &q) &&
		    same_key(&p, &q))
			return true;
	return false;
}

static bool
key_given(char *const *args, int nargs, struct json_val key)
{
	struct pair p;

	for (int i = 0; i < nargs; i++)
		if (!is_document(args[i]) && pair_cut(args[i], &p) &&
		    json_str_eqn(key, p.key, p.key_len))
			return true;
	return false;
}

/* The members of a whole document that no argument replaces. */
static bool
put_document(
    struct json_writer *w, const char *arg, char *const *args, int nargs)
{
	const char *path = arg[0] == '@' ? arg + 1 : arg;
	struct json_doc *doc = NULL;
	struct json_iter it;
	struct buf b;
	bool good = false;

	buf_init(&b, LIMIT_INPUT_BYTES);
	if (!slurp(path, &b) || !parse(b.data, b.len, path, &doc))
		goto out;
	if (!json_is_object(json_root(doc))) {
		ctl_error("%s: inputs are an object", path);
		goto out;
	}
	it = json_iter(json_root(doc));
	while (json_iter_next(&it)) {
		size_t len = 0;
		char *key;

		if (key_given(args, nargs, it.key))
			continue;
		key = json_str_dup(it.key, &len);
		if (key == NULL)
			goto out;
		json_write_keyn(w, key, len);
		free(key);
		json_write_val(w, it.val);
	}
	good = true;
out:
	json_doc_free(&doc);
	buf_clear(&b);
	return good;
}

bool
inputs_build(
    char *const *args, int nargs, struct json_val schema, struct buf *ret_json)
{
	struct json_writer w;
	struct pair p;
	int documents = 0;

	for (int i = 0; i < nargs; i++) {
		documents += is_document(args[i]);
		if (!is_document(args[i]) && !pair_cut(args[i], &p)) {
			ctl_error("%s is none of key=value, key:=JSON, @FILE "
				  "and -",
			    args[i]);
			return false;
		}
		if (!json_str_is_exact(args[i], strlen(args[i]))) {
			ctl_error("%s is not UTF-8", args[i]);
			return false;
		}
	}
	if (documents > 1) {
		ctl_error("only one of the inputs can be a whole document");
		return false;
	}
	json_writer_init(&w, ret_json);
	json_write_begin_object(&w);
	for (int i = 0; i < nargs; i++) {
		bool good = is_document(args[i])
		    ? put_document(&w, args[i], args, nargs)
		    : key_before(args, i) ||
			put_key(&w, args, nargs, i, schema);

		if (!good)
			return false;
	}
	json_write_end_object(&w);
	if (json_writer_finish(&w))
		return true;
	ctl_error("the inputs are too long");
	return false;
}
