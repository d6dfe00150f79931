#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

void
buf_init(struct buf *b, size_t max_bytes)
{
	memset(b, 0, sizeof(*b));
	b->max = max_bytes;
}

void
buf_init_secret(struct buf *b, size_t max_bytes)
{
	buf_init(b, max_bytes);
	b->secret = true;
}

void
buf_clear(struct buf *b)
{
	size_t max = b->max;
	bool secret = b->secret;

	if (secret && b->data != NULL)
		explicit_bzero(b->data, b->cap);
	free(b->data);
	buf_init(b, max);
	b->secret = secret;
}

void
buf_reset(struct buf *b)
{
	if (b->secret && b->data != NULL)
		explicit_bzero(b->data, b->len);
	b->len = 0;
	b->failed = b->starved = false;
}

/* realloc() would leave a copy behind. */
static uint8_t *
buf_move(struct buf *b, size_t cap)
{
	uint8_t *p;

	if (!b->secret)
		return realloc(b->data, cap);
	p = malloc(cap);
	if (p == NULL || b->data == NULL)
		return p;
	memcpy(p, b->data, b->len);
	explicit_bzero(b->data, b->cap);
	free(b->data);
	return p;
}

static bool
buf_grow(struct buf *b, size_t len)
{
	size_t cap = b->cap == 0 ? 256 : b->cap;
	uint8_t *p;

	while (cap - b->len < len + 1)
		cap *= 2;
	p = buf_move(b, cap);
	b->starved = p == NULL;
	if (p == NULL)
		return false;
	b->data = p;
	b->cap = cap;
	return true;
}

uint8_t *
buf_reserve(struct buf *b, size_t len)
{
	if (b->failed || len > b->max - b->len ||
	    (b->cap - b->len <= len && !buf_grow(b, len))) {
		b->failed = true;
		return NULL;
	}
	return b->data + b->len;
}

bool
buf_add_slow(struct buf *b, const void *bytes, size_t len)
{
	uint8_t *p = buf_reserve(b, len);

	if (p == NULL)
		return false;
	if (len != 0)
		memcpy(p, bytes, len);
	b->len += len;
	return true;
}

bool
buf_add_str(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

bool
buf_addf(struct buf *b, const char *fmt, ...)
{
	size_t room = b->cap - b->len;
	va_list ap;
	uint8_t *p;
	int n;

	/* Nearly always there is room already. */
	va_start(ap, fmt);
	n = vsnprintf(
	    room == 0 ? NULL : (char *)b->data + b->len, room, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : buf_reserve(b, (size_t)n);
	if (p == NULL) {
		b->failed = true;
		return false;
	}
	if ((size_t)n >= room) {
		va_start(ap, fmt);
		vsnprintf((char *)p, (size_t)n + 1, fmt, ap);
		va_end(ap);
	}
	b->len += (size_t)n;
	return true;
}

uint8_t *
buf_take(struct buf *b, size_t *ret_len)
{
	uint8_t *data;

	if (buf_reserve(b, 0) == NULL)
		return NULL;
	data = b->data;
	data[b->len] = '\0';
	*ret_len = b->len;
	b->data = NULL;
	buf_clear(b);
	return data;
}
