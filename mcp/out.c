/*
 * The way out, in the adapter: lines wait in a queue and leave it when the
 * descriptor takes more. How long the queue may become is its users' business,
 * who hold back what would make it longer.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "mcp/out.h"

#define SOCKET_BYTES 262144 /* handed to a socket at once */

struct out {
	int fd;
	bool is_socket;
	bool broken;
	struct evbuffer *queue;
	struct event *writable;
	struct out_ops ops;
	void *ctx;
};

/*
 * A pipe that can be written to takes PIPE_BUF bytes without blocking; a
 * socket is told not to.
 */
static ssize_t
out_write(struct out *o)
{
	size_t most = o->is_socket ? SOCKET_BYTES : PIPE_BUF;
	size_t len = evbuffer_get_length(o->queue);
	const uint8_t *p;

	len = len > most ? most : len;
	p = evbuffer_pullup(o->queue, (ev_ssize_t)len);
	if (p == NULL)
		return -1;
	if (o->is_socket)
		return send(o->fd, p, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(o->fd, p, len);
}

static void
out_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct out *o = arg;
	ssize_t n;

	if (o->broken) {
		o->ops.on_broken(o->ctx);
		return;
	}
	n = out_write(o);
	if (n >= 0)
		evbuffer_drain(o->queue, (size_t)n);
	else if (errno != EAGAIN && errno != EINTR) {
		o->broken = true;
		evbuffer_drain(o->queue, evbuffer_get_length(o->queue));
		o->ops.on_broken(o->ctx);
		return;
	}
	if (evbuffer_get_length(o->queue) > 0)
		event_add(o->writable, NULL);
	if (n > 0)
		o->ops.on_change(o->ctx);
}

struct out *
out_new(struct event_base *base, int fd, const struct out_ops *ops, void *ctx)
{
	struct out *o = calloc(1, sizeof(*o));
	struct stat st;

	if (o == NULL)
		return NULL;
	o->fd = fd;
	o->is_socket = fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
	o->ops = *ops;
	o->ctx = ctx;
	o->queue = evbuffer_new();
	o->writable = event_new(base, fd, EV_WRITE, out_on_writable, o);
	if (o->queue == NULL || o->writable == NULL)
		out_free(&o);
	return o;
}

void
out_free(struct out **out)
{
	struct out *o = *out;

	*out = NULL;
	if (o == NULL)
		return;
	if (o->writable != NULL)
		event_free(o->writable);
	if (o->queue != NULL)
		evbuffer_free(o->queue);
	free(o);
}

void
out_break(struct out *o)
{
	o->broken = true;
	/* From the loop: nobody who writes lines expects the end. */
	event_active(o->writable, EV_WRITE, 0);
}

bool
out_line(struct out *o, const void *line, size_t len)
{
	if (o->broken)
		return true;
	if (evbuffer_expand(o->queue, len + 1) == -1 ||
	    evbuffer_add(o->queue, line, len) == -1 ||
	    evbuffer_add(o->queue, "\n", 1) == -1 ||
	    event_add(o->writable, NULL) == -1) {
		out_break(o);
		return false;
	}
	o->ops.on_change(o->ctx);
	return true;
}

size_t
out_queued(const struct out *o)
{
	return evbuffer_get_length(o->queue);
}
