/*
 * The common part of a chan: sending, delivery, and the order in which things
 * end. Runs in every process with a message connection; a peer's doing ends
 * here as a reason, never as a crash or exit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "ipc/chan_impl.h"

static void
chan_destroy(struct chan *c)
{
	if (c->t != NULL)
		c->tp->close(c->t);
	if (c->kick != NULL)
		event_free(c->kick);
	fd_close(&c->fd);
	buf_clear(&c->out);
	buf_clear(&c->in);
	c->magic = 0;
	free(c);
}

void
chan_enter(struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	c->depth++;
}

void
chan_leave(struct chan *c)
{
	if (--c->depth == 0 && c->freed)
		chan_destroy(c);
}

bool
chan_wants(const struct chan *c)
{
	return !c->closed && !c->held && !c->finishing;
}

void
chan_break(struct chan *c, const char *reason)
{
	if (c->closed)
		return;
	c->closed = true;
	c->tp->close(c->t);
	c->t = NULL;
	event_del(c->kick);
	fd_close(&c->fd);
	c->ops.on_closed(c, reason, c->ctx);
}

void
chan_mute(struct chan *c)
{
	c->mute = true;
	if (c->finishing)
		chan_break(c, "the peer is gone");
}

void
chan_wrote(struct chan *c)
{
	size_t left = c->tp->queued(c->t);

	if (c->finishing && left == 0) {
		chan_break(c, "finished");
		return;
	}
	if (!c->crowded || left > c->queue_limit / 4)
		return;
	c->crowded = false;
	if (c->ops.on_drained != NULL)
		c->ops.on_drained(c, c->ctx);
}

void
chan_deliver(struct chan *c, uint8_t *bytes, size_t len)
{
	char reason[IPC_REASON_MAX];
	struct ipc_msg msg;

	switch (ipc_decode(&c->gate, bytes, len, &msg, reason)) {
	case IPC_OK:
		c->ops.on_msg(c, &msg, c->ctx);
		break;
	case IPC_REFUSED:
		if (c->ops.on_refused != NULL)
			c->ops.on_refused(c, &msg, reason, c->ctx);
		else
			chan_break(c, reason);
		break;
	case IPC_IGNORED:
		break;
	case IPC_BROKEN:
		chan_break(c, reason);
		break;
	}
}

size_t
chan_message_max(const struct chan *c)
{
	if (c->gate.phase == PEER_HELLO)
		return IPC_SMALL_BYTES;
	return c->tp == &chan_stream ? LIMIT_FRAME_BYTES : LIMIT_PACKET_BYTES;
}

/* Ends what is to end, or delivers what a hold had left. */
static void
chan_kicked(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	chan_enter(c);
	if (c->deaf)
		chan_break(c, "no memory to watch it");
	else if (c->finishing)
		chan_break(c,
		    c->tp->queued(c->t) == 0 ? "finished"
					     : "the peer does not read");
	else if (chan_wants(c))
		c->tp->resume(c->t);
	chan_leave(c);
}

bool
chan_measure(struct chan *c)
{
	if (c->ops.on_growth == NULL || c->in.cap == c->told_bytes)
		return true;
	c->told_bytes = c->in.cap;
	if (c->ops.on_growth(c, c->in.cap, c->ctx))
		return true;
	chan_finish(c);
	return false;
}

bool
chan_partial_seq(const struct chan *c, uint32_t *ret_seq)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return c->tp == &chan_stream && c->in.len > FRAME_HEAD &&
	    ipc_peek_seq(
		c->in.data + FRAME_HEAD, c->in.len - FRAME_HEAD, ret_seq);
}

void
chan_resume_later(struct chan *c)
{
	static const struct timeval at_once = { 0, 0 };

	event_add(c->kick, &at_once);
}

static int
chan_check_socket(struct chan *c)
{
	int domain = 0, type = 0;
	struct ucred cred;
	socklen_t len = sizeof(domain);

	if (getsockopt(c->fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == -1)
		return errno;
	len = sizeof(type);
	if (getsockopt(c->fd, SOL_SOCKET, SO_TYPE, &type, &len) == -1)
		return errno;
	if (domain != AF_UNIX || type != c->tp->sock_type)
		return EPROTOTYPE;
	len = sizeof(cred);
	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return errno;
	c->peer.uid = cred.uid;
	c->peer.gid = cred.gid;
	c->peer.pid = cred.pid;
	return fd_set_nonblock(c->fd);
}

struct chan *
chan_new(struct event_base *base, int fd, enum ipc_dir receives,
    const struct chan_ops *ops, void *ctx)
{
	bool packets = ipc_is_packets(receives);
	struct chan *c = calloc(1, sizeof(*c));
	int error;

	ASSERT(ops->on_msg != NULL && ops->on_closed != NULL);
	if (c == NULL) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	c->magic = CHAN_MAGIC;
	c->tp = packets ? &chan_packet : &chan_stream;
	c->fd = fd;
	c->gate.dir = receives;
	c->gate.phase = PEER_HELLO;
	c->ops = *ops;
	c->ctx = ctx;
	c->queue_limit = CHAN_QUEUE_BYTES;
	buf_init_secret(
	    &c->out, packets ? LIMIT_PACKET_BYTES : LIMIT_FRAME_BYTES);
	buf_init_secret(&c->in, c->out.max + FRAME_HEAD);
	error = chan_check_socket(c);
	if (error == 0) {
		c->kick = event_new(base, -1, 0, chan_kicked, c);
		c->t = c->kick == NULL ? NULL : c->tp->open(c, base, fd);
		error =
		    c->t == NULL || !c->tp->read_on(c->t, true) ? ENOMEM : 0;
	}
	if (error != 0) {
		chan_destroy(c);
		errno = error;
		return NULL;
	}
	return c;
}

void
chan_free(struct chan **cp)
{
	struct chan *c = *cp;

	if (c == NULL)
		return;
	MAGIC_CHECK(c, CHAN_MAGIC);
	*cp = NULL;
	if (!c->closed) {
		c->closed = true;
		c->tp->close(c->t);
		c->t = NULL;
		event_del(c->kick);
		fd_close(&c->fd);
	}
	c->freed = true;
	if (c->depth == 0)
		chan_destroy(c);
}

void
chan_finish(struct chan *c)
{
	struct timeval tv = { CHAN_FINISH_S, 0 };

	MAGIC_CHECK(c, CHAN_MAGIC);
	if (c->closed || c->finishing)
		return;
	c->finishing = true;
	(void)c->tp->read_on(c->t, false);
	if (c->mute || c->tp->queued(c->t) == 0)
		event_active(c->kick, EV_TIMEOUT, 0);
	else
		event_add(c->kick, &tv);
}

bool
chan_is_open(const struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return !c->closed && !c->finishing && !c->mute;
}

void
chan_set_phase(struct chan *c, enum ipc_phase phase)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	c->gate.phase = phase;
}

