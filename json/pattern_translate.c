/*
 * The translator. It reads one element after another, keeps what PCRE2 takes in
 * the same meaning, spells out what differs (".", \s, classes), and refuses the
 * rest. Groups never capture, so back references are among the rest.
 */
#include <string.h>

#include "json/pattern.h"
#include "json/text.h"

/* Groups that may be open at once. */
#define GROUPS_MAX 100

/* ECMA-262's white space and line ends, and everything else. */
#define SPACE                                                     \
	"\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}" \
	"\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
#define NOT_SPACE                                                     \
	"\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}" \
	"\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}"   \
	"\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}"   \
	"\\x{ff00}-\\x{10ffff}"

struct translator {
	const char *p;
	const char *end;
	struct buf *out;
	const char *why;
	bool atom; /* what was written last may be repeated */
	unsigned depth;
	bool looks[GROUPS_MAX]; /* the open group is an assertion */
};

static bool
refuse(struct translator *t, const char *why)
{
	t->why = why;
	return false;
}

static bool
looking_at(const struct translator *t, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(t->end - t->p) >= n && memcmp(t->p, text, n) == 0;
}

static bool
take(struct translator *t, const char *text)
{
	if (!looking_at(t, text))
		return false;
	t->p += strlen(text);
	return true;
}

static int
hex_value(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c == '\0' ? NULL
		       : strchr(digits, c >= 'A' && c <= 'F' ? c | 0x20 : c);
	return at == NULL ? -1 : (int)(at - digits);
}

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* So many hexadecimal digits. */
static bool
read_hex(struct translator *t, int n, uint32_t *ret)
{
	uint32_t v = 0;

	for (; n > 0; n--, t->p++) {
		if (t->p == t->end || hex_value(*t->p) < 0)
			return refuse(t, "a hexadecimal digit is missing");
		v = v << 4 | (uint32_t)hex_value(*t->p);
	}
	*ret = v;
	return true;
}

static bool
read_braced_hex(struct translator *t, uint32_t *ret)
{
	uint32_t v = 0;
	int n = 0;

	for (; t->p < t->end && hex_value(*t->p) >= 0 && v <= 0x10ffff; n++)
		v = v << 4 | (uint32_t)hex_value(*t->p++);
	if (n == 0 || v > 0x10ffff || !take(t, "}"))
		return refuse(t, "no such \\u{...}");
	*ret = v;
	return true;
}

