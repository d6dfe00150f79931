/*
 * JSON texts: the parser against a plain reading of the grammar and against
 * json-c, all accessors, the router of browser messages against the parser, and
 * what the writers write read back.
 */
#include "common/panic.h"
#include "json/canon.h"
#include "json/span.h"
#include "json/writer.h"
#include "t/fuzz/fuzz.h"
#include "t/fuzz/json_plain.h"
#include "t/unit/json_oracle.h"
#include "t/unit/json_support.h"

static const struct json_limits deep = { 0, JSON_DEPTH_MAX };

static struct json_doc *
read_text(const uint8_t *bytes, size_t len, unsigned flags,
    enum json_error_kind *ret_kind)
{
	struct json_error e = { 0 };
	struct json_doc *doc = NULL;

	*ret_kind = JSON_ERROR_NONE;
	if (json_parse(bytes, len, &deep, flags, &doc, &e)) {
		ASSERT(doc != NULL && doc_is_sound(doc));
		return doc;
	}
	ASSERT(doc == NULL && e.kind != JSON_ERROR_NONE && e.offset <= len);
	ASSERT(e.line >= 1 && e.column >= 1 && e.message != NULL);
	*ret_kind = e.kind;
	return NULL;
}

static struct buf
canon_of(struct json_val v)
{
	struct buf b;

	buf_init(&b, 16 << 20);
	ASSERT(json_canon_add(v, &b));
	return b;
}

static void
same_canon(const struct buf *want, struct json_val v)
{
	struct buf b = canon_of(v);

	ASSERT(b.len == want->len && memcmp(b.data, want->data, b.len) == 0);
	buf_clear(&b);
}

/* Text of ours: it reads back, and means the same. */
static void
reads_back(struct buf *text, const struct buf *canon)
{
	enum json_error_kind kind;
	struct json_doc *doc = read_text(text->data, text->len, 0, &kind);

	ASSERT(doc != NULL);
	same_canon(canon, json_root(doc));
	json_doc_free(&doc);
	buf_clear(text);
}

static void
check_writers(struct json_val v, const struct buf *canon)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 64 << 20);
	ASSERT(json_pretty(v, &b));
	reads_back(&b, canon);
	json_writer_init(&w, &b);
	json_write_val(&w, v);
	ASSERT(json_writer_finish(&w));
	reads_back(&b, canon);
	ASSERT(buf_add(&b, canon->data, canon->len));
	reads_back(&b, canon);
}

/* Strings and numbers through the writer's own spelling of them. */
static void
check_scalars(const struct json_doc *doc)
{
	struct json_val v = json_root(doc), back;
	struct json_writer w;
	struct json_doc *copy = NULL;
	struct buf b;
	char *s;
	int64_t i, j = 0;
	double d, e = 0;
	size_t len;

	buf_init(&b, 16 << 20);
	for (uint32_t end = json_iter(v).end; v.at == 0 || v.at < end; v.at++) {
		json_writer_init(&w, &b);
		if (json_is_string(v)) {
			s = json_str_dup(v, &len);
			json_write_strn(&w, s, len);
			ASSERT(json_parse(b.data, b.len, NULL, 0, &copy, NULL));
			ASSERT(json_str_eqn(json_root(copy), s, len));
			ASSERT(json_str_cmp(json_root(copy), v) == 0);
			free(s);
		} else if (json_get_int64(v, &i)) {
			json_write_int64(&w, i);
			ASSERT(json_parse(b.data, b.len, NULL, 0, &copy, NULL));
			back = json_root(copy);
			ASSERT(json_get_int64(back, &j) && i == j);
		} else if (json_get_double(v, &d)) {
			json_write_double(&w, d);
			ASSERT(json_parse(b.data, b.len, NULL, 0, &copy, NULL));
			back = json_root(copy);
			ASSERT(json_get_double(back, &e) && d == e);
		}
		json_doc_free(&copy);
		buf_reset(&b);
	}
	buf_clear(&b);
}

/* Members as the router of browser messages finds them. */
static void
check_router(const uint8_t *bytes, size_t len, const struct json_doc *doc)
{
	static const char *const keys[] = { "id", "method", "params", "result",
		"error", "sessionId" };
	struct json_envelope e = { 0 };
	const struct json_span *spans[] = { &e.id, &e.method, &e.params,
		&e.result, &e.error, &e.session_id };
	bool split = json_envelope_scan(bytes, len, &e);
	struct json_span text = { bytes, len }, at[6];

	if (split) {
		ASSERT(json_span_members(text, keys, 6, at));
		for (size_t i = 0; i < 6; i++)
			ASSERT(at[i].ptr == spans[i]->ptr &&
			    at[i].len == spans[i]->len);
		for (size_t i = 0; i < 6; i++)
			ASSERT(spans[i]->ptr == NULL ||
			    (spans[i]->ptr >= bytes &&
				spans[i]->ptr + spans[i]->len <= bytes + len));
	}
	if (doc == NULL)
		return;
	ASSERT(split == json_is_object(json_root(doc)));
	for (size_t i = 0; split && i < 6; i++) {
		struct json_val v = json_obj_get(json_root(doc), keys[i]);
		struct json_span whole = { bytes, len }, member = { NULL, 0 };
		const uint8_t *raw = NULL;
		int64_t a = 0, b = 0;
		size_t n = 0;

		ASSERT(json_is_missing(v) == (spans[i]->ptr == NULL));
		if (!json_raw(v, &raw, &n))
			continue;
		ASSERT(raw == spans[i]->ptr && n == spans[i]->len);
		ASSERT(json_span_member(whole, keys[i], &member));
		ASSERT(member.ptr == raw && member.len == n);
		ASSERT(json_span_is_string(member) == json_is_string(v));
		ASSERT(
		    json_span_get_int64(member, &a) == json_get_int64(v, &b));
		ASSERT(a == b);
	}
}

/* json-c takes more than we do, and nothing of what we take otherwise. */
static void
check_oracle(const uint8_t *bytes, size_t len)
{
#ifdef HAVE_JSON_C
	char *text = malloc(len + 1), *theirs;

	ASSERT(text != NULL);
	memcpy(text, bytes, len);
	text[len] = '\0';
	theirs = oracle_respell(text, len);
	ASSERT(theirs != NULL);
	free(theirs);
	free(text);
#endif
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum json_error_kind kind, strict_kind, repair_kind;
	struct json_doc *doc, *strict, *repaired;
	struct buf canon;

	doc = read_text(bytes, size, JSON_BORROW, &kind);
	strict = read_text(bytes, size, JSON_DUP_ERROR, &strict_kind);
	repaired = read_text(bytes, size, JSON_REPAIR_UTF8, &repair_kind);
	ASSERT((doc != NULL) == json_plain_valid(bytes, size, JSON_DEPTH_MAX));
	check_router(bytes, size, doc);
	if (doc != NULL) {
		ASSERT(strict != NULL || strict_kind == JSON_ERROR_DUPLICATE);
		ASSERT(repaired != NULL);
		check_oracle(bytes, size);
		check_scalars(doc);
	} else
		ASSERT(strict == NULL);
	if (repaired != NULL) {
		canon = canon_of(json_root(repaired));
		if (doc != NULL)
			same_canon(&canon, json_root(doc));
		check_writers(json_root(repaired), &canon);
		buf_clear(&canon);
	}
	json_doc_free(&doc);
	json_doc_free(&strict);
	json_doc_free(&repaired);
	return 0;
}
