#include <string.h>

#include "common/panic.h"
#include "json/number.h"
#include "json/scan.h"
#include "json/span.h"
#include "json/text.h"

/* What a step through an object's members found. */
enum step {
	STEP_MEMBER,
	STEP_END,
	STEP_MALFORMED,
	STEP__MAX
};

struct walk {
	const uint8_t *p;
	const uint8_t *end;
	bool inside; /* a member was seen: a comma comes before the next */
};

static inline const uint8_t *
skip_space(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* p is at the opening quote; behind the closing one, or NULL. */
static inline const uint8_t *
skip_string(const uint8_t *p, const uint8_t *end)
{
	for (p++; (p = json_scan_quote(p, end)) < end; p += 2) {
		if (*p == '"')
			return p + 1;
		if (end - p < 2)
			break;
	}
	return NULL;
}

/* p is at a bracket. Kinds of brackets are not told apart. */
static const uint8_t *
skip_nest(const uint8_t *p, const uint8_t *end)
{
	size_t depth = 0;

	while ((p = json_scan_nest(p, end)) < end) {
		if (*p == '"') {
			p = skip_string(p, end);
			if (p == NULL)
				return NULL;
			continue;
		}
		if ((*p++ | 0x20) == '{')
			depth++;
		else if (--depth == 0)
			return p;
	}
	return NULL;
}

static const uint8_t *
skip_scalar(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *from = p;

	while (p<end && * p> ' ' && *p != ',' && *p != '"' && *p != ':' &&
	    (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p == from ? NULL : p;
}

static const uint8_t *
skip_value(const uint8_t *p, const uint8_t *end)
{
	if (p == end)
		return NULL;
	if (*p == '"')
		return skip_string(p, end);
	if (*p == '{' || *p == '[')
		return skip_nest(p, end);
	return skip_scalar(p, end);
}

static bool
walk_begin(struct walk *w, const uint8_t *bytes, size_t len)
{
	if (bytes == NULL)
		return false;
	w->end = bytes + len;
	w->p = skip_space(bytes, w->end);
	w->inside = false;
	if (w->p == w->end || *w->p != '{')
		return false;
	w->p++;
	return true;
}

/* The key comes without its quotes. */
static enum step
walk_next(struct walk *w, struct json_span *key, struct json_span *val)
{
	const uint8_t *p = skip_space(w->p, w->end), *from;

	if (p < w->end && *p == '}') {
		w->p = p + 1;
		return STEP_END;
	}
	if (w->inside) {
		if (p == w->end || *p != ',')
			return STEP_MALFORMED;
		p = skip_space(p + 1, w->end);
	}
	from = p;
	if (p == w->end || *p != '"' || (p = skip_string(p, w->end)) == NULL)
		return STEP_MALFORMED;
	*key = (struct json_span){ from + 1, (size_t)(p - from) - 2 };
	p = skip_space(p, w->end);
	if (p == w->end || *p != ':')
		return STEP_MALFORMED;
	from = skip_space(p + 1, w->end);
	p = skip_value(from, w->end);
	if (p == NULL)
		return STEP_MALFORMED;
	*val = (struct json_span){ from, (size_t)(p - from) };
	w->p = p;
	w->inside = true;
	return STEP_MEMBER;
}

static bool
key_is(struct json_span key, const char *name, size_t len)
{
	if (key.len == len)
		return memcmp(key.ptr, name, len) == 0;
	/* An escape is longer than what it stands for. */
	return key.len > len && memchr(key.ptr, '\\', key.len) != NULL &&
	    json_text_eq(key.ptr, key.len, name, len);
}

#define MEMBERS_MAX 16

/* Walks to the end of the object; a later member of the same name wins. */
static bool
walk_members(
    struct walk *w, const char *const *names, size_t n, struct json_span *found)
{
	struct json_span key, val;
	size_t len[MEMBERS_MAX];
	enum step step;

	ASSERT(n <= MEMBERS_MAX);
	for (size_t i = 0; i < n; i++) {
		len[i] = strlen(names[i]);
		found[i] = (struct json_span){ NULL, 0 };
	}
	while ((step = walk_next(w, &key, &val)) == STEP_MEMBER) {
		for (size_t i = 0; i < n; i++) {
			if (key_is(key, names[i], len[i])) {
				found[i] = val;
				break;
			}
		}
	}
	return step == STEP_END;
}

bool
json_envelope_scan(const uint8_t *bytes, size_t len, struct json_envelope *ret)
{
	static const char *const names[] = { "method", "params", "sessionId",
		"id", "result", "error" };
	struct json_span at[sizeof(names) / sizeof(*names)];
	struct walk w;

	if (!walk_begin(&w, bytes, len) ||
	    !walk_members(&w, names, sizeof(names) / sizeof(*names), at) ||
	    skip_space(w.p, w.end) != w.end)
		return false;
	*ret = (struct json_envelope){ .method = at[0],
		.params = at[1],
		.session_id = at[2],
		.id = at[3],
		.result = at[4],
		.error = at[5] };
	return true;
}

bool
json_span_members(struct json_span s, const char *const *names, size_t n,
    struct json_span *ret)
{
	struct json_span found[MEMBERS_MAX];
	struct walk w;

	if (!walk_begin(&w, s.ptr, s.len) || !walk_members(&w, names, n, found))
		return false;
	memcpy(ret, found, n * sizeof(*ret));
	return true;
}

bool
json_span_member(struct json_span s, const char *name, struct json_span *ret)
{
	struct json_span found;

	if (!json_span_members(s, &name, 1, &found) || found.ptr == NULL)
		return false;
	*ret = found;
	return true;
}

bool
json_span_is_string(struct json_span s)
{
	return s.ptr != NULL && s.len >= 2 && s.ptr[0] == '"' &&
	    s.ptr[s.len - 1] == '"';
}

bool
json_span_get_int64(struct json_span s, int64_t *ret)
{
	const uint8_t *bad;
	struct json_decimal d;

	if (s.ptr == NULL || s.len == 0 ||
	    json_number_scan(s.ptr, s.ptr + s.len, &bad) != s.len)
		return false;
	d = json_decimal_read(s.ptr, s.len);
	return json_decimal_int64(&d, ret);
}

bool
json_span_get_bool(struct json_span s, bool *ret)
{
	if (s.ptr != NULL && s.len == 4 && memcmp(s.ptr, "true", 4) == 0)
		*ret = true;
	else if (s.ptr != NULL && s.len == 5 && memcmp(s.ptr, "false", 5) == 0)
		*ret = false;
	else
		return false;
	return true;
}

bool
json_span_str_eq(struct json_span s, const char *text)
{
	return json_span_is_string(s) &&
	    key_is(
		(struct json_span){ s.ptr + 1, s.len - 2 }, text, strlen(text));
}

bool
json_span_str_copy(struct json_span s, char *dst, size_t size)
{
	return json_span_is_string(s) &&
	    json_text_copy(s.ptr + 1, s.len - 2, dst, size);
}

bool
json_span_str_add(struct json_span s, struct buf *out)
{
	return json_span_is_string(s) &&
	    json_text_add(s.ptr + 1, s.len - 2, out);
}

bool
json_span_str_borrow(struct json_span s, struct json_span *ret)
{
	const uint8_t *end;

	if (!json_span_is_string(s))
		return false;
	end = s.ptr + s.len - 1;
	if (json_scan_plain(s.ptr + 1, end) != end)
		return false;
	*ret = (struct json_span){ s.ptr + 1, s.len - 2 };
	return true;
}
