/* What people get to read: JSON pointers, quoted values, mistakes. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/distance.h"
#include "json/schema_int.h"
#include "json/tape_int.h"
#include "json/text.h"

/* A text that is cut between characters when it gets too long. */
struct cut {
	char *dst;
	size_t size;
	size_t len;
	bool full;
};

static const char ellipsis[] = "\xe2\x80\xa6";

static bool
is_control(const char *p, size_t n)
{
	uint8_t c = (uint8_t)p[0];

	return c < 0x20 || c == 0x7f ||
	    (n == 2 && c == 0xc2 && (uint8_t)p[1] < 0xa0);
}

/* Appends UTF-8; control characters and ill-formed bytes become U+FFFD. */
static void
cut_add(struct cut *c, const char *text, size_t len)
{
	size_t n;

	for (const char *end = text + len; text < end && !c->full; text += n) {
		bool good = json_utf8_step(
		    (const uint8_t *)text, (const uint8_t *)end, &n);
		const char *piece = text;
		size_t want = n;

		if (*text == '\n' || *text == '\t' || *text == '\r') {
			piece = " ";
		} else if (!good || is_control(text, n)) {
			piece = "\xef\xbf\xbd";
			want = 3;
		}
		/* There is always room for the ellipsis and the NUL. */
		if (c->size - c->len < want + sizeof(ellipsis)) {
			piece = ellipsis;
			want = sizeof(ellipsis) - 1;
			c->full = true;
		}
		memcpy(c->dst + c->len, piece, want);
		c->len += want;
	}
	c->dst[c->len] = '\0';
}

static void
cut_begin(struct cut *c, char *dst, size_t size)
{
	*c = (struct cut){ .dst = dst, .size = size };
	dst[0] = '\0';
}

const char *
schema_quote(struct json_val v, char dst[SCHEMA_QUOTE])
{
	const uint8_t *raw = (const uint8_t *)"nothing";
	size_t len = 7;
	struct cut c;

	json_raw(v, &raw, &len);
	/* More than fits is never shown. */
	if (len > 8 * SCHEMA_QUOTE)
		len = 8 * SCHEMA_QUOTE;
	cut_begin(&c, dst, SCHEMA_QUOTE);
	cut_add(&c, (const char *)raw, len);
	return dst;
}

static void
add_key(struct cut *c, struct json_val key)
{
	const uint8_t *raw = NULL, *piece;
	struct json_text text;
	size_t len = 0, n;

	json_raw(key, &raw, &len);
	json_text_init(&text, raw + 1, len - 2);
	while (!c->full && (n = json_text_next(&text, &piece)) != 0) {
		const char *p = (const char *)piece, *end = p + n, *from = p;

		for (; p < end; p++) {
			if (*p != '~' && *p != '/')
				continue;
			cut_add(c, from, (size_t)(p - from));
			cut_add(c, *p == '~' ? "~0" : "~1", 2);
			from = p + 1;
		}
		cut_add(c, from, (size_t)(p - from));
	}
}

/* The way from v down to the token at: RFC 6901. */
static void
add_pointer(struct cut *c, struct json_val v, uint32_t at)
{
	while (v.at != at && !c->full) {
		struct json_iter it;
		unsigned index = 0;
		char digits[16];

		for (it = json_iter(v); json_iter_next(&it); index++)
			if (at < it.next)
				break;
		if (json_is_missing(it.val))
			return;
		cut_add(c, "/", 1);
		if (json_is_object(v)) {
			add_key(c, it.key);
		} else {
			snprintf(digits, sizeof(digits), "%u", index);
			cut_add(c, digits, strlen(digits));
		}
		if (!json_is_missing(it.key) && it.key.at == at)
			return;
		v = it.val;
	}
}

void
schema_set_error(struct schema_error *e, enum schema_error_kind kind,
    struct json_val root, uint32_t at, const char *message, size_t len)
{
	struct cut c;

	e->kind = kind;
	cut_begin(&c, e->pointer, sizeof(e->pointer));
	add_pointer(&c, root, at);
	cut_begin(&c, e->message, sizeof(e->message));
	cut_add(&c, message, len);
}

bool
schema_mismatch(struct eval *ev, struct json_val v, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	ev->fail_at = v.at;
	if (ev->error == NULL)
		return false;
	ev->told_at = v.at;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		n = 0;
	schema_set_error(ev->error, SCHEMA_ERROR_MISMATCH, ev->root, v.at, text,
	    (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
	return false;
}

struct json_val
schema_guess(
    const struct schema *s, const struct keyword *props, struct json_val key)
{
	struct json_val guess = json_root(NULL);
	size_t na, nb;
	const char *a = json_str_borrow(key, &na), *b;
	size_t best = 3;

	for (size_t i = 0; a != NULL && props != NULL && i < props->count;
	     i++) {
		struct json_val name = s->parts[props->first + i].key;
		size_t distance;

		b = json_str_borrow(name, &nb);
		if (b == NULL)
			continue;
		distance = name_distance(a, na, b, nb);
		if (distance < best && distance < nb) {
			best = distance;
			guess = name;
		}
	}
	return guess;
}

void
schema_error_text(const struct schema_error *e, char *dst, size_t size)
{
	if (e->pointer[0] == '\0')
		snprintf(dst, size, "%s", e->message);
	else
		snprintf(dst, size, "%s: %s", e->pointer, e->message);
}
