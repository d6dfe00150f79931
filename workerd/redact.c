/*
 * redact: looks for secrets in every form that pages and programs give to
 * texts. Runs in workerd only. Needles are the values and their base64; a
 * needle is compared with a text character by character, each as it is or as
 * any escape of it, so that no list of spellings has to be complete. What
 * costs is bounded: a text is walked once, and needles are few.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "json/tape.h"
#include "model/limits.h"
#include "workerd/redact.h"
#include "workerd/secret.h"
#include "workerd/unescape.h"
#include "workerd/word.h"

#define ALIGNMENTS 3 /* of base64 */
#define LEVELS     3 /* of escapes within escapes */
#define JSON_DEPTH 128

struct needle {
	const uint8_t *bytes;
	size_t len;
	bool base64;
	bool backslash; /* has one */
	bool plain;     /* may be a word of any name */
};

struct redact {
	size_t count;
	struct needle list[LIMIT_SECRETS * (1 + ALIGNMENTS)];
	struct buf encoded; /* the needles that are not borrowed */
	bool starts[256];   /* bytes with which a needle may begin */
};

/* A text, or the inside of a JSON string. */
struct hay {
	const uint8_t *begin;
	const uint8_t *p;
	const uint8_t *end;
	bool json;
	bool name;
};

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* ---- one needle ---- */

static bool
same_base64(uint8_t a, uint8_t b)
{
	return a == b || (a == '+' && b == '-') || (a == '/' && b == '_');
}

/* How many bytes of the needle stand at the spot, and where they end. */
static size_t
match_piece(const struct needle *n, const struct hay *hay, const struct spot *s,
    const uint8_t **ret_end)
{
	size_t taken = unescape(s, ret_end);

	if (taken > 0 || (hay->json && *s->p == '\\') ||
	    !(n->base64 ? same_base64(*s->want, *s->p) : *s->want == *s->p))
		return taken;
	*ret_end = s->p + 1;
	return 1;
}

/* Where a needle that begins here ends, or NULL. */
static const uint8_t *
match_escaped(const struct needle *n, const struct hay *hay, int level)
{
	struct spot s = { hay->p, hay->end, n->bytes, n->len, level };
	const uint8_t *next;

	while (s.left > 0) {
		bool enough = n->len - s.left >= REDACT_MIN;
		size_t taken;

		if (s.p == s.end)
			return enough ? s.end : NULL;
		taken = match_piece(n, hay, &s, &next);
		if (taken == 0)
			return enough && unescape_is_cut(s.p, s.end) ? s.end
								     : NULL;
		s.want += taken;
		s.left -= taken;
		s.p = next;
	}
	return s.p;
}

static const uint8_t *
match(const struct needle *n, const struct hay *hay)
{
	const uint8_t *end;

	/* The value itself may look like an escape. */
	if (!(hay->json && n->backslash) &&
	    (size_t)(hay->end - hay->p) >= n->len &&
	    memcmp(hay->p, n->bytes, n->len) == 0)
		return hay->p + n->len;
	for (int level = 1; level <= LEVELS; level++) {
		end = match_escaped(n, hay, level);
		if (end != NULL)
			return end;
	}
	return NULL;
}

/* Where the longest secret that begins here ends, or NULL. */
static const uint8_t *
match_any(const struct redact *r, const struct hay *hay)
{
	const uint8_t *best = NULL, *end;

	if (!r->starts[*hay->p])
		return NULL;
	for (size_t i = 0; i < r->count; i++) {
		if (hay->name && r->list[i].plain)
			continue;
		end = match(&r->list[i], hay);
		if (end != NULL && r->list[i].plain &&
		    !word_is_alone(hay->begin, hay->end, hay->p, end))
			continue;
		if (end != NULL && (best == NULL || end > best))
			best = end;
	}
	return best;
}

/* ---- texts ---- */

/* Inside JSON strings an escape is one piece. */
static size_t
unit_len(const struct hay *hay)
{
	size_t left = (size_t)(hay->end - hay->p), n;

	if (!hay->json || *hay->p != '\\' || left < 2)
		return 1;
	n = hay->p[1] == 'u' ? 6 : 2;
	return n < left ? n : left;
}

