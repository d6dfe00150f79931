/*
 * vm_pattern: the matcher. Runs in workerd only. Backtracking over a pattern
 * that may be hostile: every step is counted and the depth is bounded.
 */
#include <ctype.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "workerd/vm.h"
#include "workerd/vm_pattern.h"

#define MAX_DEPTH    200
#define CHARGE_STEPS 256

static const char *match_here(struct pattern *, const char *s, const char *p);

static void
count_step(struct pattern *m)
{
	if (++m->uncharged < CHARGE_STEPS)
		return;
	vm_charge(m->L, m->uncharged);
	m->uncharged = 0;
}

void
pattern_init(struct pattern *m, lua_State *L, const char *subject,
    size_t subject_len, const char *text, size_t text_len)
{
	memset(m, 0, sizeof(*m));
	m->L = L;
	m->subject = subject;
	m->subject_end = subject + subject_len;
	m->anchored = text_len > 0 && text[0] == '^';
	m->text = text + (m->anchored ? 1 : 0);
	m->text_end = text + text_len;
}

/* The byte after a [set], whose first byte after '[' is p. */
static const char *
set_end(struct pattern *m, const char *p)
{
	bool first = true;

	if (p < m->text_end && *p == '^')
		p++;
	for (;; first = false) {
		if (p >= m->text_end)
			luaL_error(m->L, "malformed pattern (missing ']')");
		if (*p == ']' && !first)
			return p + 1;
		if (*p == '%') {
			p++;
			if (p >= m->text_end)
				luaL_error(
				    m->L, "malformed pattern (missing ']')");
		}
		p++;
	}
}

/* The byte after the single-character item at p. */
static const char *
item_end(struct pattern *m, const char *p)
{
	if (*p == '[')
		return set_end(m, p + 1);
	if (*p != '%')
		return p + 1;
	if (p + 1 >= m->text_end)
		luaL_error(m->L, "malformed pattern (ends with '%%')");
	return p + 2;
}

static bool
in_class(unsigned char c, unsigned char class)
{
	bool in;

	switch (tolower(class)) {
	case 'a':
		in = isalpha(c);
		break;
	case 'c':
		in = iscntrl(c);
		break;
	case 'd':
		in = isdigit(c);
		break;
	case 'g':
		in = isgraph(c);
		break;
	case 'l':
		in = islower(c);
		break;
	case 'p':
		in = ispunct(c);
		break;
	case 's':
		in = isspace(c);
		break;
	case 'u':
		in = isupper(c);
		break;
	case 'w':
		in = isalnum(c);
		break;
	case 'x':
		in = isxdigit(c);
		break;
	default:
		return class == c;
	}
	return isupper(class) ? !in : in;
}

/* p is the byte after '[', end the byte after ']'. */
static bool
in_set(unsigned char c, const char *p, const char *end)
{
	const char *last = end - 1;
	bool negated = *p == '^';

	for (p += negated ? 1 : 0; p < last; p++) {
		if (*p == '%') {
			if (in_class(c, (unsigned char)*++p))
				return !negated;
		} else if (p + 2 < last && p[1] == '-') {
			if ((unsigned char)p[0] <= c &&
			    c <= (unsigned char)p[2])
				return !negated;
			p += 2;
		} else if ((unsigned char)*p == c)
			return !negated;
	}
	return negated;
}

static bool
item_matches(struct pattern *m, const char *s, const char *p, const char *end)
{
	unsigned char c;

	if (s >= m->subject_end)
		return false;
	c = (unsigned char)*s;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return in_class(c, (unsigned char)p[1]);
	case '[':
		return in_set(c, p + 1, end);
	default:
		return (unsigned char)*p == c;
	}
}

static const char *
match_longest(struct pattern *m, const char *s, const char *p, const char *end)
{
	const char *t = s;
	const char *r;

	while (item_matches(m, t, p, end)) {
		count_step(m);
		t++;
	}
	for (;;) {
		r = match_here(m, t, end + 1);
		if (r != NULL || t == s)
			return r;
		t--;
	}
}

static const char *
match_shortest(struct pattern *m, const char *s, const char *p, const char *end)
{
	const char *r;

	for (;;) {
		r = match_here(m, s, end + 1);
		if (r != NULL)
			return r;
		if (!item_matches(m, s, p, end))
			return NULL;
		s++;
	}
}

static const char *
match_open(struct pattern *m, const char *s, const char *p, ptrdiff_t kind)
{
	const char *r;

	if (m->ncaptures >= PATTERN_MAX_CAPTURES)
		luaL_error(m->L, "too many captures");
	m->captures[m->ncaptures].start = s;
	m->captures[m->ncaptures].len = kind;
	m->ncaptures++;
	r = match_here(m, s, p);
	if (r == NULL)
		m->ncaptures--;
	return r;
}

static const char *
match_close(struct pattern *m, const char *s, const char *p)
{
	const char *r;
	int i = m->ncaptures - 1;

	while (i >= 0 && m->captures[i].len != PATTERN_OPEN)
		i--;
	if (i < 0)
		luaL_error(m->L, "invalid pattern capture");
	m->captures[i].len = s - m->captures[i].start;
	r = match_here(m, s, p);
	if (r == NULL)
		m->captures[i].len = PATTERN_OPEN;
	return r;
}

/* %bxy at p; the byte after the balanced text, or NULL. */
static const char *
match_balanced(struct pattern *m, const char *s, const char *p)
{
	size_t nested = 1;

	if (p + 3 >= m->text_end)
		luaL_error(m->L,
		    "malformed pattern (missing arguments to "
		    "'%%b')");
	if (s >= m->subject_end || *s != p[2])
		return NULL;
	for (s++; s < m->subject_end; s++) {
		count_step(m);
		if (*s == p[3]) {
			if (--nested == 0)
				return s + 1;
		} else if (*s == p[2])
			nested++;
	}
	return NULL;
}

