#include <math.h>
#include <string.h>

#include "common/panic.h"
#include "json/number.h"
#include "json/scan.h"
#include "json/tape_int.h"
#include "json/text.h"
#include "json/writer.h"

/* State of an open array or object. */
#define LEVEL_OBJECT 0x01u
#define LEVEL_FILLED 0x02u /* a comma comes before the next element */
#define LEVEL_KEY    0x04u /* a key waits for its value */

void
json_writer_init(struct json_writer *w, struct buf *out)
{
	w->out = out;
	w->indent = 0;
	w->depth = 0;
	w->done = false;
}

void
json_writer_init_pretty(struct json_writer *w, struct buf *out)
{
	json_writer_init(w, out);
	w->indent = 2;
}

bool
json_writer_finish(struct json_writer *w)
{
	ASSERT(w->depth == 0 && w->done);
	return !w->out->failed;
}

static void
newline(struct json_writer *w)
{
	if (w->indent != 0)
		buf_addf(w->out, "\n%*s", (int)(w->indent * w->depth), "");
}

static uint8_t *
top(struct json_writer *w)
{
	return &w->level[w->depth - 1];
}

static void
separate(struct json_writer *w)
{
	if (*top(w) & LEVEL_FILLED)
		buf_add(w->out, ",", 1);
	*top(w) |= LEVEL_FILLED;
	newline(w);
}

/* Every value begins here. */
static void
begin_value(struct json_writer *w)
{
	if (w->depth == 0) {
		ASSERT(!w->done);
		w->done = true;
	} else if (*top(w) & LEVEL_OBJECT) {
		ASSERT(*top(w) & LEVEL_KEY);
		*top(w) &= (uint8_t)~LEVEL_KEY;
	} else {
		separate(w);
	}
}

static void
begin_key(struct json_writer *w)
{
	ASSERT(w->depth != 0 && (*top(w) & LEVEL_OBJECT));
	ASSERT(!(*top(w) & LEVEL_KEY));
	separate(w);
	*top(w) |= LEVEL_KEY;
}

static void
end_key(struct json_writer *w)
{
	buf_add(w->out, ": ", w->indent != 0 ? 2 : 1);
}

static void
begin_level(struct json_writer *w, const char *bracket, uint8_t level)
{
	begin_value(w);
	ASSERT(w->depth < sizeof(w->level));
	buf_add(w->out, bracket, 1);
	w->level[w->depth++] = level;
}

static void
end_level(struct json_writer *w, const char *bracket, uint8_t level)
{
	bool filled;

	ASSERT(w->depth != 0);
	filled = *top(w) & LEVEL_FILLED;
	ASSERT((*top(w) & ~LEVEL_FILLED) == level);
	w->depth--;
	if (filled)
		newline(w);
	buf_add(w->out, bracket, 1);
}

void
json_write_begin_object(struct json_writer *w)
{
	begin_level(w, "{", LEVEL_OBJECT);
}

void
json_write_end_object(struct json_writer *w)
{
	end_level(w, "}", LEVEL_OBJECT);
}

void
json_write_begin_array(struct json_writer *w)
{
	begin_level(w, "[", 0);
}

void
json_write_end_array(struct json_writer *w)
{
	end_level(w, "]", 0);
}

static void
add_string(struct json_writer *w, const void *bytes, size_t len)
{
	const uint8_t *text = bytes;
	uint8_t *p;

	/* Nearly every text is written as it is. */
	if (len != 0 && json_scan_plain(text, text + len) == text + len) {
		p = buf_reserve(w->out, len + 2);
		if (p == NULL)
			return;
		p[0] = '"';
		memcpy(p + 1, text, len);
		p[len + 1] = '"';
		w->out->len += len + 2;
		return;
	}
	buf_add(w->out, "\"", 1);
	json_text_escape(bytes, len, w->out);
	buf_add(w->out, "\"", 1);
}

void
json_write_keyn(struct json_writer *w, const char *key, size_t len)
{
	begin_key(w);
	add_string(w, key, len);
	end_key(w);
}

void
json_write_key(struct json_writer *w, const char *key)
{
	json_write_keyn(w, key, strlen(key));
}

void
json_write_strn(struct json_writer *w, const char *bytes, size_t len)
{
	begin_value(w);
	add_string(w, bytes, len);
}

void
json_write_str(struct json_writer *w, const char *text)
{
	if (text == NULL)
		json_write_null(w);
	else
		json_write_strn(w, text, strlen(text));
}

