/* The grammar of RFC 8259, one function for each rule. */
#include <string.h>

#include "t/fuzz/json_plain.h"

struct plain {
	const uint8_t *p;
	const uint8_t *end;
	unsigned depth;
};

static bool value(struct plain *);

static bool
take(struct plain *s, char c)
{
	if (s->p == s->end || *s->p != (uint8_t)c)
		return false;
	s->p++;
	return true;
}

static void
space(struct plain *s)
{
	while (take(s, ' ') || take(s, '\t') || take(s, '\n') || take(s, '\r'))
		;
}

static bool
word(struct plain *s, const char *text)
{
	while (*text != '\0')
		if (!take(s, *text++))
			return false;
	return true;
}

static bool
digits(struct plain *s)
{
	const uint8_t *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return s->p > start;
}

static bool
number(struct plain *s)
{
	(void)take(s, '-');
	if (!take(s, '0') && !digits(s))
		return false;
	if (take(s, '.') && !digits(s))
		return false;
	if (take(s, 'e') || take(s, 'E')) {
		if (!take(s, '+'))
			(void)take(s, '-');
		return digits(s);
	}
	return true;
}

static bool
escape(struct plain *s)
{
	if (s->p == s->end || memchr("\"\\/bfnrtu", *s->p, 9) == NULL)
		return false;
	if (*s->p++ != 'u')
		return true;
	for (int i = 0; i < 4; i++, s->p++)
		if (s->p == s->end ||
		    memchr("0123456789abcdefABCDEF", *s->p, 22) == NULL)
			return false;
	return true;
}

/* One character by the table of RFC 3629, decoded and looked at. */
static bool
character(struct plain *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c = *s->p++;
	int n = c < 0x80 ? 1 : c < 0xc0 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (n == 0 || c > 0xf7)
		return false;
	if (n == 1)
		return true;
	c &= 0x7fu >> n;
	for (int i = 1; i < n; i++, s->p++) {
		if (s->p == s->end || (*s->p & 0xc0) != 0x80)
			return false;
		c = c << 6 | (*s->p & 0x3f);
	}
	return c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

static bool
string(struct plain *s)
{
	if (!take(s, '"'))
		return false;
	while (!take(s, '"')) {
		if (s->p == s->end)
			return false;
		if (*s->p < 0x20)
			return false;
		if (take(s, '\\') ? !escape(s) : !character(s))
			return false;
	}
	return true;
}

static bool
members(struct plain *s, char close)
{
	space(s);
	if (take(s, close))
		return true;
	do {
		space(s);
		if (close == '}') {
			if (!string(s))
				return false;
			space(s);
			if (!take(s, ':'))
				return false;
		}
		if (!value(s))
			return false;
	} while (take(s, ','));
	return take(s, close);
}

static bool
value(struct plain *s)
{
	bool good;

	space(s);
	if (s->p == s->end)
		return false;
	if (*s->p == '[' || *s->p == '{') {
		if (s->depth-- == 0)
			return false;
		good = take(s, '[') ? members(s, ']')
				    : take(s, '{') && members(s, '}');
		s->depth++;
	} else if (*s->p == '"')
		good = string(s);
	else if (*s->p == 't')
		good = word(s, "true");
	else if (*s->p == 'f')
		good = word(s, "false");
	else if (*s->p == 'n')
		good = word(s, "null");
	else
		good = number(s);
	space(s);
	return good;
}

bool
json_plain_valid(const uint8_t *bytes, size_t len, unsigned max_depth)
{
	static const uint8_t none[1];
	struct plain s = { bytes, NULL, max_depth };

	if (len == 0)
		s.p = none;
	s.end = s.p + len;
	return value(&s) && s.p == s.end;
}

bool
json_plain_utf8(const uint8_t *bytes, size_t len)
{
	struct plain s = { bytes, bytes + len, 0 };

	while (s.p < s.end)
		if (!character(&s))
			return false;
	return true;
}
