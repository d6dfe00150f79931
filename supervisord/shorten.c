/*
 * Cutting documents for supervisord's answers. Tries ever shorter forms until
 * one fits; never recurses, since the documents come from workers.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisord/reply.h"
#include "supervisord/shorten.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* How long things may be: texts first, the lists readers page in last. */
struct cut {
	size_t string; /* bytes */
	size_t nested; /* elements of a list */
	size_t top;    /* of one that is a member of the document itself */
};

static const struct cut cuts[] = {
	{ 4000, 100, 1000 },
	{ 2000, 50, 1000 },
	{ 1000, 30, 1000 },
	{ 500, 15, 1000 },
	{ 300, 8, 1000 },
	{ 200, 4, 1000 },
	{ 200, 2, 1000 },
	{ 200, 1, 1000 },
	{ 200, 0, 1000 },
	{ 200, 0, 300 },
	{ 200, 0, 100 },
	{ 200, 0, 40 },
	{ 200, 0, 15 },
	{ 200, 0, 5 },
	{ 100, 0, 1 },
	{ 100, 0, 0 },
};
#define NCUTS (sizeof(cuts) / sizeof(cuts[0]))

struct frame {
	struct json_iter it;
	bool array;
	size_t left;
};

struct cutter {
	const struct cut *cut;
	struct json_writer *w;
	struct frame stack[JSON_DEPTH_DEFAULT];
	unsigned depth;
};

static void
cutter_open(struct cutter *c, struct json_val v)
{
	struct frame *f = &c->stack[c->depth++];

	f->it = json_iter(v);
	f->array = json_is_array(v);
	/* A list is the document's own when it is the document or a member. */
	f->left = c->depth <= 2 ? c->cut->top : c->cut->nested;
	if (f->array)
		json_write_begin_array(c->w);
	else
		json_write_begin_object(c->w);
}

static void
cutter_close(struct cutter *c)
{
	if (c->stack[--c->depth].array)
		json_write_end_array(c->w);
	else
		json_write_end_object(c->w);
}

static void
cutter_string(struct cutter *c, struct json_val v)
{
	size_t len = c->cut->string;
	struct buf b;

	if (json_str_len(v) <= len) {
		json_write_val(c->w, v);
		return;
	}
	buf_init(&b, JSON_BYTES_MAX);
	if (json_str_add(v, &b)) {
		while (len > 0 && (b.data[len] & 0xc0) == 0x80)
			len--;
		b.len = len;
		buf_add_str(&b, ELLIPSIS);
	}
	json_write_strn(c->w, b.len == 0 ? "" : (const char *)b.data, b.len);
	buf_clear(&b);
}

static bool
cutter_key(struct cutter *c, struct json_val key)
{
	size_t len;
	char *text = json_str_dup(key, &len);

	if (text == NULL)
		return false;
	json_write_keyn(c->w, text, len);
	free(text);
	return true;
}

/* The next value of the innermost frame; false when there is none. */
static bool
cutter_step(struct cutter *c)
{
	struct frame *f = &c->stack[c->depth - 1];

	if (f->array && f->left-- == 0)
		return false;
	do {
		if (!json_iter_next(&f->it))
			return false;
	} while (c->depth == 1 && json_str_eq(f->it.key, "truncated"));
	if (!f->array && !cutter_key(c, f->it.key))
		return false;
	if (json_is_string(f->it.val))
		cutter_string(c, f->it.val);
	else if ((json_is_array(f->it.val) || json_is_object(f->it.val)) &&
	    c->depth < JSON_DEPTH_DEFAULT)
		cutter_open(c, f->it.val);
	else
		json_write_val(c->w, f->it.val);
	return true;
}

static void
write_truncated(struct json_val v, const struct cut *cut,
    const struct ulid *artifact, struct json_writer *w)
{
	struct json_val items = json_obj_get(v, "items");
	size_t shown = json_len(items);
	int64_t total = (int64_t)shown;

	json_get_int64(
	    json_obj_get(json_obj_get(v, "truncated"), "totalItems"), &total);
	json_write_key(w, "truncated");
	json_write_begin_object(w);
	if (json_is_array(items)) {
		json_put_int64(w, "shownItems",
		    (int64_t)(shown < cut->top ? shown : cut->top));
		json_put_int64(w, "totalItems", total);
	}
	if (artifact != NULL)
		json_put_id(w, "artifactId", "art_", artifact);
	else
		json_put_null(w, "artifactId");
	json_write_end_object(w);
}

/* One form of it; whether it fits in out's limit. */
static bool
write_form(struct json_val v, const struct cut *cut, bool result,
    const struct ulid *artifact, struct buf *out)
{
	struct json_writer w;
	struct cutter c = { .cut = cut, .w = &w };

	buf_reset(out);
	json_writer_init(&w, out);
	cutter_open(&c, v);
	while (c.depth > 0 && !out->failed) {
		if (cutter_step(&c))
			continue;
		if (c.depth == 1 && result)
			write_truncated(v, cut, artifact, &w);
		cutter_close(&c);
	}
	return !out->failed && json_writer_finish(&w);
}

static void
shorten(struct json_val v, size_t max_bytes, bool result,
    const struct ulid *artifact, struct json_writer *w)
{
	struct cut nothing = { 0, 0, 0 };
	bool array = json_is_array(v), good = false;
	struct buf b;

	buf_init(&b, max_bytes);
	for (size_t i = 0; i < NCUTS && !good; i++)
		good = (array || json_is_object(v)) &&
		    write_form(v, &cuts[i], result, artifact, &b);
	if (good) {
		json_write_raw(w, b.data, b.len);
	} else if (array) {
		json_write_raw(w, "[]", 2);
	} else {
		json_write_begin_object(w);
		if (result)
			write_truncated(v, &nothing, artifact, w);
		json_write_end_object(w);
	}
	buf_clear(&b);
}

void
shorten_write(struct json_val v, size_t max_bytes, struct json_writer *w)
{
	shorten(v, max_bytes, false, NULL, w);
}

void
shorten_result(struct json_val v, size_t max_bytes, const struct ulid *artifact,
    struct json_writer *w)
{
	shorten(v, max_bytes, true, artifact, w);
}