bool
json_str_is_exact(const char *bytes, size_t len)
{
	const uint8_t *p = (const uint8_t *)bytes, *end = p + len;
	size_t step;

	for (; p < end; p += step)
		if (!json_utf8_step(p, end, &step))
			return false;
	return true;
}

void
json_write_int64(struct json_writer *w, int64_t n)
{
	uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
	char digits[24], *p = digits + sizeof(digits);

	begin_value(w);
	do
		*--p = (char)('0' + left % 10);
	while ((left /= 10) != 0);
	if (n < 0)
		*--p = '-';
	buf_add(w->out, p, (size_t)(digits + sizeof(digits) - p));
}

void
json_write_double(struct json_writer *w, double v)
{
	begin_value(w);
	if (isfinite(v))
		json_double_add(v, w->out);
	else
		buf_add_str(w->out, "null");
}

void
json_write_bool(struct json_writer *w, bool b)
{
	begin_value(w);
	buf_add_str(w->out, b ? "true" : "false");
}

void
json_write_null(struct json_writer *w)
{
	begin_value(w);
	buf_add_str(w->out, "null");
}

void
json_write_raw(struct json_writer *w, const void *bytes, size_t len)
{
	ASSERT(len != 0);
	begin_value(w);
	buf_add(w->out, bytes, len);
}

static void
write_token(struct json_writer *w, const struct json_doc *doc, uint64_t t)
{
	bool object = w->depth != 0 && (*top(w) & LEVEL_OBJECT), key;

	switch (token_type(t)) {
	case TOKEN_OBJECT:
		json_write_begin_object(w);
		break;
	case TOKEN_ARRAY:
		json_write_begin_array(w);
		break;
	case TOKEN_CLOSE:
		if (object)
			json_write_end_object(w);
		else
			json_write_end_array(w);
		break;
	case TOKEN_STRING:
		key = object && !(*top(w) & LEVEL_KEY);
		if (key)
			begin_key(w);
		else
			begin_value(w);
		json_text_respell(
		    doc->bytes + token_off(t), token_aux(t), w->out);
		if (key)
			end_key(w);
		break;
	default:
		json_write_raw(w, doc->bytes + token_off(t), token_aux(t));
		break;
	}
}

void
json_write_val(struct json_writer *w, struct json_val v)
{
	const uint8_t *raw;
	size_t len;
	uint32_t end;

	ASSERT(!json_is_missing(v));
	/* Browsers spell every letter beyond ASCII as six characters. */
	if (w->indent == 0 && !v.doc->repaired && json_raw(v, &raw, &len) &&
	    memmem(raw, len, "\\u", 2) == NULL) {
		json_write_raw(w, raw, len);
		return;
	}
	end = tape_skip(v.doc->tape, v.at);
	for (uint32_t i = v.at; i < end; i++)
		write_token(w, v.doc, v.doc->tape[i]);
}

void
json_put_str(struct json_writer *w, const char *key, const char *text)
{
	json_write_key(w, key);
	json_write_str(w, text);
}

void
json_put_strn(
    struct json_writer *w, const char *key, const char *bytes, size_t len)
{
	json_write_key(w, key);
	json_write_strn(w, bytes, len);
}

void
json_put_int64(struct json_writer *w, const char *key, int64_t n)
{
	json_write_key(w, key);
	json_write_int64(w, n);
}

void
json_put_double(struct json_writer *w, const char *key, double v)
{
	json_write_key(w, key);
	json_write_double(w, v);
}

void
json_put_bool(struct json_writer *w, const char *key, bool b)
{
	json_write_key(w, key);
	json_write_bool(w, b);
}

void
json_put_null(struct json_writer *w, const char *key)
{
	json_write_key(w, key);
	json_write_null(w);
}

void
json_put_raw(
    struct json_writer *w, const char *key, const void *bytes, size_t len)
{
	json_write_key(w, key);
	json_write_raw(w, bytes, len);
}

void
json_put_val(struct json_writer *w, const char *key, struct json_val v)
{
	json_write_key(w, key);
	json_write_val(w, v);
}

bool
json_pretty(struct json_val v, struct buf *out)
{
	struct json_writer w;

	if (json_is_missing(v))
		return false;
	json_writer_init_pretty(&w, out);
	json_write_val(&w, v);
	return json_writer_finish(&w);
}
