/*
 * Frames over a stream socket: 4 bytes big-endian length, then one message.
 * Runs in the supervisor and in its clients; what a peer sends is read into
 * the chan's buffer and delivered from there, which holds one frame at most
 * beyond what came along with it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "ipc/chan_impl.h"

#define STREAM_TURN_BYTES (256 << 10)
/* Who leaves as much unread in one turn of the loop waits for the next one. */
#define STREAM_TURN_UNREAD (16 << 10)
#define STREAM_READ_BYTES  2047 /* one less than the memory that buf takes */
/* A frame buffer above this is given back after use. */
#define STREAM_KEEP_BYTES (64 << 10)

struct transport {
	struct chan *c;
	struct event *read, *write;
	struct evbuffer *out;
};

static size_t
frame_len(const uint8_t head[FRAME_HEAD])
{
	return (size_t)head[0] << 24 | (size_t)head[1] << 16 |
	    (size_t)head[2] << 8 | head[3];
}

/*
 * Takes len bytes out and leaves nothing of them behind: a frame may hold
 * secrets of a client.
 */
static void
stream_discard(struct chan *c, size_t len)
{
	size_t left = c->in.len - len;
	struct buf rest;

	if (len == 0)
		return;
	if (c->in.cap > STREAM_KEEP_BYTES && left < STREAM_KEEP_BYTES) {
		buf_init_secret(&rest, c->in.max);
		if (buf_add(&rest, c->in.data + len, left)) {
			buf_clear(&c->in);
			c->in = rest;
			return;
		}
	}
	memmove(c->in.data, c->in.data + len, left);
	explicit_bzero(c->in.data + left, len);
	c->in.len = left;
}

/* Is there a whole frame at this place? If its length is wrong, it ends all. */
static bool
stream_has_frame(struct chan *c, size_t at, size_t *ret_len)
{
	size_t len, have = c->in.len - at;

	if (have < FRAME_HEAD)
		return false;
	len = frame_len(c->in.data + at);
	if (len == 0 || len > chan_message_max(c)) {
		chan_break(
		    c, len == 0 ? "an empty frame" : "the frame is too long");
		return false;
	}
	*ret_len = len;
	return have >= FRAME_HEAD + len;
}

/* Requests come cheaper than their answers: others are to have their turn. */
static bool
stream_has_share(const struct transport *t, size_t before)
{
	size_t queued = evbuffer_get_length(t->out);

	return queued < before || queued - before < STREAM_TURN_UNREAD;
}

/* Delivers whole frames; false: there are more, for the next turn. */
static bool
stream_resume_some(struct transport *t)
{
	struct chan *c = t->c;
	size_t before = evbuffer_get_length(t->out), at = 0, len;
	bool more;

	while ((more = chan_wants(c) && stream_has_frame(c, at, &len)) &&
	    stream_has_share(t, before)) {
		uint8_t *frame = c->in.data + at + FRAME_HEAD;
		uint8_t next = frame[len]; /* buf has a byte to spare */

		chan_deliver(c, frame, len);
		frame[len] = next;
		at += FRAME_HEAD + len;
	}
	stream_discard(c, at);
	if (!c->closed)
		(void)chan_measure(c);
	if (more)
		chan_resume_later(c);
	return !more;
}

static void
stream_resume(struct transport *t)
{
	(void)stream_resume_some(t);
}

/* Room for what is missing of the first frame, or for some small ones. */
static uint8_t *
stream_room(struct chan *c, size_t *ret_len)
{
	size_t want = STREAM_READ_BYTES, len;
	uint8_t *p;

	if (c->in.len >= FRAME_HEAD)
		want = FRAME_HEAD + frame_len(c->in.data) - c->in.len;
	if (want > STREAM_TURN_BYTES)
		want = STREAM_TURN_BYTES;
	p = buf_reserve(&c->in, want);
	if (p == NULL) {
		chan_break(c, "no memory for a frame");
		return NULL;
	}
	if (!chan_measure(c))
		return NULL;
	len = c->in.cap - c->in.len - 1;
	if (len > c->in.max - c->in.len)
		len = c->in.max - c->in.len;
	*ret_len = len < STREAM_TURN_BYTES ? len : STREAM_TURN_BYTES;
	return p;
}