/* out NULL: only looks. True when something was found. */
static bool
add_text(const struct redact *r, struct hay hay, struct buf *out)
{
	const uint8_t *from = hay.p, *end;
	bool found = false;

	while (hay.p < hay.end) {
		end = match_any(r, &hay);
		if (end == NULL) {
			hay.p += unit_len(&hay);
			continue;
		}
		found = true;
		if (out == NULL)
			return true;
		buf_add(out, from, (size_t)(hay.p - from));
		buf_add_str(out, REDACT_SHOWN);
		hay.p = from = end;
	}
	if (out != NULL)
		buf_add(out, from, (size_t)(hay.end - from));
	return found;
}

static bool
is_secret_word(const struct redact *r, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->list[i].len == len &&
		    memcmp(r->list[i].bytes, p, len) == 0)
			return true;
	return false;
}

/* A number, true, false or null; alone it may be meant as a text. */
static bool
add_word(const struct redact *r, const uint8_t *p, size_t len, bool alone,
    struct buf *out)
{
	bool found = (alone || *p == '-' || (*p >= '0' && *p <= '9')) &&
	    is_secret_word(r, p, len);

	if (out == NULL)
		return found;
	if (found)
		buf_add_str(out, "\"" REDACT_SHOWN "\"");
	else
		buf_add(out, p, len);
	return found;
}

static bool
is_one_of(uint8_t c, const char *chars)
{
	return c != '\0' && strchr(chars, c) != NULL;
}