enum ipc_phase
chan_phase(const struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return c->gate.phase;
}

void
chan_set_admin(struct chan *c, bool admin)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	c->gate.admin = admin;
}

void
chan_set_ctx(struct chan *c, void *ctx)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	c->ctx = ctx;
}

void
chan_set_queue_limit(struct chan *c, size_t bytes)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	c->queue_limit = bytes;
}

const struct chan_peer *
chan_peer(const struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return &c->peer;
}

size_t
chan_queue_bytes(const struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return c->closed ? 0 : c->tp->queued(c->t);
}

void
chan_hold_reading(struct chan *c, bool hold)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	if (c->held == hold)
		return;
	c->held = hold;
	if (c->closed || c->finishing)
		return;
	c->deaf = !c->tp->read_on(c->t, !hold);
	if (!hold)
		event_active(c->kick, EV_TIMEOUT, 0);
}

void
chan_hold_writing(struct chan *c, bool hold)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	if (c->withheld == hold || c->closed || c->tp->write_on == NULL)
		return;
	c->withheld = hold;
	if (c->tp->write_on(c->t, !hold))
		return;
	c->deaf = true;
	event_active(c->kick, EV_TIMEOUT, 0);
}

void
chan_drain(struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	if (!c->closed && c->tp->drain != NULL)
		c->tp->drain(c->t);
}

/* Queues what is in c->out, if encoding it went well. */
static enum chan_status
chan_push(struct chan *c, bool encoded, bool now)
{
	size_t queued;
	bool pushed;

	if (!encoded)
		return CHAN_INVALID;
	queued = c->tp->queued(c->t);
	if (c->out.len > c->queue_limit || queued > c->queue_limit - c->out.len)
		return CHAN_FULL;
	pushed =
	    c->tp->push(c->t, c->out.data, c->out.len, now && !c->withheld);
	buf_reset(&c->out);
	if (!pushed)
		return CHAN_FULL;
	if (c->tp->queued(c->t) >= c->queue_limit / 2)
		c->crowded = true;
	return CHAN_OK;
}

static bool
chan_begin(struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	buf_reset(&c->out);
	c->invalid[0] = '\0';
	return chan_is_open(c);
}

enum chan_status
chan_request(struct chan *c, const struct ipc_params *p, uint32_t *ret_seq)
{
	uint32_t seq = c->last_seq == UINT32_MAX ? 1 : c->last_seq + 1;
	enum chan_status rc;

	if (!chan_begin(c))
		return CHAN_CLOSED;
	rc =
	    chan_push(c, ipc_encode_request(&c->out, seq, p, c->invalid), true);
	if (rc == CHAN_OK)
		*ret_seq = c->last_seq = seq;
	return rc;
}

enum chan_status
chan_note(struct chan *c, const struct ipc_params *p)
{
	if (!chan_begin(c))
		return CHAN_CLOSED;
	return chan_push(c, ipc_encode_note(&c->out, p, c->invalid), false);
}

enum chan_status
chan_encoded(struct chan *c, const void *bytes, size_t len)
{
	if (!chan_begin(c))
		return CHAN_CLOSED;
	return chan_push(c, buf_add(&c->out, bytes, len), false);
}

enum chan_status
chan_answer(struct chan *c, uint32_t seq, const struct ipc_params *p)
{
	if (!chan_begin(c))
		return CHAN_CLOSED;
	return chan_push(
	    c, ipc_encode_answer(&c->out, seq, p, c->invalid), true);
}

enum chan_status
chan_result(struct chan *c, uint32_t seq, const void *json, size_t len)
{
	if (!chan_begin(c))
		return CHAN_CLOSED;
	return chan_push(c, ipc_encode_result(&c->out, seq, json, len), true);
}

enum chan_status
chan_error(struct chan *c, uint32_t seq, const void *json, size_t len)
{
	if (!chan_begin(c))
		return CHAN_CLOSED;
	return chan_push(c, ipc_encode_error(&c->out, seq, json, len), true);
}

const char *
chan_invalid_reason(const struct chan *c)
{
	MAGIC_CHECK(c, CHAN_MAGIC);
	return c->invalid;
}
