/*
 * out: what waits to be written to the client. Standard output may be a pipe,
 * a socket, a terminal or a file and is shared with others, so its flags are
 * left as they are; writing never blocks for long nevertheless.
 */
#ifndef MCP_OUT_H
#define MCP_OUT_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct out;

struct out_ops {
	/* The queue is longer or shorter; must not write. */
	void (*on_change)(void *ctx);
	void (*on_broken)(
	    void *ctx); /* nothing can be written any more; said once */
};

/* fd is borrowed. NULL: no memory. The program must ignore SIGPIPE. */
struct out *
out_new(struct event_base *, int fd, const struct out_ops *, void *ctx);
void out_free(struct out **);
/*
 * A line that somebody waits for cannot be made: as if nobody read any more,
 * and on_broken is called from the loop.
 */
void out_break(struct out *);
/*
 * Queues one line and its newline; false when there is no memory for it, which
 * breaks it.
 */
bool out_line(struct out *, const void *, size_t len);
/* Bytes that wait. */
size_t out_queued(const struct out *);

#endif
