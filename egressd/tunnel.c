/*
 * tunnel: the talk with the upstream proxy, up to its answer. Runs in egressd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "egressd/upstream_int.h"

#define SEND_BYTES 2048
#define HEAD_BYTES 16384 /* of an HTTP answer */
#define WINDOW     4096

enum step {
	STEP_HTTP,  /* the head of the answer */
	STEP_HELLO, /* SOCKS: the method */
	STEP_LOGIN,
	STEP_ANSWER, /* four bytes, the address, the port */
};

struct tunnel {
	int fd;
	struct event *readable, *writable;
	const struct upstream *upstream;
	struct domain_address address;
	uint16_t port;
	const struct tunnel_ops *ops;
	void *arg;
	enum step step;
	struct buf out;
	size_t out_at;
	struct buf in;
};

void
tunnel_free(struct tunnel **tunnel)
{
	struct tunnel *t = *tunnel;

	*tunnel = NULL;
	if (t == NULL)
		return;
	if (t->readable != NULL)
		event_free(t->readable);
	if (t->writable != NULL)
		event_free(t->writable);
	fd_close(&t->fd);
	buf_clear(&t->out);
	buf_clear(&t->in);
	free(t);
}

static void
tunnel_fail(struct tunnel *t, const char *why)
{
	const struct tunnel_ops *ops = t->ops;
	void *arg = t->arg;

	tunnel_free(&t);
	ops->failed(arg, why);
}

static void
tunnel_open(struct tunnel *t)
{
	const struct tunnel_ops *ops = t->ops;
	void *arg = t->arg;
	int fd = t->fd;

	t->fd = -1;
	tunnel_free(&t);
	ops->opened(arg, fd);
}

/* Says what was put into out, then reads. */
static void
tunnel_say(struct tunnel *t, enum step next, bool good)
{
	t->step = next;
	t->out_at = 0;
	buf_reset(&t->in);
	if (good && event_add(t->writable, NULL) == 0)
		event_del(t->readable);
	else
		tunnel_fail(t, "no memory");
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct tunnel *t = arg;
	ssize_t n = send(t->fd, t->out.data + t->out_at, t->out.len - t->out_at,
	    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n == -1 && errno != EAGAIN && errno != EINTR) {
		tunnel_fail(t, "it closed the connection");
		return;
	}
	if (n > 0)
		t->out_at += (size_t)n;
	if (t->out_at < t->out.len)
		return;
	buf_reset(&t->out);
	event_del(t->writable);
	if (event_add(t->readable, NULL) == -1)
		tunnel_fail(t, "no memory");
}

/* Bytes of the answer that are still to come, as far as is known. */
static size_t
socks_wants(const struct tunnel *t)
{
	size_t length = 2;

	if (t->step == STEP_ANSWER) {
		length = 5;
		if (t->in.len >= 5)
			length = t->in.data[3] == 1 ? 10
			    : t->in.data[3] == 4    ? 22
						    : 7U + t->in.data[4];
	}
	return length - t->in.len;
}

static void
socks_answered(struct tunnel *t)
{
	const uint8_t *b = t->in.data;
	const char *wrong;

	if (b[0] != (t->step == STEP_LOGIN ? 1 : 5)) {
		tunnel_fail(t, "it is no SOCKS5 proxy");
		return;
	}
	if (t->step == STEP_HELLO && t->upstream->credentials && b[1] == 2) {
		tunnel_say(
		    t, STEP_LOGIN, upstream_socks_login(t->upstream, &t->out));
		return;
	}
	if (t->step != STEP_ANSWER && b[1] != 0) {
		tunnel_fail(t, "it wants another user and password");
		return;
	}
	if (t->step != STEP_ANSWER) {
		tunnel_say(t, STEP_ANSWER,
		    upstream_socks_request(&t->address, t->port, &t->out));
		return;
	}
	wrong = upstream_socks_status(b[1]);
	if (wrong != NULL)
		tunnel_fail(t, wrong);
	else
		tunnel_open(t);
}

static void
socks_read(struct tunnel *t)
{
	size_t want = socks_wants(t);
	uint8_t *room = buf_reserve(&t->in, want);
	ssize_t n = room == NULL ? 0 : recv(t->fd, room, want, MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		tunnel_fail(t, "it closed the connection");
		return;
	}
	t->in.len += (size_t)n;
	/* Refusals may be short. */
	if (socks_wants(t) == 0 ||
	    (t->step == STEP_ANSWER && t->in.len >= 2 && t->in.data[1] != 0))
		socks_answered(t);
}

/* Length of the head with its empty line; 0: not there yet. */
static size_t
head_length(const struct buf *b)
{
	const char *end = memmem(b->data, b->len, "\r\n\r\n", 4);

	return end == NULL ? 0 : (size_t)(end - (const char *)b->data) + 4;
}

/*
 * Looks at what is there, then takes as much as belongs to the head: what
 * follows it is the site's.
 */
static void
http_read(struct tunnel *t)
{
	size_t before = t->in.len, length;
	uint8_t *room = buf_reserve(&t->in, WINDOW);
	const char *wrong;
	ssize_t n = room == NULL
	    ? 0
	    : recv(t->fd, room, WINDOW - 1, MSG_PEEK | MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		tunnel_fail(t,
		    room == NULL ? "its answer has no end"
				 : "it closed the connection");
		return;
	}
	t->in.len += (size_t)n;
	length = head_length(&t->in);
	if (recv(t->fd, room, length == 0 ? (size_t)n : length - before,
		MSG_DONTWAIT) <= 0) {
		tunnel_fail(t, "it closed the connection");
		return;
	}
	if (length == 0)
		return;
	t->in.data[length] = '\0';
	wrong = upstream_http_status((const char *)t->in.data);
	if (wrong != NULL)
		tunnel_fail(t, wrong);
	else
		tunnel_open(t);
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct tunnel *t = arg;

	if (t->step == STEP_HTTP)
		http_read(t);
	else
		socks_read(t);
}

struct tunnel *
tunnel_new(struct event_base *base, int fd, const struct upstream *u,
    const struct domain_address *a, uint16_t port, const struct tunnel_ops *ops,
    void *arg)
{
	struct tunnel *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		close(fd);
		return NULL;
	}
	t->fd = fd;
	t->upstream = u;
	t->address = *a;
	t->port = port;
	t->ops = ops;
	t->arg = arg;
	buf_init_secret(&t->out, SEND_BYTES);
	buf_init(&t->in, HEAD_BYTES);
	t->step = u->socks ? STEP_HELLO : STEP_HTTP;
	t->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, t);
	t->writable =
	    event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, t);
	if (t->readable == NULL || t->writable == NULL ||
	    !(u->socks ? upstream_socks_hello(u, &t->out)
		       : upstream_http_request(u, a, port, &t->out)) ||
	    event_add(t->writable, NULL) == -1)
		tunnel_free(&t);
	return t;
}
