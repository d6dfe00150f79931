/*
 * buf: bytes that grow up to a limit set at the start. A failed append leaves
 * the buffer as it was and marks it, so that a writer may check once at its end.
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	size_t max;
	bool failed;  /* an append did not fit or memory ran out */
	bool starved; /* it was memory */
	bool secret;  /* bytes are wiped wherever they are given up */
};

/* An empty buffer of at most max_bytes; holds no memory until used. */
void buf_init(struct buf *, size_t max_bytes);
/* The same for what must not stay in memory: no copy of it is left behind. */
void buf_init_secret(struct buf *, size_t max_bytes);
/* Frees the bytes; the buffer may be used again. */
void buf_clear(struct buf *);
/* Forgets the content, keeps the memory. */
void buf_reset(struct buf *);
/* buf_add() when there may be no room, or nothing to add. */
bool buf_add_slow(struct buf *, const void *, size_t len);
bool buf_add_str(struct buf *, const char *);
bool buf_addf(struct buf *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Room for len more bytes at data + len, or NULL; the caller adds to len. */
uint8_t *buf_reserve(struct buf *, size_t len);
/* Moves the bytes out; the caller frees them. NUL-terminated beyond len. */
uint8_t *buf_take(struct buf *, size_t *ret_len);

/* Here, since nearly all appends are a few bytes that fit. */
static inline bool
buf_add(struct buf *b, const void *bytes, size_t len)
{
	if (b->failed || len == 0 || len > b->max - b->len ||
	    len >= b->cap - b->len)
		return buf_add_slow(b, bytes, len);
	memcpy(b->data + b->len, bytes, len);
	b->len += len;
	return true;
}

#endif
