/*
 * Members of table constructors in a Lua text, by a scan that knows comments,
 * strings, names and braces, and nothing else of Lua. Pure and total.
 */
#include <stdbool.h>
#include <string.h>

#include "ctl/luapath.h"

#define SEGMENT_SIZE 128

struct scan {
	const char *p, *end;
	int64_t line;
	int depth; /* of braces */
	/* The name that was set last, valid after scan_member(). */
	const char *name;
	size_t name_len;
};

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_';
}

static void
scan_step(struct scan *s)
{
	if (*s->p == '\n')
		s->line++;
	s->p++;
}

/* Level of a long bracket that opens here, -1 when none does. */
static int
long_bracket(const struct scan *s)
{
	const char *p = s->p + 1;

	while (p < s->end && *p == '=')
		p++;
	return p < s->end && *p == '[' ? (int)(p - s->p - 1) : -1;
}

static void
skip_long(struct scan *s, int level)
{
	const char *q;

	for (s->p += level + 2; s->p < s->end; scan_step(s)) {
		if (*s->p != ']')
			continue;
		for (q = s->p + 1; q < s->end && *q == '='; q++)
			;
		if (q < s->end && *q == ']' && q - s->p - 1 == level) {
			s->p = q + 1;
			return;
		}
	}
}

static void
skip_string(struct scan *s)
{
	char quote = *s->p++;

	for (; s->p < s->end && *s->p != quote && *s->p != '\n'; scan_step(s))
		if (*s->p == '\\' && s->p + 1 < s->end)
			scan_step(s);
	if (s->p < s->end && *s->p == quote)
		s->p++;
}

static void
skip_comment(struct scan *s)
{
	int level;

	s->p += 2;
	level = s->p < s->end && *s->p == '[' ? long_bracket(s) : -1;
	if (level >= 0)
		skip_long(s, level);
	else
		while (s->p < s->end && *s->p != '\n')
			s->p++;
}

/* A name; true when "=" follows, which sets it. */
static bool
take_name(struct scan *s)
{
	const char *q;

	s->name = s->p;
	while (s->p < s->end && is_word(*s->p))
		s->p++;
	s->name_len = (size_t)(s->p - s->name);
	for (q = s->p; q < s->end && (*q == ' ' || *q == '\t'); q++)
		;
	return q < s->end && *q == '=' && (q + 1 == s->end || q[1] != '=');
}

/* On to the next name that is set, or brace; false at the end. */
static bool
scan_next(struct scan *s, bool *ret_member)
{
	int level;

	while (s->p < s->end) {
		*ret_member = false;
		if (*s->p == '{' || *s->p == '}') {
			s->depth += *s->p++ == '{' ? 1 : -1;
			return true;
		}
		if (*s->p == '-' && s->p + 1 < s->end && s->p[1] == '-')
			skip_comment(s);
		else if (*s->p == '"' || *s->p == '\'')
			skip_string(s);
		else if (*s->p == '[' && (level = long_bracket(s)) >= 0)
			skip_long(s, level);
		else if (!is_word(*s->p))
			scan_step(s);
		else if (take_name(s)) {
			*ret_member = true;
			return true;
		}
	}
	return false;
}

static bool
is_named(const struct scan *s, const char *name)
{
	return strlen(name) == s->name_len &&
	    memcmp(s->name, name, s->name_len) == 0;
}

/* The outermost place within a constructor; without one, any other. */
static bool
find_first(struct scan *s, const char *name)
{
	struct scan best = { .depth = -1 };
	bool member;

	while (scan_next(s, &member))
		if (member && is_named(s, name) &&
		    (best.depth < 1 ||
			(s->depth >= 1 && s->depth < best.depth)) &&
		    (best.depth == -1 || s->depth >= 1))
			best = *s;
	*s = best;
	return best.depth != -1;
}

/* Within the constructor that follows, so deep below where it was set. */
static bool
find_below(struct scan *s, const char *name, int below)
{
	struct scan at = *s;
	bool member;

	while (scan_next(&at, &member)) {
		if (member && at.depth == s->depth + below &&
		    is_named(&at, name)) {
			*s = at;
			return true;
		}
		if (!member && at.depth < s->depth)
			return false;
		if (member && at.depth == s->depth)
			return false;
	}
	return false;
}

/* The next part of the pointer; false at its end or when it is too long. */
static bool
next_segment(const char **pointer, char ret[SEGMENT_SIZE])
{
	size_t len;

	if (**pointer != '/')
		return false;
	(*pointer)++;
	len = strcspn(*pointer, "/");
	if (len == 0 || len >= SEGMENT_SIZE)
		return false;
	memcpy(ret, *pointer, len);
	ret[len] = '\0';
	*pointer += len;
	return true;
}

int64_t
luapath_line(const char *text, size_t len, const char *pointer)
{
	struct scan s = { .p = text, .end = text + len, .line = 1 };
	char segment[SEGMENT_SIZE];
	int below = 1;

	if (!next_segment(&pointer, segment) || !find_first(&s, segment))
		return 0;
	while (next_segment(&pointer, segment)) {
		/* Elements of a list have no names. */
		if (segment[strspn(segment, "0123456789")] == '\0') {
			below++;
			continue;
		}
		if (!find_below(&s, segment, below))
			break;
		below = 1;
	}
	return s.line;
}
