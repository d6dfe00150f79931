/*
 * The pipe to the browser, in the worker. Reads in large pieces into one
 * buffer, remembers how far it has looked for the NUL (else a long message that
 * comes in pieces is searched again and again), and goes on reading while
 * something waits to be written: the browser may itself be blocked writing.
 * What comes out of the pipe never ends this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "cdp/pipe.h"
#include "common/fdio.h"
#include "common/panic.h"

#define PIPE_MAGIC       0x63647031u
#define READ_ROOM        ((size_t)256 << 10)
#define KEEP_MAX         ((size_t)2 << 20)
#define READS_PER_WAKEUP 8
#define KERNEL_PIPE_SIZE (1 << 20)

struct cdp_pipe {
	uint32_t magic;
	int read_fd;
	int write_fd;
	struct event *read_ev;
	struct event *write_ev;
	struct event *end_ev;
	struct evbuffer *out;
	uint8_t *in;
	size_t in_len;
	size_t in_cap;
	size_t scanned; /* no NUL before this offset */
	size_t max_message;
	const char *why;
	bool closed;
	const struct cdp_pipe_ops *ops;
	void *arg;
};

static void
pipe_on_end(evutil_socket_t fd, short what, void *arg)
{
	struct cdp_pipe *p = arg;

	p->ops->on_end(p->why, p->arg);
}

void
cdp_pipe_close(struct cdp_pipe *p, const char *why)
{
	MAGIC_CHECK(p, PIPE_MAGIC);
	if (p->closed)
		return;
	p->closed = true;
	p->why = why;
	event_del(p->read_ev);
	event_del(p->write_ev);
	fd_close(&p->read_fd);
	fd_close(&p->write_fd);
	event_active(p->end_ev, EV_TIMEOUT, 0);
}

bool
cdp_pipe_is_closed(const struct cdp_pipe *p)
{
	return p->closed;
}

/* Makes room for another read; false when a message is beyond the limit. */
static bool
pipe_grow(struct cdp_pipe *p)
{
	size_t cap = p->in_cap;
	uint8_t *in;

	if (cap - p->in_len >= READ_ROOM / 4)
		return true;
	cap = cap == 0 ? READ_ROOM : cap * 2;
	in = realloc(p->in, cap);
	if (in == NULL) {
		cdp_pipe_close(p, "out of memory for a message");
		return false;
	}
	p->in = in;
	p->in_cap = cap;
	return true;
}

static void
pipe_shrink(struct cdp_pipe *p)
{
	uint8_t *in;

	if (p->in_cap <= KEEP_MAX || p->in_len > READ_ROOM / 2)
		return;
	in = realloc(p->in, READ_ROOM);
	if (in != NULL) {
		p->in = in;
		p->in_cap = READ_ROOM;
	}
}

/* Hands out every whole message of the buffer. */
static void
pipe_deliver(struct cdp_pipe *p)
{
	size_t start = 0;
	const uint8_t *nul;

	while (!p->closed) {
		nul = memchr(p->in + p->scanned, '\0', p->in_len - p->scanned);
		if (nul == NULL) {
			p->scanned = p->in_len;
			break;
		}
		p->scanned = (size_t)(nul - p->in) + 1;
		if ((size_t)(nul - p->in) - start > p->max_message) {
			cdp_pipe_close(p, "message beyond the size limit");
			break;
		}
		p->ops->on_message(
		    p->in + start, (size_t)(nul - p->in) - start, p->arg);
		start = p->scanned;
	}
	if (start > 0) {
		memmove(p->in, p->in + start, p->in_len - start);
		p->in_len -= start;
		p->scanned -= start;
		pipe_shrink(p);
	}
	if (p->in_len > p->max_message)
		cdp_pipe_close(p, "message beyond the size limit");
}

static void
pipe_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct cdp_pipe *p = arg;
	ssize_t n;
	size_t room;

	for (int i = 0; i < READS_PER_WAKEUP && !p->closed; i++) {
		if (!pipe_grow(p))
			return;
		room = p->in_cap - p->in_len;
		n = read(p->read_fd, p->in + p->in_len, room);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			cdp_pipe_close(p,
			    n == 0 ? "the browser ended unexpectedly"
				   : "reading from the browser failed");
			return;
		}
		p->in_len += (size_t)n;
		pipe_deliver(p);
		/* A pipe that gave less than asked for is empty now. */
		if ((size_t)n < room)
			return;
	}
}

