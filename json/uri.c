#include <string.h>

#include "json/uri.h"

/* A component; NULL: not there (which is not the same as empty). */
struct piece {
	const char *p;
	size_t len;
};

struct uri {
	struct piece scheme;
	struct piece authority;
	struct piece path;
	struct piece query;
};

static bool
is_scheme(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && (i == 0 || strchr("0123456789+-.", c) == NULL))
			return false;
	}
	return len != 0;
}

/* The first of some characters, or the end. */
static const char *
find_any(const char *p, const char *end, const char *set)
{
	while (p < end && (*p == '\0' || strchr(set, *p) == NULL))
		p++;
	return p;
}

static struct uri
split(const char *p, size_t len)
{
	const char *end = p + len, *next = find_any(p, end, ":/?");
	struct uri u;

	memset(&u, 0, sizeof(u));
	if (next < end && *next == ':' && is_scheme(p, (size_t)(next - p))) {
		u.scheme = (struct piece){ p, (size_t)(next - p) };
		p = next + 1;
	}
	if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
		next = find_any(p + 2, end, "/?");
		u.authority = (struct piece){ p + 2, (size_t)(next - p) - 2 };
		p = next;
	}
	next = find_any(p, end, "?");
	u.path = (struct piece){ p, (size_t)(next - p) };
	if (next < end)
		u.query = (struct piece){ next + 1, (size_t)(end - next) - 1 };
	return u;
}

/* Drops the last segment of out's path, which begins at from, and its slash. */
static void
drop_segment(struct buf *out, size_t from)
{
	while (out->len > from && out->data[out->len - 1] != '/')
		out->len--;
	if (out->len > from)
		out->len--;
}

/* Appends a path without "." and ".." segments. */
static void
add_path(struct buf *out, const char *p, size_t len)
{
	const char *end = p + len;
	size_t from = out->len;

	while (p < end) {
		bool slash = *p == '/';
		const char *name = p + slash;
		const char *next = find_any(name, end, "/");
		size_t n = (size_t)(next - name);
		bool dot = n == 1 && name[0] == '.';
		bool dots = n == 2 && name[0] == '.' && name[1] == '.';

		if (dots)
			drop_segment(out, from);
		if (!dot && !dots)
			buf_add(out, p, (size_t)(next - p));
		else if (next == end && slash)
			buf_add(out, "/", 1);
		p = next;
	}
}

static void
add_piece(
    struct buf *out, const char *before, struct piece piece, const char *behind)
{
	if (piece.p == NULL)
		return;
	buf_add_str(out, before);
	buf_add(out, piece.p, piece.len);
	buf_add_str(out, behind);
}

/* A relative path stands beside the base's last segment. */
static void
add_merged(struct buf *out, const struct uri *base, struct piece path)
{
	struct buf joined;
	size_t keep = base->path.len;

	while (keep > 0 && base->path.p[keep - 1] != '/')
		keep--;
	buf_init(&joined, keep + path.len + 1);
	if (base->authority.p != NULL && base->path.len == 0)
		buf_add(&joined, "/", 1);
	buf_add(&joined, base->path.p, keep);
	buf_add(&joined, path.p, path.len);
	if (joined.failed)
		out->failed = true;
	else
		add_path(out, (const char *)joined.data, joined.len);
	buf_clear(&joined);
}

bool
uri_resolve(const char *base, size_t base_len, const char *ref, size_t ref_len,
    struct buf *out)
{
	struct uri b = split(base, base_len), r = split(ref, ref_len);
	bool own = r.scheme.p != NULL || r.authority.p != NULL;

	add_piece(out, "", r.scheme.p != NULL ? r.scheme : b.scheme, ":");
	add_piece(out, "//", own ? r.authority : b.authority, "");
	if (own || (r.path.len != 0 && r.path.p[0] == '/')) {
		add_path(out, r.path.p, r.path.len);
	} else if (r.path.len == 0) {
		buf_add(out, b.path.p, b.path.len);
		if (r.query.p == NULL)
			r.query = b.query;
	} else {
		add_merged(out, &b, r.path);
	}
	add_piece(out, "?", r.query, "");
	return !out->failed;
}
