/*
 * One message per packet over SOCK_SEQPACKET, between supervisor and workers.
 * A packet is whole or absent, so that a restart never leaves a torn stream.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "ipc/chan_impl.h"

#define PACKETS_PER_TURN 32
#define AGAIN_US         20000

struct packet {
	STAILQ_ENTRY(packet) link;
	size_t len;
	uint8_t bytes[];
};

struct transport {
	struct chan *c;
	int fd;
	struct event *readable;
	struct event *writable;
	struct event *again;
	STAILQ_HEAD(, packet) queue;
	size_t queued;
};

static void
packet_drop_queue(struct transport *t)
{
	struct packet *p;

	while ((p = STAILQ_FIRST(&t->queue)) != NULL) {
		STAILQ_REMOVE_HEAD(&t->queue, link);
		free(p);
	}
	t->queued = 0;
}

/* Takes one packet; its length, or 0 when there is none or all is over. */
static size_t
packet_take(struct transport *t)
{
	int fds[FDIO_MAX_FDS], nfds = FDIO_MAX_FDS, rc;
	size_t len = 0;

	/*
	 * A peer that leaves with packets unread raises ECONNRESET once,
	 * ahead of the packets it had sent: those still count.
	 */
	do {
		rc = fd_recv_msg(
		    t->fd, t->c->in.data, LIMIT_PACKET_BYTES, &len, fds, &nfds);
	} while (rc == ECONNRESET);
	if (rc == EAGAIN)
		return 0;
	if (rc == EMSGSIZE)
		chan_break(t->c, "the packet is too long");
	else if (rc != 0)
		chan_break(t->c, strerror(rc));
	if (rc != 0)
		return 0;
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
	if (nfds > 0)
		chan_break(t->c, "descriptors where none belong");
	else if (len == 0)
		chan_break(t->c, "closed by the peer");
	else if (len > chan_message_max(t->c))
		chan_break(t->c, "the packet is too long");
	else
		return len;
	return 0;
}

static void
packet_read(struct transport *t, int most)
{
	struct chan *c = t->c;
	size_t len;

	chan_enter(c);
	for (int i = 0; i < most && chan_wants(c); i++) {
		len = packet_take(t);
		if (len == 0)
			break;
		chan_deliver(c, c->in.data, len);
	}
	chan_leave(c);
}

static void
packet_readable(evutil_socket_t fd, short what, void *arg)
{
	packet_read(arg, PACKETS_PER_TURN);
}

static void
packet_drain(struct transport *t)
{
	packet_read(t, INT_MAX);
}

/*
 * Sends on when the socket has room. One that is refused memory looks writable
 * all the time, and one that cannot be watched says nothing: then by the clock.
 */
static bool
packet_wait(struct transport *t, int error)
{
	static const struct timeval later = { .tv_usec = AGAIN_US };

	if (error == EAGAIN && event_add(t->writable, NULL) == 0)
		return true;
	return evtimer_add(t->again, &later) == 0;
}

static void
packet_writable(evutil_socket_t fd, short what, void *arg)
{
	struct transport *t = arg;
	struct chan *c = t->c;
	struct packet *p;
	int rc = 0;

	chan_enter(c);
	while (rc == 0 && (p = STAILQ_FIRST(&t->queue)) != NULL) {
		rc = fd_send_msg(t->fd, p->bytes, p->len, NULL, 0);
		if (rc != 0)
			break;
		STAILQ_REMOVE_HEAD(&t->queue, link);
		t->queued -= p->len;
		free(p);
	}
	if (rc == 0 ||
	    ((rc == EAGAIN || rc == ENOBUFS) && packet_wait(t, rc))) {
		chan_wrote(c);
	} else if (rc == EAGAIN || rc == ENOBUFS) {
		/* The peer shall not wait for what does not come. */
		chan_break(c, "no memory to wait for room");
	} else {
		packet_drop_queue(t);
		chan_mute(c);
	}
	chan_leave(c);
}

static void
packet_close(struct transport *t)
{
	if (t->readable != NULL)
		event_free(t->readable);
	if (t->writable != NULL)
		event_free(t->writable);
	if (t->again != NULL)
		event_free(t->again);
	packet_drop_queue(t);
	free(t);
}

static struct transport *
packet_open(struct chan *c, struct event_base *base, int fd)
{
	struct transport *t;

	if (buf_reserve(&c->in, LIMIT_PACKET_BYTES + 1) == NULL)
		return NULL;
	t = malloc(sizeof(*t));
	if (t == NULL)
		return NULL;
	t->c = c;
	t->fd = fd;
	t->queued = 0;
	STAILQ_INIT(&t->queue);
	t->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, packet_readable, t);
	t->writable = event_new(base, fd, EV_WRITE, packet_writable, t);
	t->again = evtimer_new(base, packet_writable, t);
	if (t->readable == NULL || t->writable == NULL || t->again == NULL) {
		packet_close(t);
		return NULL;
	}
	return t;
}

/*
 * The socket mostly takes a packet at once, which spares a turn of the loop.
 * What is wrong with it otherwise is found out there, not in a caller's stack.
 */
static bool
packet_push(struct transport *t, const uint8_t *bytes, size_t len, bool now)
{
	struct packet *p;
	int error = EAGAIN;

	if (STAILQ_EMPTY(&t->queue)) {
		error = fd_send_msg(t->fd, bytes, len, NULL, 0);
		if (error == 0)
			return true;
	}
	p = malloc(sizeof(*p) + len);
	if (p == NULL)
		return false;
	/* If others are queued, they are waited for. */
	if (STAILQ_EMPTY(&t->queue) && !packet_wait(t, error)) {
		free(p);
		return false;
	}
	p->len = len;
	memcpy(p->bytes, bytes, len);
	STAILQ_INSERT_TAIL(&t->queue, p, link);
	t->queued += len;
	return true;
}

static size_t
packet_queued(const struct transport *t)
{
	return t->queued;
}

static bool
packet_read_on(struct transport *t, bool on)
{
	if (on)
		return event_add(t->readable, NULL) == 0;
	event_del(t->readable);
	return true;
}

/* Nothing is read ahead: the kernel keeps what was not taken. */
static void
packet_resume(struct transport *t)
{
}

const struct chan_transport chan_packet = {
	.sock_type = SOCK_SEQPACKET,
	.open = packet_open,
	.close = packet_close,
	.push = packet_push,
	.queued = packet_queued,
	.read_on = packet_read_on,
	.resume = packet_resume,
	.drain = packet_drain,
};
