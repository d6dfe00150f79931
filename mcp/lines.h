/*
 * lines: takes a stream of bytes apart into lines of bounded length. Pure: it
 * reads no descriptor.
 */
#ifndef MCP_LINES_H
#define MCP_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define LINES_CUT_BYTES 8192

/* The beginning and the end of a line that was too long; they may overlap. */
struct lines_cut {
	uint8_t head[LINES_CUT_BYTES], tail[LINES_CUT_BYTES];
	size_t head_len, tail_len;
};

struct lines {
	struct buf part; /* the line that is not complete yet */
	size_t max;
	bool skipping; /* it was too long: up to the next newline */
	/* One line without its end, never blank; its bytes live for the call. */
	void (*on_line)(void *ctx, const uint8_t *, size_t len);
	/* A line that was too long, when it has ended. */
	void (*on_long)(void *ctx, const struct lines_cut *);
	struct lines_cut cut;
	void *ctx;
};

/* max: bytes of the longest line, its end not counted. */
void lines_init(struct lines *, size_t max,
    void (*on_line)(void *, const uint8_t *, size_t),
    void (*on_long)(void *, const struct lines_cut *), void *ctx);
void lines_feed(struct lines *, const uint8_t *, size_t len);
/* The stream has ended: what has no newline is the last line. */
void lines_end(struct lines *);
void lines_free(struct lines *);

#endif