/* Behind "\u". */
static bool
read_unicode(struct translator *t, uint32_t *ret)
{
	uint32_t c, low;

	if (take(t, "{")) {
		if (!read_braced_hex(t, &c))
			return false;
	} else if (!read_hex(t, 4, &c)) {
		return false;
	} else if (c >= 0xd800 && c < 0xdc00 && take(t, "\\u")) {
		if (!read_hex(t, 4, &low))
			return false;
		if (low < 0xdc00 || low > 0xdfff)
			return refuse(t, "lone surrogate");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	if (c >= 0xd800 && c < 0xe000)
		return refuse(t, "lone surrogate");
	*ret = c;
	return true;
}

/* Behind the backslash: an escape that stands for one character. */
static bool
read_char_escape(struct translator *t, uint32_t *ret)
{
	static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
	char c = *t->p++;
	const char *at = memchr(from, c, sizeof(from) - 1);

	if (at != NULL) {
		*ret = (uint32_t)to[at - from];
		return true;
	}
	if (c == 'x')
		return read_hex(t, 2, ret);
	if (c == 'u')
		return read_unicode(t, ret);
	if (c == 'c' && t->p < t->end &&
	    ((*t->p >= 'a' && *t->p <= 'z') ||
		(*t->p >= 'A' && *t->p <= 'Z'))) {
		*ret = (uint32_t)*t->p++ & 31;
		return true;
	}
	if (c == '0' && (t->p == t->end || !is_digit(*t->p))) {
		*ret = 0;
		return true;
	}
	if (is_digit(c) || c == 'k')
		return refuse(t, "back references are not supported");
	if (c <= ' ' || c == 0x7f || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z'))
		return refuse(t, "unknown escape");
	*ret = (uint8_t)c;
	return true;
}

static const struct {
	const char *name;
	const char *brief;
} categories[] = {
#define C(name, brief) { name, brief },
#include "json/categories.def"
#undef C
};

/* Behind "\p" or "\P". */
static bool
add_property(struct translator *t, char kind)
{
	const char *name, *close;
	size_t len;

	if (!take(t, "{"))
		return refuse(t, "\\p needs a name in braces");
	if (!take(t, "General_Category="))
		take(t, "gc=");
	name = t->p;
	close = memchr(name, '}', (size_t)(t->end - name));
	if (close == NULL)
		return refuse(t, "\\p needs a name in braces");
	len = (size_t)(close - name);
	t->p = close + 1;
	for (size_t i = 0; i < sizeof(categories) / sizeof(*categories); i++) {
		const char *brief = categories[i].brief;
		const char *full = categories[i].name;

		if ((strlen(full) == len && memcmp(full, name, len) == 0) ||
		    (strlen(brief) == len && brief[len - 1] != '&' &&
			memcmp(brief, name, len) == 0))
			return buf_addf(t->out, "\\%c{%s}", kind, brief);
	}
	return refuse(t, "only general categories are supported in \\p{...}");
}

/* An escape that stands for a set, in a class or alone; else *ret_set false. */
static bool
add_set_escape(struct translator *t, bool in_class, bool *ret_set)
{
	char c = *t->p;

	*ret_set = true;
	if (c == 'd' || c == 'D' || c == 'w' || c == 'W') {
		t->p++;
		return buf_addf(t->out, "\\%c", c);
	}
	if (c == 's' || c == 'S') {
		t->p++;
		return buf_addf(t->out, in_class ? "%s" : "[%s]",
		    c == 's' ? SPACE : NOT_SPACE);
	}
	if (c == 'p' || c == 'P') {
		t->p++;
		return add_property(t, c);
	}
	*ret_set = false;
	return true;
}

static bool
add_char(struct translator *t, uint32_t c)
{
	return buf_addf(t->out, "\\x{%x}", (unsigned)c);
}

static bool
translate_escape(struct translator *t)
{
	uint32_t c;
	bool set;

	t->p++;
	if (t->p == t->end)
		return refuse(t, "backslash at the end");
	if (*t->p == 'b' || *t->p == 'B') {
		t->atom = false;
		return buf_addf(t->out, "\\%c", *t->p++);
	}
	t->atom = true;
	if (!add_set_escape(t, false, &set))
		return false;
	if (set)
		return true;
	return read_char_escape(t, &c) && add_char(t, c);
}

/* One member of a class; a set is written at once, a character returned. */
static bool
read_class_atom(struct translator *t, bool *ret_set, uint32_t *ret)
{
	size_t n;

	*ret_set = false;
	if (t->p == t->end)
		return refuse(t, "']' is missing");
	if (*t->p == '\\') {
		t->p++;
		if (t->p == t->end)
			return refuse(t, "backslash at the end");
		if (take(t, "b")) {
			*ret = '\b';
			return true;
		}
		if (!add_set_escape(t, true, ret_set))
			return false;
		return *ret_set || read_char_escape(t, ret);
	}
	json_utf8_step((const uint8_t *)t->p, (const uint8_t *)t->end, &n);
	*ret = (uint8_t)*t->p;
	if (n > 1)
		*ret &= 0x7fu >> n;
	for (size_t i = 1; i < n; i++)
		*ret = *ret << 6 | ((uint8_t)t->p[i] & 0x3f);
	t->p += n;
	return true;
}

static bool
translate_class(struct translator *t)
{
	t->p++;
	t->atom = true;
	if (take(t, "]"))
		return buf_add_str(t->out, "(?!)");
	if (take(t, "^]"))
		return buf_add_str(t->out, "[\\x{0}-\\x{10ffff}]");
	buf_add_str(t->out, take(t, "^") ? "[^" : "[");
	while (!take(t, "]")) {
		uint32_t low, high;
		bool low_set, high_set;

		if (!read_class_atom(t, &low_set, &low))
			return false;
		if (!low_set)
			add_char(t, low);
		if (!looking_at(t, "-") || looking_at(t, "-]"))
			continue;
		t->p++;
		if (!read_class_atom(t, &high_set, &high))
			return false;
		/* A hyphen beside a set stands for itself. */
		if (low_set || high_set)
			add_char(t, '-');
		else if (low <= high)
			buf_add_str(t->out, "-");
		else
			return refuse(t, "a range in a class is backwards");
		if (!high_set)
			add_char(t, high);
	}
	return buf_add_str(t->out, "]");
}

static bool
skip_group_name(struct translator *t)
{
	const char *from = t->p;

	while (t->p < t->end &&
	    (is_digit(*t->p) || *t->p == '_' ||
		(*t->p >= 'a' && *t->p <= 'z') ||
		(*t->p >= 'A' && *t->p <= 'Z')))
		t->p++;
	if (t->p == from || is_digit(*from) || !take(t, ">"))
		return refuse(t, "not a group name");
	return true;
}

static bool
translate_group(struct translator *t)
{
	static const char *const assertions[] = { "(?=", "(?!",
		"(?<=", "(?<!" };

	if (t->depth == GROUPS_MAX)
		return refuse(t, "groups are nested too deep");
	t->atom = false;
	t->looks[t->depth] = false;
	for (size_t i = 0; i < 4; i++)
		if (take(t, assertions[i])) {
			t->looks[t->depth++] = true;
			return buf_add_str(t->out, assertions[i]);
		}
	t->depth++;
	if (!take(t, "(?:")) {
		t->p++;
		if (take(t, "?<")) {
			if (!skip_group_name(t))
				return false;
		} else if (looking_at(t, "?")) {
			return refuse(t, "unknown kind of group");
		}
	}
	return buf_add_str(t->out, "(?:");
}

static bool
translate_group_end(struct translator *t)
{
	if (t->depth == 0)
		return refuse(t, "')' without '('");
	t->atom = !t->looks[--t->depth];
	t->p++;
	return buf_add_str(t->out, ")");
}

/* The length of "{n}", "{n,}" or "{n,m}" at p, or 0. */
static size_t
braces_length(const struct translator *t)
{
	const char *p = t->p + 1, *from = p;

	while (p < t->end && is_digit(*p))
		p++;
	if (p == from)
		return 0;
	if (p < t->end && *p == ',')
		for (p++; p < t->end && is_digit(*p);)
			p++;
	return p < t->end && *p == '}' ? (size_t)(p + 1 - t->p) : 0;
}

static bool
translate_repeat(struct translator *t, size_t len)
{
	if (!t->atom)
		return refuse(t, "nothing to repeat");
	t->atom = false;
	buf_add(t->out, t->p, len);
	t->p += len;
	if (take(t, "?"))
		buf_add_str(t->out, "?");
	return true;
}

static bool
translate_literal(struct translator *t)
{
	size_t n;

	json_utf8_step((const uint8_t *)t->p, (const uint8_t *)t->end, &n);
	t->atom = true;
	/* "]", "{" and "}" alone stand for themselves. */
	if (strchr("]{}", *t->p) != NULL && *t->p != '\0')
		buf_add_str(t->out, "\\");
	buf_add(t->out, t->p, n);
	t->p += n;
	return true;
}

static bool
translate_element(struct translator *t)
{
	size_t n;

	switch (*t->p) {
	case '\\':
		return translate_escape(t);
	case '[':
		return translate_class(t);
	case '(':
		return translate_group(t);
	case ')':
		return translate_group_end(t);
	case '*':
	case '+':
	case '?':
		return translate_repeat(t, 1);
	case '{':
		n = braces_length(t);
		return n != 0 ? translate_repeat(t, n) : translate_literal(t);
	case '.':
		t->p++;
		t->atom = true;
		return buf_add_str(t->out, "[^\\x{a}\\x{d}\\x{2028}\\x{2029}]");
	case '^':
	case '$':
	case '|':
		t->atom = false;
		return buf_add(t->out, t->p++, 1);
	default:
		return translate_literal(t);
	}
}

bool
pattern_translate(
    const char *source, size_t len, struct buf *out, const char **ret_why)
{
	struct translator t = { .p = source, .end = source + len, .out = out };

	while (t.p < t.end && t.why == NULL && !out->failed)
		translate_element(&t);
	if (t.why == NULL && t.depth != 0)
		t.why = "')' is missing";
	if (t.why == NULL && out->failed)
		t.why = "too long";
	if (t.why != NULL)
		*ret_why = t.why;
	return t.why == NULL;
}
