/*
 * A connection whose peer writes what it likes. The first four bytes choose the
 * direction, the phase, the pieces in which the rest is written, and whether
 * the receiver stops reading after each message. For clients the rest is the
 * stream, for workers packets, each behind one byte for its length. What is
 * delivered depends neither on pieces nor on stops, and the end comes once.
 */
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/panic.h"
#include "ipc/chan.h"
#include "t/fuzz/fuzz.h"

struct run {
	struct chan *c;
	bool stops;
	int stopped;
	int closed;
	uint64_t hash; /* of all that was called back */
};

static struct event_base *base;

static void
note(struct run *r, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		r->hash = (r->hash ^ p[i]) * UINT64_C(1099511628211);
}

static void
stop(struct run *r)
{
	if (r->stops) {
		chan_hold_reading(r->c, true);
		r->stopped++;
	}
}

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	struct run *r = ctx;

	ASSERT(r->closed == 0 && r->stopped == 0);
	note(r, &m->params.msg, sizeof(m->params.msg));
	note(r, &m->seq, sizeof(m->seq));
	if (m->params.msg == MSG_HELLO || m->params.msg == MSG_HELLO_ANSWER)
		chan_set_phase(c, PEER_READY);
	stop(r);
}

static void
on_refused(
    struct chan *c, const struct ipc_msg *m, const char *reason, void *ctx)
{
	struct run *r = ctx;

	ASSERT(r->closed == 0 && r->stopped == 0 && reason[0] != '\0');
	note(r, &m->seq, sizeof(m->seq));
	note(r, reason, strlen(reason));
	stop(r);
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	struct run *r = ctx;

	ASSERT(r->closed++ == 0 && reason[0] != '\0');
	note(r, reason, strlen(reason));
}

static const struct chan_ops ops = { on_msg, on_refused, on_closed, NULL,
	NULL };

/* Until nothing moves any more. */
static void
turn(struct run *r)
{
	do {
		if (r->stopped > 0) {
			r->stopped = 0;
			if (r->closed == 0)
				chan_hold_reading(r->c, false);
		}
		for (int i = 0; i < 3; i++)
			event_base_loop(base, EVLOOP_NONBLOCK);
	} while (r->stopped > 0);
}

static uint64_t
run_once(const uint8_t *bytes, size_t len, enum ipc_dir dir,
    enum ipc_phase phase, unsigned pieces, bool stops)
{
	bool packets = ipc_is_packets(dir);
	struct run r = { .stops = stops };
	size_t n, skip = packets;
	int sv[2];

	ASSERT(socketpair(AF_UNIX, packets ? SOCK_SEQPACKET : SOCK_STREAM, 0,
		   sv) == 0);
	r.c = chan_new(base, sv[0], dir, &ops, &r);
	ASSERT(r.c != NULL);
	chan_set_phase(r.c, phase);
	for (size_t at = 0; at + skip < len; at += skip + n) {
		n = packets      ? bytes[at]
		    : pieces > 0 ? 1 + pieces++ * 7 % 61
				 : len;
		if (n > len - at - skip)
			n = len - at - skip;
		/* A packet of no bytes is an end. The chan may be closed. */
		if (n > 0)
			(void)send(sv[1], bytes + at + skip, n,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
		turn(&r);
	}
	close(sv[1]);
	turn(&r);
	ASSERT(r.closed == 1 && !chan_is_open(r.c));
	chan_free(&r.c);
	return r.hash;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum ipc_phase phase;
	enum ipc_dir dir;

	if (size < 4 || size > 60000)
		return 0;
	if (base == NULL) {
		signal(SIGPIPE, SIG_IGN);
		base = event_base_new();
		ASSERT(base != NULL);
	}
	dir = (enum ipc_dir)(bytes[0] % IPC_DIR__MAX);
	phase = (enum ipc_phase)(1u << bytes[1] % 6);
	ASSERT(run_once(bytes + 4, size - 4, dir, phase, 0, false) ==
	    run_once(bytes + 4, size - 4, dir, phase, 1u + bytes[2],
		bytes[3] % 2 != 0));
	return 0;
}
