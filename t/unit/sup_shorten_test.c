/* Documents that are cut to fit an answer keep their shape. */
#include <stdlib.h>
#include <string.h>

#include "supervisord/shorten.h"
#include "t/unit/tap.h"

#define ITEMS 40

static struct buf out;

static void
write_document(struct buf *b)
{
	char text[601];
	struct json_writer w;

	memset(text, 'x', 600);
	text[600] = '\0';
	buf_init(b, 1 << 20);
	json_writer_init(&w, b);
	json_write_begin_object(&w);
	json_write_key(&w, "items");
	json_write_begin_array(&w);
	for (int i = 0; i < ITEMS; i++) {
		json_write_begin_object(&w);
		json_put_int64(&w, "n", i);
		json_write_key(&w, "sections");
		json_write_begin_array(&w);
		for (int j = 0; j < 12; j++)
			json_write_str(&w, text);
		json_write_end_array(&w);
		json_write_end_object(&w);
	}
	json_write_end_array(&w);
	json_write_key(&w, "summary");
	json_write_begin_object(&w);
	json_put_int64(&w, "total", ITEMS);
	json_write_end_object(&w);
	json_write_end_object(&w);
	ok(json_writer_finish(&w), "a document of %zu bytes", b->len);
}

static struct json_doc *
cut(struct json_val v, size_t max, bool result)
{
	static const struct ulid id = { { 1 } };
	struct json_doc *doc = NULL;
	struct json_writer w;

	buf_reset(&out);
	json_writer_init(&w, &out);
	if (result)
		shorten_result(v, max, &id, &w);
	else
		shorten_write(v, max, &w);
	ok(json_writer_finish(&w) &&
		json_parse(out.data, out.len, NULL, 0, &doc, NULL) &&
		(out.len <= max || out.len < 160),
	    "%zu: %zu bytes of JSON", max, out.len);
	return doc;
}

static void
test_result(struct json_val v)
{
	static const size_t sizes[] = { 200000, 65536, 24576, 8192, 4096, 1024,
		100, 1 };
	size_t before = ITEMS;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct json_doc *doc = cut(v, sizes[i], true);
		struct json_val r = json_root(doc),
				t = json_obj_get(r, "truncated");
		size_t n = json_len(json_obj_get(r, "items"));
		int64_t shown = -1, total = -1;
		bool has = json_is_array(json_obj_get(r, "items"));

		json_get_int64(json_obj_get(t, "shownItems"), &shown);
		json_get_int64(json_obj_get(t, "totalItems"), &total);
		ok(has || sizes[i] < 200, "the list is there");
		is_int(shown, (int64_t)n, "and counted");
		is_int(total, ITEMS, "as all are");
		ok(n <= before, "less room, fewer items: %zu", n);
		ok(json_is_string(json_obj_get(t, "artifactId")),
		    "the artifact is named");
		before = n;
		json_doc_free(&doc);
	}
	ok(before == 0, "in the end nothing is left");
}

static void
test_items_before_texts(struct json_val v)
{
	struct json_doc *doc = cut(v, 24576, true);
	struct json_val items = json_obj_get(json_root(doc), "items");
	struct json_val texts =
	    json_obj_get(json_arr_get(items, 0), "sections");
	char *text;
	size_t len;

	is_int((int64_t)json_len(items), ITEMS, "texts are cut before items");
	text = json_str_dup(json_arr_get(texts, 0), &len);
	ok(text != NULL && len > 3 &&
		strcmp(text + len - 3, "\xe2\x80\xa6") == 0,
	    "and show it");
	free(text);
	json_doc_free(&doc);
}

static void
test_others(void)
{
	static const char wide[] = "[\"\xc3\xa9\xc3\xa9\",7,null,true,{}]";
	struct json_doc *in = NULL, *doc;
	struct json_writer w;
	struct buf b;

	ok(json_parse((const uint8_t *)wide, strlen(wide), NULL, 0, &in, NULL),
	    "a small list");
	doc = cut(json_root(in), 100, false);
	is_int((int64_t)json_len(json_root(doc)), 5, "stays as it is");
	json_doc_free(&doc);
	doc = cut(json_root(in), 2, false);
	is_int((int64_t)json_len(json_root(doc)), 0, "or is emptied");
	json_doc_free(&doc);
	json_doc_free(&in);

	buf_init(&b, 1 << 20);
	json_writer_init(&w, &b);
	json_write_begin_array(&w);
	buf_reset(&out);
	buf_add_str(&out, "a");
	for (int i = 0; i < 4000; i++)
		buf_add_str(&out, "\xc3\xa9");
	json_write_strn(&w, (const char *)out.data, out.len);
	json_write_end_array(&w);
	ok(json_writer_finish(&w) &&
		json_parse(b.data, b.len, NULL, 0, &in, NULL),
	    "characters of two bytes");
	doc = cut(json_root(in), 1000, false);
	ok(json_len(json_root(doc)) == 1 &&
		json_str_len(json_arr_get(json_root(doc), 0)) == 499 + 3,
	    "are never cut within");
	json_doc_free(&doc);
	json_doc_free(&in);
	buf_clear(&b);
}

int
main(void)
{
	struct json_doc *doc = NULL;
	struct buf b;

	buf_init(&out, 1 << 20);
	write_document(&b);
	ok(json_parse(b.data, b.len, NULL, 0, &doc, NULL), "parsed");
	test_result(json_root(doc));
	test_items_before_texts(json_root(doc));
	test_others();
	json_doc_free(&doc);
	buf_clear(&b);
	buf_clear(&out);
	return done_testing();
}