static bool
is_word(uint8_t c)
{
	return is_one_of(c, "+-.") || (c >= '0' && c <= '9') ||
	    (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether the string that ends at p is the name of a member. */
static bool
is_key(const uint8_t *p, const uint8_t *end)
{
	for (p++; p < end && is_one_of(*p, " \t\r\n");)
		p++;
	return p < end && *p == ':';
}

static size_t
blanks(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && is_one_of(p[n], " \t\r\n"))
		n++;
	return n;
}

/* A text that is known to be JSON. */
static bool
add_json(const struct redact *r, const uint8_t *p, size_t len, struct buf *out)
{
	const uint8_t *end = p + len, *from;
	bool alone = is_word(p[blanks(p, len)]), found = false;

	while (p < end) {
		from = p;
		if (*p == '"') {
			for (p++; *p != '"'; p += *p == '\\' ? 2 : 1)
				continue;
			if (out != NULL)
				buf_add(out, "\"", 1);
			found |= add_text(r,
			    (struct hay){
				from + 1, from + 1, p, true, is_key(p, end) },
			    out);
			from = p++;
		} else if (is_word(*p)) {
			while (p < end && is_word(*p))
				p++;
			found |=
			    add_word(r, from, (size_t)(p - from), alone, out);
			continue;
		} else {
			p++;
		}
		if (out != NULL)
			buf_add(out, from, (size_t)(p - from));
	}
	return found;
}

static bool
is_json(const uint8_t *p, size_t len)
{
	struct json_limits limits = { JSON_BYTES_MAX, JSON_DEPTH };
	struct json_doc *doc = NULL;
	size_t at = blanks(p, len);
	bool good;

	/* Most texts are none, which shows at once. */
	if (at == len || !is_one_of(p[at], "{[\"-0123456789tfn"))
		return false;
	good = json_parse(p, len, &limits, JSON_BORROW, &doc, NULL);
	json_doc_free(&doc);
	return good;
}

static struct hay
whole(const void *bytes, size_t len, bool name)
{
	const uint8_t *p = bytes;

	return (struct hay){ p, p, p + len, false, name };
}

static bool
add_any(const struct redact *r, const void *bytes, size_t len, struct buf *out)
{
	return is_json(bytes, len) ? add_json(r, bytes, len, out)
				   : add_text(r, whole(bytes, len, false), out);
}

bool
redact_finds(const struct redact *r, const void *bytes, size_t len)
{
	return add_any(r, bytes, len, NULL);
}

bool
redact_add_name(const struct redact *r, const char *name, struct buf *out)
{
	(void)add_text(r, whole(name, strlen(name), true), out);
	return !out->failed;
}

bool
redact_add(
    const struct redact *r, const void *bytes, size_t len, struct buf *out)
{
	(void)add_any(r, bytes, len, out);
	return !out->failed;
}

/* ---- needles ---- */

static void
add_needle(struct redact *r, const void *bytes, size_t len, bool base64)
{
	const uint8_t *p = bytes;
	struct needle *n;

	if (len < REDACT_MIN)
		return;
	n = &r->list[r->count++];
	*n = (struct needle){ p, len, base64, memchr(p, '\\', len) != NULL,
		!base64 && word_is_plain(p, len) };
	r->starts[*p] = true;
	if (base64 && (*p == '+' || *p == '/'))
		r->starts[*p == '+' ? '-' : '_'] = true;
	if (*p == ' ')
		r->starts['+'] = true;
	r->starts['%'] = r->starts['&'] = r->starts['\\'] = true;
}

/*
 * The characters that are the same wherever the value stands behind so many
 * bytes of another: those all of whose bits are the value's.
 */
static bool
encode(struct buf *out, const uint8_t *value, size_t len, size_t before)
{
	size_t bits = 8 * (before + len);

	for (size_t at = (8 * before + 5) / 6 * 6; at + 6 <= bits; at += 6) {
		unsigned c = 0;

		for (size_t bit = at; bit < at + 6; bit++) {
			unsigned byte = value[bit / 8 - before];

			c = c << 1 | (byte >> (7 - bit % 8) & 1);
		}
		if (!buf_add(out, &alphabet[c], 1))
			return false;
	}
	return true;
}

static bool
add_encoded(struct redact *r, const uint8_t *value, size_t len)
{
	size_t from;

	for (size_t before = 0; before < ALIGNMENTS; before++) {
		from = r->encoded.len;
		if (!encode(&r->encoded, value, len, before))
			return false;
		add_needle(
		    r, r->encoded.data + from, r->encoded.len - from, true);
	}
	return true;
}

struct redact *
redact_new(const struct secrets *s)
{
	struct redact *r = calloc(1, sizeof(*r));
	const char *value;
	size_t len, room = 0;

	if (r == NULL)
		return NULL;
	for (size_t i = 0; i < secrets_count(s); i++) {
		(void)secrets_value(s, i, &len);
		room += ALIGNMENTS * (4 * len / 3 + 2);
	}
	buf_init_secret(&r->encoded, room + 1);
	/* At once: needles point into it. */
	if (buf_reserve(&r->encoded, room) == NULL) {
		redact_free(&r);
		return NULL;
	}
	for (size_t i = 0; i < secrets_count(s); i++) {
		value = secrets_value(s, i, &len);
		if (len < REDACT_MIN)
			continue;
		add_needle(r, value, len, false);
		if (!add_encoded(r, (const uint8_t *)value, len)) {
			redact_free(&r);
			return NULL;
		}
	}
	return r;
}

void
redact_free(struct redact **redact)
{
	struct redact *r = *redact;

	*redact = NULL;
	if (r == NULL)
		return;
	buf_clear(&r->encoded);
	free(r);
}

/* ---- for the whole process ---- */

static const struct redact *installed;

/* The log's lines are cut already, so that they may be cut once more. */
static void
filter_log(char *line, size_t size)
{
	struct buf b;

	buf_init(&b, 2 * size);
	if (!redact_add(installed, line, strlen(line), &b) ||
	    !buf_add(&b, "", 1))
		strlcpy(line, REDACT_SHOWN, size);
	else
		strlcpy(line, (const char *)b.data, size);
	buf_clear(&b);
}

void
redact_install(const struct redact *r)
{
	installed = r;
	log_set_filter(r == NULL ? NULL : filter_log);
}

const struct redact *
redact_installed(void)
{
	return installed;
}