static void
pipe_on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct cdp_pipe *p = arg;

	if (evbuffer_write(p->out, p->write_fd) == -1 && errno != EAGAIN &&
	    errno != EINTR) {
		cdp_pipe_close(p, "writing to the browser failed");
		return;
	}
	if (evbuffer_get_length(p->out) == 0)
		event_del(p->write_ev);
}

/* Queues what of the pieces lies behind the first done bytes. */
static bool
pipe_queue(struct cdp_pipe *p, const struct iovec *iov, int n, size_t done)
{
	for (int i = 0; i < n; i++) {
		if (done >= iov[i].iov_len) {
			done -= iov[i].iov_len;
			continue;
		}
		if (evbuffer_add(p->out, (const char *)iov[i].iov_base + done,
			iov[i].iov_len - done) == -1)
			return false;
		done = 0;
	}
	return event_add(p->write_ev, NULL) == 0;
}

bool
cdp_pipe_send(
    struct cdp_pipe *p, const struct iovec *iov, int n, size_t max_queue)
{
	size_t total = 0;
	ssize_t done = 0;

	MAGIC_CHECK(p, PIPE_MAGIC);
	if (p->closed)
		return false;
	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (total > max_queue ||
	    evbuffer_get_length(p->out) > max_queue - total)
		return false;
	if (evbuffer_get_length(p->out) == 0) {
		done = writev(p->write_fd, iov, n);
		if (done == -1 && errno != EAGAIN && errno != EINTR) {
			cdp_pipe_close(p, "writing to the browser failed");
			return false;
		}
		if (done == -1)
			done = 0;
		if ((size_t)done == total)
			return true;
	}
	if (!pipe_queue(p, iov, n, (size_t)done)) {
		/* Half a message may be out: the stream is of no use now. */
		cdp_pipe_close(p, "out of memory for a command");
		return false;
	}
	return true;
}

struct cdp_pipe *
cdp_pipe_new(struct event_base *base, int read_fd, int write_fd,
    size_t max_message, const struct cdp_pipe_ops *ops, void *arg)
{
	struct cdp_pipe *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->magic = PIPE_MAGIC;
	p->read_fd = p->write_fd = -1;
	p->max_message = max_message;
	p->ops = ops;
	p->arg = arg;
	p->out = evbuffer_new();
	p->read_ev =
	    event_new(base, read_fd, EV_READ | EV_PERSIST, pipe_on_readable, p);
	p->write_ev = event_new(
	    base, write_fd, EV_WRITE | EV_PERSIST, pipe_on_writable, p);
	p->end_ev = event_new(base, -1, 0, pipe_on_end, p);
	if (p->out == NULL || p->read_ev == NULL || p->write_ev == NULL ||
	    p->end_ev == NULL || fd_set_nonblock(read_fd) != 0 ||
	    fd_set_nonblock(write_fd) != 0 ||
	    event_add(p->read_ev, NULL) == -1) {
		cdp_pipe_free(&p);
		return NULL;
	}
	/* Fewer wake-ups for large answers; not every kernel allows it. */
	(void)fcntl(read_fd, F_SETPIPE_SZ, KERNEL_PIPE_SIZE);
	(void)fcntl(write_fd, F_SETPIPE_SZ, KERNEL_PIPE_SIZE);
	p->read_fd = read_fd;
	p->write_fd = write_fd;
	return p;
}

void
cdp_pipe_free(struct cdp_pipe **pp)
{
	struct cdp_pipe *p = *pp;

	if (p == NULL)
		return;
	MAGIC_CHECK(p, PIPE_MAGIC);
	if (p->read_ev != NULL)
		event_free(p->read_ev);
	if (p->write_ev != NULL)
		event_free(p->write_ev);
	if (p->end_ev != NULL)
		event_free(p->end_ev);
	if (p->out != NULL)
		evbuffer_free(p->out);
	fd_close(&p->read_fd);
	fd_close(&p->write_fd);
	free(p->in);
	p->magic = 0;
	free(p);
	*pp = NULL;
}