/* %f[set] at p; the pattern after it, or NULL when it does not hold at s. */
static const char *
match_frontier(struct pattern *m, const char *s, const char *p)
{
	unsigned char before, here;
	const char *end;

	if (p + 2 >= m->text_end || p[2] != '[')
		luaL_error(m->L, "missing '[' after '%%f' in pattern");
	end = set_end(m, p + 3);
	before = s == m->subject ? 0 : (unsigned char)s[-1];
	here = s == m->subject_end ? 0 : (unsigned char)*s;
	if (in_set(before, p + 3, end) || !in_set(here, p + 3, end))
		return NULL;
	return end;
}

/* %1 to %9; the subject after the repeated capture, or NULL. */
static const char *
match_back(struct pattern *m, const char *s, char digit)
{
	int i = digit - '1';
	size_t len;

	if (i < 0 || i >= m->ncaptures || m->captures[i].len < 0)
		luaL_error(m->L, "invalid capture index %%%d", i + 1);
	len = (size_t)m->captures[i].len;
	m->uncharged += (unsigned)(len / 64);
	if ((size_t)(m->subject_end - s) < len ||
	    memcmp(s, m->captures[i].start, len) != 0)
		return NULL;
	return s + len;
}

/*
 * One item that is neither capture nor end. Either the whole rest was decided
 * (true; *ret_end is its result) or *s and *p moved on.
 */
static bool
match_item(
    struct pattern *m, const char **s, const char **p, const char **ret_end)
{
	const char *end = item_end(m, *p);
	char suffix = end < m->text_end ? *end : '\0';
	bool fits = false;

	if (suffix != '*' && suffix != '-')
		fits = item_matches(m, *s, *p, end);
	switch (suffix) {
	case '*':
		*ret_end = match_longest(m, *s, *p, end);
		return true;
	case '+':
		*ret_end = fits ? match_longest(m, *s + 1, *p, end) : NULL;
		return true;
	case '-':
		*ret_end = match_shortest(m, *s, *p, end);
		return true;
	case '?':
		*ret_end = fits ? match_here(m, *s + 1, end + 1) : NULL;
		*p = end + 1;
		return *ret_end != NULL;
	default:
		*ret_end = NULL;
		*s += 1;
		*p = end;
		return !fits;
	}
}

/* The special items that start with '%'; as match_item. */
static bool
match_escape(
    struct pattern *m, const char **s, const char **p, const char **ret_end)
{
	char c = *p + 1 < m->text_end ? (*p)[1] : '\0';
	const char *next;

	*ret_end = NULL;
	if (c == 'f') {
		next = match_frontier(m, *s, *p);
		if (next == NULL)
			return true;
		*p = next;
		return false;
	}
	if (c != 'b' && !isdigit((unsigned char)c))
		return match_item(m, s, p, ret_end);
	next = c == 'b' ? match_balanced(m, *s, *p) : match_back(m, *s, c);
	if (next == NULL)
		return true;
	*s = next;
	*p += c == 'b' ? 4 : 2;
	return false;
}

static bool
match_step(
    struct pattern *m, const char **s, const char **p, const char **ret_end)
{
	switch (**p) {
	case '(':
		if (*p + 1 < m->text_end && (*p)[1] == ')')
			*ret_end = match_open(m, *s, *p + 2, PATTERN_POSITION);
		else
			*ret_end = match_open(m, *s, *p + 1, PATTERN_OPEN);
		return true;
	case ')':
		*ret_end = match_close(m, *s, *p + 1);
		return true;
	case '$':
		if (*p + 1 != m->text_end)
			return match_item(m, s, p, ret_end);
		*ret_end = *s == m->subject_end ? *s : NULL;
		return true;
	case '%':
		return match_escape(m, s, p, ret_end);
	default:
		return match_item(m, s, p, ret_end);
	}
}

static const char *
match_here(struct pattern *m, const char *s, const char *p)
{
	const char *end = NULL;

	if (++m->depth > MAX_DEPTH)
		luaL_error(m->L, "pattern too complex");
	for (;;) {
		count_step(m);
		if (p >= m->text_end) {
			end = s;
			break;
		}
		if (match_step(m, &s, &p, &end))
			break;
	}
	m->depth--;
	return end;
}

const char *
pattern_match(struct pattern *m, const char *from)
{
	m->ncaptures = 0;
	m->depth = 0;
	return match_here(m, from, m->text);
}

void
pattern_push_one(struct pattern *m, int i, const char *from, const char *end)
{
	const struct pattern_capture *c;

	if (i == 0 && m->ncaptures == 0) {
		lua_pushlstring(m->L, from, (size_t)(end - from));
		return;
	}
	if (i < 0 || i >= m->ncaptures)
		luaL_error(m->L, "invalid capture index %%%d", i + 1);
	c = &m->captures[i];
	if (c->len == PATTERN_OPEN)
		luaL_error(m->L, "unfinished capture");
	if (c->len == PATTERN_POSITION)
		lua_pushinteger(m->L, c->start - m->subject + 1);
	else
		lua_pushlstring(m->L, c->start, (size_t)c->len);
}

int
pattern_push(struct pattern *m, const char *from, const char *end, bool whole)
{
	int n = m->ncaptures == 0 && whole ? 1 : m->ncaptures;

	luaL_checkstack(m->L, n, "too many captures");
	for (int i = 0; i < n; i++)
		pattern_push_one(m, i, from, end);
	return n;
}
