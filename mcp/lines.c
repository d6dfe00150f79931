/*
 * Lines of a stream. Runs in the adapter on what its client writes; holds at
 * most one line, and gives the memory of a long one back at once. Of one that is
 * too long both ends are kept: its id is in one of them.
 */
#include <string.h>

#include "mcp/lines.h"

#define LINES_KEEP_BYTES 65536

void
lines_init(struct lines *l, size_t max,
    void (*on_line)(void *, const uint8_t *, size_t),
    void (*on_long)(void *, const struct lines_cut *), void *ctx)
{
	memset(l, 0, sizeof(*l));
	/* A carriage return at its end does not count. */
	buf_init_secret(&l->part, max + 1);
	l->max = max;
	l->on_line = on_line;
	l->on_long = on_long;
	l->ctx = ctx;
}

static bool
is_blank(const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != ' ' && p[i] != '\t' && p[i] != '\r')
			return false;
	return true;
}

static void
cut_add(struct lines_cut *c, const uint8_t *p, size_t len)
{
	size_t keep = LINES_CUT_BYTES - c->head_len;

	keep = len < keep ? len : keep;
	if (keep > 0)
		memcpy(c->head + c->head_len, p, keep);
	c->head_len += keep;
	if (len > LINES_CUT_BYTES) {
		p += len - LINES_CUT_BYTES;
		len = LINES_CUT_BYTES;
	}
	keep = LINES_CUT_BYTES - len;
	if (c->tail_len > keep) {
		memmove(c->tail, c->tail + c->tail_len - keep, keep);
		c->tail_len = keep;
	}
	if (len > 0)
		memcpy(c->tail + c->tail_len, p, len);
	c->tail_len += len;
}

/* Secrets may be in what is kept of it. */
static void
lines_give_long(struct lines *l)
{
	l->on_long(l->ctx, &l->cut);
	explicit_bzero(&l->cut, sizeof(l->cut));
}

static void
lines_give(struct lines *l, const uint8_t *p, size_t len)
{
	if (len > 0 && p[len - 1] == '\r')
		len--;
	if (len > l->max) {
		cut_add(&l->cut, p, len);
		lines_give_long(l);
	} else if (!is_blank(p, len))
		l->on_line(l->ctx, p, len);
}

static void
lines_forget(struct lines *l)
{
	if (l->part.cap > LINES_KEEP_BYTES)
		buf_clear(&l->part);
	else
		buf_reset(&l->part);
}

/* The end of the line that was begun, up to its newline. */
static void
lines_finish(struct lines *l, const uint8_t *p, size_t len)
{
	if (l->skipping) {
		cut_add(&l->cut, p, len);
		lines_give_long(l);
		l->skipping = false;
	} else if (l->part.len == 0)
		lines_give(l, p, len);
	else if (buf_add(&l->part, p, len))
		lines_give(l, l->part.data, l->part.len);
	else {
		cut_add(&l->cut, l->part.data, l->part.len);
		cut_add(&l->cut, p, len);
		lines_give_long(l);
	}
	lines_forget(l);
}

void
lines_feed(struct lines *l, const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len, *nl;

	while (p < end) {
		nl = memchr(p, '\n', (size_t)(end - p));
		if (nl == NULL)
			break;
		lines_finish(l, p, (size_t)(nl - p));
		p = nl + 1;
	}
	if (p == end)
		return;
	if (!l->skipping && buf_add(&l->part, p, (size_t)(end - p)))
		return;
	if (!l->skipping) {
		cut_add(&l->cut, l->part.data, l->part.len);
		lines_forget(l);
		l->skipping = true;
	}
	cut_add(&l->cut, p, (size_t)(end - p));
}

void
lines_end(struct lines *l)
{
	if (l->part.len > 0 || l->skipping)
		lines_finish(l, NULL, 0);
}

void
lines_free(struct lines *l)
{
	buf_clear(&l->part);
	explicit_bzero(&l->cut, sizeof(l->cut));
}
