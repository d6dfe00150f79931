/*
 * unescape: reads single characters in the spellings of URLs, HTML and the
 * string literals of JSON and JavaScript. Runs in workerd only, on any bytes.
 */
#include <string.h>

#include "workerd/unescape.h"

#define ESCAPE_MAX 12 /* bytes of an HTML entity */

static int
hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A number of exactly n hex digits, or -1. */
static long
hex_number(const uint8_t *p, const uint8_t *end, int n)
{
	long value = 0;

	if (end - p < n)
		return -1;
	for (int i = 0; i < n; i++) {
		if (hex_digit(p[i]) == -1)
			return -1;
		value = value * 16 + hex_digit(p[i]);
	}
	return value;
}

/* How many bytes of the needle the character is, 0 when it is another. */
static size_t
is_char(const uint8_t *want, size_t left, long c)
{
	uint8_t b[4];
	size_t n;

	if (c < 0 || c > 0x10ffff)
		return 0;
	if (c < 0x80) {
		b[0] = (uint8_t)c;
		n = 1;
	} else if (c < 0x800) {
		b[0] = (uint8_t)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		b[0] = (uint8_t)(0xe0 | c >> 12);
		n = 3;
	} else {
		b[0] = (uint8_t)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		b[i] = (uint8_t)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
	return n <= left && memcmp(b, want, n) == 0 ? n : 0;
}

/* %41, at the second level %2541 */
static size_t
escape_percent(const struct spot *s, const uint8_t **ret_end)
{
	const uint8_t *p = s->p + 1;

	for (int level = 1; level < s->level; level++, p += 2)
		if (hex_number(p, s->end, 2) != '%')
			return 0;
	if (hex_number(p, s->end, 2) != *s->want)
		return 0;
	*ret_end = p + 2;
	return 1;
}

static size_t
escape_plus(const struct spot *s, const uint8_t **ret_end)
{
	*ret_end = s->p + 1;
	return *s->want == ' ';
}

/* The character of &#65; or &#x41; behind the #. */
static long
entity_number(const uint8_t *p, size_t len)
{
	int base = len > 1 && (*p | 0x20) == 'x' ? 16 : 10;
	long value = 0;

	for (size_t i = base == 16; i < len; i++) {
		int digit = hex_digit(p[i]);

		if (digit == -1 || digit >= base || value > 0x10ffff)
			return -1;
		value = value * base + digit;
	}
	return len == 0 ? -1 : value;
}

/* The character of the entity at p (behind its &), or -1. */
static long
entity(const uint8_t *p, const uint8_t *end, const uint8_t **ret_end)
{
	static const struct {
		const char *name;
		long c;
	} names[] = { { "amp", '&' }, { "lt", '<' }, { "gt", '>' },
		{ "quot", '"' }, { "apos", '\'' }, { "nbsp", ' ' } };
	size_t room = (size_t)(end - p), len;
	const uint8_t *stop =
	    memchr(p, ';', room < ESCAPE_MAX ? room : ESCAPE_MAX);

	if (stop == NULL)
		return -1;
	*ret_end = stop + 1;
	len = (size_t)(stop - p);
	if (len > 0 && *p == '#')
		return entity_number(p + 1, len - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == len &&
		    memcmp(p, names[i].name, len) == 0)
			return names[i].c;
	return -1;
}

/* &lt;, at the second level &amp;lt; */
static size_t
escape_entity(const struct spot *s, const uint8_t **ret_end)
{
	const uint8_t *p = s->p + 1;

	for (int level = 1; level < s->level; level++)
		if (entity(p, s->end, &p) != '&')
			return 0;
	return is_char(s->want, s->left, entity(p, s->end, ret_end));
}

/* What follows a backslash. */
static size_t
escaped_char(const struct spot *s, const uint8_t *p, const uint8_t **ret_end)
{
	static const char from[] = "nrtbf\"'/`", to[] = "\n\r\t\b\f\"'/`";
	const char *known = *p == '\0' ? NULL : strchr(from, *p);
	long c, low;

	if (*p != 'u' && *p != 'x') {
		*ret_end = p + 1;
		return is_char(
		    s->want, s->left, known == NULL ? -1 : to[known - from]);
	}
	c = hex_number(p + 1, s->end, *p == 'u' ? 4 : 2);
	if (c == -1)
		return 0;
	p += *p == 'u' ? 5 : 3;
	if (c >= 0xd800 && c < 0xdc00 && s->end - p >= 6 && p[0] == '\\' &&
	    p[1] == 'u') {
		low = hex_number(p + 2, s->end, 4);
		if (low >= 0xdc00 && low < 0xe000) {
			c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
			p += 6;
		}
	}
	*ret_end = p;
	return is_char(s->want, s->left, c);
}

/* \n, \", \u0041; at the second level \\n, \\\" and \\\\ for itself */
static size_t
escape_backslash(const struct spot *s, const uint8_t **ret_end)
{
	const uint8_t *p = s->p;
	int itself = 1 << s->level;

	while (p < s->end && *p == '\\')
		p++;
	if (*s->want == '\\' && p - s->p >= itself) {
		*ret_end = s->p + itself;
		return 1;
	}
	return p == s->end ? 0 : escaped_char(s, p, ret_end);
}

size_t
unescape(const struct spot *s, const uint8_t **ret_end)
{
	switch (*s->p) {
	case '%':
		return escape_percent(s, ret_end);
	case '+':
		return escape_plus(s, ret_end);
	case '&':
		return escape_entity(s, ret_end);
	case '\\':
		return escape_backslash(s, ret_end);
	default:
		return 0;
	}
}

bool
unescape_is_cut(const uint8_t *p, const uint8_t *end)
{
	size_t left = (size_t)(end - p);

	switch (*p) {
	case '%':
		return left < 3;
	case '&':
		return left < ESCAPE_MAX && memchr(p, ';', left) == NULL;
	case '\\':
		return left < 6;
	default:
		return false;
	}
}