static void
stream_receive(struct transport *t)
{
	struct chan *c = t->c;
	size_t len;
	uint8_t *room = stream_room(c, &len);
	ssize_t n;

	if (room == NULL)
		return;
	n = recv(c->fd, room, len, 0);
	if (n > 0) {
		c->in.len += (size_t)n;
		(void)stream_resume_some(t);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		chan_break(c,
		    c->in.len > 0 ? "closed by the peer within a message"
				  : "closed by the peer");
}

static void
stream_readable(evutil_socket_t fd, short what, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;

	chan_enter(c);
	/* What a pause has left is first. */
	if (stream_resume_some(t) && chan_wants(c))
		stream_receive(t);
	chan_leave(c);
}

static void
stream_writable(evutil_socket_t fd, short what, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;
	int n = evbuffer_write_atmost(t->out, fd, STREAM_TURN_BYTES);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	chan_enter(c);
	if (n == -1 || evbuffer_get_length(t->out) == 0)
		event_del(t->write);
	if (n == -1) {
		/* The peer shall not wait for what does not come. */
		shutdown(fd, SHUT_WR);
		chan_mute(c);
	} else {
		chan_wrote(c);
	}
	chan_leave(c);
}

static void
stream_close(struct transport *t)
{
	if (t->read != NULL)
		event_free(t->read);
	if (t->write != NULL)
		event_free(t->write);
	if (t->out != NULL)
		evbuffer_free(t->out);
	free(t);
}

static struct transport *
stream_open(struct chan *c, struct event_base *base, int fd)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->c = c;
	t->out = evbuffer_new();
	t->read = event_new(base, fd, EV_READ | EV_PERSIST, stream_readable, t);
	t->write =
	    event_new(base, fd, EV_WRITE | EV_PERSIST, stream_writable, t);
	if (t->out == NULL || t->read == NULL || t->write == NULL) {
		stream_close(t);
		return NULL;
	}
	return t;
}

static size_t
stream_queued(const struct transport *t)
{
	return evbuffer_get_length(t->out);
}

/*
 * What the socket takes at once, past an empty queue. Errors are left to the
 * queue, which reports them from the loop.
 */
static size_t
stream_send(struct transport *t, struct iovec iov[2])
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n = sendmsg(t->c->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? 0 : (size_t)n;
}

/* Queues what is left of the parts behind the first sent bytes. */
static bool
stream_queue(struct transport *t, const struct iovec iov[2], size_t sent)
{
	if (evbuffer_expand(t->out, iov[0].iov_len + iov[1].iov_len - sent) ==
	    -1)
		return false;
	for (int i = 0; i < 2; i++) {
		size_t n = sent < iov[i].iov_len ? sent : iov[i].iov_len;

		sent -= n;
		if (evbuffer_add(t->out, (uint8_t *)iov[i].iov_base + n,
			iov[i].iov_len - n) != 0)
			return false;
	}
	return t->c->withheld || event_add(t->write, NULL) == 0;
}

static bool
stream_push(struct transport *t, const uint8_t *bytes, size_t len, bool now)
{
	uint8_t head[FRAME_HEAD] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
		(uint8_t)(len >> 8), (uint8_t)len };
	struct iovec iov[2] = { { head, FRAME_HEAD },
		{ (void *)(uintptr_t)bytes, len } };
	size_t sent = 0;

	if (now && stream_queued(t) == 0)
		sent = stream_send(t, iov);
	if (sent == FRAME_HEAD + len || stream_queue(t, iov, sent))
		return true;
	/* A message that was begun and cannot be finished ends it all. */
	if (sent > 0)
		shutdown(t->c->fd, SHUT_RDWR);
	return false;
}

static bool
stream_read_on(struct transport *t, bool on)
{
	if (on)
		return event_add(t->read, NULL) == 0;
	event_del(t->read);
	return true;
}

static bool
stream_write_on(struct transport *t, bool on)
{
	if (!on) {
		event_del(t->write);
		return true;
	}
	if (stream_queued(t) == 0)
		return true;
	if (event_add(t->write, NULL) == -1)
		return false;
	stream_writable(t->c->fd, EV_WRITE, t);
	return true;
}

const struct chan_transport chan_stream = {
	.sock_type = SOCK_STREAM,
	.open = stream_open,
	.close = stream_close,
	.push = stream_push,
	.queued = stream_queued,
	.read_on = stream_read_on,
	.write_on = stream_write_on,
	.resume = stream_resume,
};
