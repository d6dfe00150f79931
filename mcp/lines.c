/*
 * Lines of a stream. Runs in the adapter on what its client writes; holds at
 * most one line, and gives the memory of a long one back at once.
 */
#include <string.h>

#include "mcp/lines.h"

#define LINES_KEEP_BYTES 65536

void
lines_init(struct lines *l, size_t max,
    void (*on_line)(void *, const uint8_t *, size_t), void (*on_long)(void *),
    void *ctx)
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
lines_give(struct lines *l, const uint8_t *p, size_t len)
{
	if (len > 0 && p[len - 1] == '\r')
		len--;
	if (len > l->max)
		l->on_long(l->ctx);
	else if (!is_blank(p, len))
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
	if (l->skipping)
		l->skipping = false;
	else if (l->part.len == 0)
		lines_give(l, p, len);
	else if (buf_add(&l->part, p, len))
		lines_give(l, l->part.data, l->part.len);
	else
		l->on_long(l->ctx);
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
	if (p == end || l->skipping)
		return;
	if (buf_add(&l->part, p, (size_t)(end - p)))
		return;
	l->skipping = true;
	l->on_long(l->ctx);
	lines_forget(l);
}

void
lines_end(struct lines *l)
{
	if (l->part.len > 0)
		lines_finish(l, NULL, 0);
}

void
lines_free(struct lines *l)
{
	buf_clear(&l->part);
}
