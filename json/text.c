#include <string.h>

#include "json/scan.h"
#include "json/text.h"

static const uint8_t replacement[3] = { 0xef, 0xbf, 0xbd };

/* Length and range of the second byte by the first one (RFC 3629). */
static int
utf8_lead(uint8_t c, uint8_t *ret_min, uint8_t *ret_max)
{
	*ret_min = 0x80;
	*ret_max = 0xbf;
	if (c < 0x80)
		return 1;
	if (c < 0xc2 || c > 0xf4)
		return 0;
	if (c < 0xe0)
		return 2;
	if (c == 0xe0)
		*ret_min = 0xa0;
	else if (c == 0xed)
		*ret_max = 0x9f;
	else if (c == 0xf0)
		*ret_min = 0x90;
	else if (c == 0xf4)
		*ret_max = 0x8f;
	return c < 0xf0 ? 3 : 4;
}

bool
json_utf8_step(const uint8_t *p, const uint8_t *end, size_t *ret_len)
{
	uint8_t min, max;
	int want = utf8_lead(*p, &min, &max);

	for (int i = 1; i < want; i++) {
		if (p + i == end || p[i] < min || p[i] > max) {
			*ret_len = (size_t)i;
			return false;
		}
		min = 0x80;
		max = 0xbf;
	}
	*ret_len = want == 0 ? 1 : (size_t)want;
	return want != 0;
}

static size_t
utf8_encode(uint32_t c, uint8_t out[4])
{
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}

/* The value of "\uXXXX" at p, or -1. */
static int32_t
unicode_escape(const uint8_t *p, const uint8_t *end)
{
	int32_t c = 0;

	if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		uint8_t d = p[i];

		if (d >= '0' && d <= '9')
			c = c << 4 | (d - '0');
		else if ((d | 0x20) >= 'a' && (d | 0x20) <= 'f')
			c = c << 4 | ((d | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return c;
}

static size_t
decode_unicode(struct json_text *t)
{
	int32_t c = unicode_escape(t->p, t->end), low;

	if (c < 0) {
		t->p += 2;
		return utf8_encode(0xfffd, t->decoded);
	}
	t->p += 6;
	if (c >= 0xd800 && c < 0xe000) {
		low = c < 0xdc00 ? unicode_escape(t->p, t->end) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return utf8_encode(0xfffd, t->decoded);
		t->p += 6;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	return utf8_encode((uint32_t)c, t->decoded);
}

static size_t
decode_escape(struct json_text *t)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (t->end - t->p < 2) {
		t->p = t->end;
		return utf8_encode(0xfffd, t->decoded);
	}
	if (t->p[1] == 'u')
		return decode_unicode(t);
	at = memchr(from, t->p[1], sizeof(from) - 1);
	t->p += 2;
	if (at == NULL)
		return utf8_encode(0xfffd, t->decoded);
	t->decoded[0] = (uint8_t)to[at - from];
	return 1;
}

void
json_text_init(struct json_text *t, const uint8_t *raw, size_t len)
{
	t->p = raw;
	t->end = raw + len;
}

size_t
json_text_next(struct json_text *t, const uint8_t **ret)
{
	const uint8_t *from = t->p;
	size_t n = 0;

	while (t->p < t->end) {
		t->p = json_scan_plain(t->p, t->end);
		if (t->p == t->end || *t->p == '\\')
			break;
		if (!json_utf8_step(t->p, t->end, &n))
			break;
		t->p += n;
	}
	if (t->p != from) {
		*ret = from;
		return (size_t)(t->p - from);
	}
	if (t->p == t->end)
		return 0;
	*ret = t->decoded;
	if (*t->p == '\\')
		return decode_escape(t);
	t->p += n;
	memcpy(t->decoded, replacement, sizeof(replacement));
	return sizeof(replacement);
}

size_t
json_text_len(const uint8_t *raw, size_t len)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n, sum = 0;

	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0)
		sum += n;
	return sum;
}

void
json_text_decode(const uint8_t *raw, size_t len, uint8_t *dst)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n;

	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0) {
		memcpy(dst, piece, n);
		dst += n;
	}
}

bool
json_text_add(const uint8_t *raw, size_t len, struct buf *out)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n;

	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0)
		if (!buf_add(out, piece, n))
			return false;
	return !out->failed;
}

bool
json_text_eq(const uint8_t *raw, size_t len, const char *bytes, size_t nbytes)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n;

	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0) {
		if (n > nbytes || memcmp(piece, bytes, n) != 0)
			return false;
		bytes += n;
		nbytes -= n;
	}
	return nbytes == 0;
}

int
json_text_cmp(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen)
{
	struct json_text ta, tb;
	const uint8_t *pa = NULL, *pb = NULL;
	size_t na = 0, nb = 0;

	json_text_init(&ta, a, alen);
	json_text_init(&tb, b, blen);
	for (;;) {
		size_t n;
		int order;

		if (na == 0)
			na = json_text_next(&ta, &pa);
		if (nb == 0)
			nb = json_text_next(&tb, &pb);
		if (na == 0 || nb == 0)
			return (na != 0) - (nb != 0);
		n = na < nb ? na : nb;
		order = memcmp(pa, pb, n);
		if (order != 0)
			return order;
		pa += n;
		pb += n;
		na -= n;
		nb -= n;
	}
}

bool
json_text_copy(const uint8_t *raw, size_t len, char *dst, size_t size)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n, sum = 0;

	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0) {
		sum += n;
		if (sum >= size || memchr(piece, '\0', n) != NULL)
			return false;
	}
	if (size == 0)
		return false;
	json_text_decode(raw, len, (uint8_t *)dst);
	dst[sum] = '\0';
	return true;
}

static bool
escape_control(uint8_t c, struct buf *out)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = memchr(from, c, sizeof(from) - 1);

	if (at != NULL)
		return buf_addf(out, "\\%c", to[at - from]);
	return buf_addf(out, "\\u%04x", c);
}

bool
json_text_escape(const void *bytes, size_t len, struct buf *out)
{
	const uint8_t *p = bytes, *end, *from = p;
	size_t n;

	if (len == 0)
		return !out->failed;
	for (end = p + len;;) {
		bool good = true, c1;

		p = json_scan_plain(p, end);
		if (p == end)
			return buf_add(out, from, (size_t)(p - from));
		n = 1;
		if (*p >= 0x80)
			good = json_utf8_step(p, end, &n);
		/* A terminal may obey C1 controls, U+0080 to U+009F. */
		c1 = good && n == 2 && p[0] == 0xc2 && p[1] < 0xa0;
		if (*p < 0x80 || c1 || !good) {
			buf_add(out, from, (size_t)(p - from));
			if (!good)
				buf_add(out, replacement, sizeof(replacement));
			else
				escape_control(c1 ? p[1] : *p, out);
			from = p + n;
		}
		p += n;
	}
}

bool
json_text_respell(const uint8_t *raw, size_t len, struct buf *out)
{
	struct json_text t;
	const uint8_t *piece;
	size_t n;

	buf_add(out, "\"", 1);
	json_text_init(&t, raw, len);
	while ((n = json_text_next(&t, &piece)) != 0)
		json_text_escape(piece, n, out);
	return buf_add(out, "\"", 1);
}
