/*
 * Frames over a stream socket: 4 bytes big-endian length, then one message.
 * Runs in the supervisor and in its clients; holds at most one frame of a peer.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#include "ipc/chan_impl.h"

#define FRAME_HEAD        4
#define STREAM_TURN_BYTES (256 << 10)
/* A frame buffer above this is given back after use. */
#define STREAM_KEEP_BYTES (64 << 10)

struct transport {
	struct chan *c;
	struct bufferevent *bev;
};

static size_t
frame_len(const uint8_t head[FRAME_HEAD])
{
	return (size_t)head[0] << 24 | (size_t)head[1] << 16 |
	    (size_t)head[2] << 8 | head[3];
}

/*
 * Takes len bytes, which are there, and leaves nothing of them behind: a frame
 * may hold secrets of a client.
 */
static void
stream_move(struct evbuffer *from, struct buf *to, size_t len)
{
	while (len > 0) {
		struct evbuffer_iovec piece;
		size_t n;

		evbuffer_peek(from, -1, NULL, &piece, 1);
		n = piece.iov_len < len ? piece.iov_len : len;
		memcpy(to->data + to->len, piece.iov_base, n);
		to->len += n;
		explicit_bzero(piece.iov_base, n);
		evbuffer_drain(from, n);
		len -= n;
	}
}

/*
 * Takes a complete frame into c->in; false when there is none yet or the
 * connection was ended. The low watermark spares calls for every piece.
 */
static bool
stream_take(struct transport *t)
{
	struct evbuffer *in = bufferevent_get_input(t->bev);
	uint8_t head[FRAME_HEAD];
	size_t len, have = evbuffer_get_length(in);

	if (have < FRAME_HEAD) {
		bufferevent_setwatermark(
		    t->bev, EV_READ, 0, LIMIT_FRAME_BYTES + FRAME_HEAD);
		return false;
	}
	evbuffer_copyout(in, head, sizeof(head));
	len = frame_len(head);
	if (len == 0 || len > chan_message_max(t->c)) {
		chan_break(t->c,
		    len == 0 ? "an empty frame" : "the frame is too long");
		return false;
	}
	bufferevent_setwatermark(t->bev, EV_READ,
	    have < FRAME_HEAD + len ? FRAME_HEAD + len : 0,
	    LIMIT_FRAME_BYTES + FRAME_HEAD);
	if (have < FRAME_HEAD + len)
		return false;
	buf_reset(&t->c->in);
	if (buf_reserve(&t->c->in, len + 1) == NULL) {
		chan_break(t->c, "no memory for a frame");
		return false;
	}
	evbuffer_drain(in, FRAME_HEAD);
	stream_move(in, &t->c->in, len);
	return true;
}

static void
stream_resume(struct transport *t)
{
	struct chan *c = t->c;

	while (chan_wants(c) && stream_take(t)) {
		chan_deliver(c, c->in.data, c->in.len);
		if (c->in.cap > STREAM_KEEP_BYTES)
			buf_clear(&c->in);
		else
			buf_reset(&c->in);
	}
}

static void
stream_readable(struct bufferevent *bev, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;

	chan_enter(c);
	stream_resume(t);
	chan_leave(c);
}

static void
stream_writable(struct bufferevent *bev, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;

	chan_enter(c);
	chan_wrote(c);
	chan_leave(c);
}

static void
stream_event(struct bufferevent *bev, short what, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;

	chan_enter(c);
	if ((what & BEV_EVENT_WRITING) != 0) {
		bufferevent_disable(bev, EV_WRITE);
		chan_mute(c);
	} else if (evbuffer_get_length(bufferevent_get_input(bev)) > 0)
		chan_break(c, "closed by the peer within a message");
	else
		chan_break(c, "closed by the peer");
	chan_leave(c);
}

static struct transport *
stream_open(struct chan *c, struct event_base *base, int fd)
{
	struct transport *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->c = c;
	t->bev = bufferevent_socket_new(base, fd, 0);
	if (t->bev == NULL) {
		free(t);
		return NULL;
	}
	bufferevent_setcb(
	    t->bev, stream_readable, stream_writable, stream_event, t);
	bufferevent_set_max_single_read(t->bev, STREAM_TURN_BYTES);
	bufferevent_set_max_single_write(t->bev, STREAM_TURN_BYTES);
	bufferevent_setwatermark(
	    t->bev, EV_READ, 0, LIMIT_FRAME_BYTES + FRAME_HEAD);
	/* Every write is reported: how empty is enough is chan's business. */
	bufferevent_setwatermark(t->bev, EV_WRITE, SIZE_MAX, 0);
	bufferevent_enable(t->bev, EV_WRITE);
	return t;
}

static void
stream_close(struct transport *t)
{
	/* Freeing is deferred, while the descriptor is closed at once. */
	bufferevent_disable(t->bev, EV_READ | EV_WRITE);
	bufferevent_free(t->bev);
	free(t);
}

static size_t
stream_queued(const struct transport *t)
{
	return evbuffer_get_length(bufferevent_get_output(t->bev));
}

/*
 * What the socket takes at once, past an empty queue. Errors are left to the
 * queue, which reports them from the loop.
 */
static size_t
stream_send(struct transport *t, struct iovec iov[2])
{
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	ssize_t n = sendmsg(
	    bufferevent_getfd(t->bev), &msg, MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 ? 0 : (size_t)n;
}

/* Queues what is left of the parts behind the first sent bytes. */
static bool
stream_queue(struct transport *t, const struct iovec iov[2], size_t sent)
{
	struct evbuffer *out = bufferevent_get_output(t->bev);

	if (evbuffer_expand(out, iov[0].iov_len + iov[1].iov_len - sent) == -1)
		return false;
	for (int i = 0; i < 2; i++) {
		size_t n = sent < iov[i].iov_len ? sent : iov[i].iov_len;

		sent -= n;
		if (evbuffer_add(out, (uint8_t *)iov[i].iov_base + n,
			iov[i].iov_len - n) != 0)
			return false;
	}
	return true;
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
		shutdown(bufferevent_getfd(t->bev), SHUT_RDWR);
	return false;
}

static void
stream_read_on(struct transport *t, bool on)
{
	if (on)
		bufferevent_enable(t->bev, EV_READ);
	else
		bufferevent_disable(t->bev, EV_READ);
}

const struct chan_transport chan_stream = {
	.sock_type = SOCK_STREAM,
	.open = stream_open,
	.close = stream_close,
	.push = stream_push,
	.queued = stream_queued,
	.read_on = stream_read_on,
	.resume = stream_resume,
};
