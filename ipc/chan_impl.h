/*
 * chan_impl: what the two transports of a chan and its common part share;
 * nothing outside ipc/chan*.c includes it.
 */
#ifndef IPC_CHAN_IMPL_H
#define IPC_CHAN_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "ipc/chan.h"

#define CHAN_MAGIC 0x6368616eu
/* A peer that does not read what chan_finish leaves has this long. */
#define CHAN_FINISH_S 5

#define FRAME_HEAD    4 /* of a message on a stream: its length */

struct event;
struct transport;

/* What a transport does. Reading starts paused. */
struct chan_transport {
	int sock_type;
	struct transport *(*open)(struct chan *, struct event_base *, int fd);
	void (*close)(struct transport *);
	/*
	 * False when memory ran out. now: somebody waits for it, so it may be
	 * worth a system call of its own.
	 */
	bool (*push)(struct transport *, const uint8_t *, size_t, bool now);
	size_t (*queued)(const struct transport *);
	/* False when memory ran out: nothing will be heard. */
	bool (*read_on)(struct transport *, bool on);
	/* The same for the queue. NULL for packets. */
	bool (*write_on)(struct transport *, bool on);
	/* Delivers what was read before a pause. */
	void (*resume)(struct transport *);
	/* Delivers all that lies in the socket. NULL for streams. */
	void (*drain)(struct transport *);
};

extern const struct chan_transport chan_stream;
extern const struct chan_transport chan_packet;

struct chan {
	uint32_t magic;
	const struct chan_transport *tp;
	struct transport *t;
	struct event *kick; /* work that must not happen in a caller's stack */
	int fd;
	struct ipc_gate gate;
	struct chan_ops ops;
	void *ctx;
	struct chan_peer peer;
	size_t queue_limit;
	size_t told_bytes; /* of in, to on_growth */
	struct buf out;    /* one message being encoded */
	struct buf in;     /* what is being delivered; outlives the transport */
	uint32_t last_seq;
	unsigned depth; /* event callbacks on the stack */
	bool closed;    /* on_closed was called, or nobody wants it */
	bool freed;     /* released when depth is 0 */
	bool finishing;
	bool held;
	bool withheld; /* nothing is written */
	bool deaf;     /* it cannot be watched: it is about to be closed */
	bool mute;     /* the peer takes no more bytes */
	bool crowded;  /* the queue has reached half its limit */
	char invalid[IPC_REASON_MAX];
};

/* Around every event callback; the chan may be gone after chan_leave. */
void chan_enter(struct chan *);
void chan_leave(struct chan *);
/* Whether another message may be delivered. */
bool chan_wants(const struct chan *);
/* One complete message; bytes[len] is writable. */
void chan_deliver(struct chan *, uint8_t *bytes, size_t len);
/* Ends the connection and tells the owner, once. */
void chan_break(struct chan *, const char *reason);
/* Writing failed: what the peer sent before is still to be read. */
void chan_mute(struct chan *);
/* The memory of c->in has changed; false: the connection ends. */
bool chan_measure(struct chan *);
/* Asks for tp->resume when the loop has looked at the others. */
void chan_resume_later(struct chan *);
/* Bytes have left the queue. */
void chan_wrote(struct chan *);
/* Bound for the next message from this peer. */
size_t chan_message_max(const struct chan *);

#endif
