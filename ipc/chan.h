/*
 * chan: one connection that carries messages, over libevent. Towards clients
 * it is a stream socket with frames (4 bytes big-endian length), towards
 * workers a SOCK_SEQPACKET socket with one message per packet; the direction
 * it receives decides which.
 *
 * The program must ignore SIGPIPE. Whatever the peer does ends, at worst, in
 * on_closed with a reason.
 */
#ifndef IPC_CHAN_H
#define IPC_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ipc/msg.h"

struct chan;
struct event_base;

struct chan_ops {
	/* A permitted, complete message. Its bytes live for the call only. */
	void (*on_msg)(struct chan *, const struct ipc_msg *, void *ctx);
	/*
	 * A client's request that must be answered with an error; params.msg
	 * is MSG__MAX for an unknown method. NULL: the peer is closed.
	 */
	void (*on_refused)(struct chan *, const struct ipc_msg *,
	    const char *reason, void *ctx);
	/*
	 * The connection is over; called once and never from within a call
	 * of chan_*. The owner calls chan_free, now or later.
	 */
	void (*on_closed)(struct chan *, const char *reason, void *ctx);
	/* The queue had reached half its limit and is below a quarter again.
	 * May be NULL. */
	void (*on_drained)(struct chan *, void *ctx);
	/*
	 * What came of messages that are not complete holds so many bytes of
	 * memory now. False ends the connection once its queue is written. May
	 * be NULL.
	 */
	bool (*on_growth)(struct chan *, size_t bytes, void *ctx);
};

struct chan_peer {
	uid_t uid;
	gid_t gid;
	pid_t pid;
};

enum chan_status {
	CHAN_OK,
	CHAN_FULL,    /* not queued: the queue's limit would be passed */
	CHAN_INVALID, /* not queued: the message breaks its own table row */
	CHAN_CLOSED   /* not queued: the connection is over */
};

/* The limit of a new chan's queue: one message of the greatest size fits. */
#define CHAN_QUEUE_BYTES (LIMIT_FRAME_BYTES + 4u)

/*
 * Takes the connected socket (also on failure) and its credentials; reading
 * starts with the loop. The phase is PEER_HELLO, the peer is no admin. NULL
 * with errno: not a Unix socket of the right type, or no memory.
 */
struct chan *chan_new(struct event_base *, int fd, enum ipc_dir receives,
    const struct chan_ops *, void *ctx);
/*
 * Closes at once, dropping what is queued; no callback follows. Safe within
 * callbacks of this very chan. Sets the pointer to NULL; NULL is accepted.
 */
void chan_free(struct chan **);
/* Reads no more, writes out the queue, then calls on_closed("finished"). */
void chan_finish(struct chan *);
bool chan_is_open(const struct chan *);

void chan_set_phase(struct chan *, enum ipc_phase);
enum ipc_phase chan_phase(const struct chan *);
void chan_set_admin(struct chan *, bool);
void chan_set_ctx(struct chan *, void *ctx);
void chan_set_queue_limit(struct chan *, size_t bytes);
const struct chan_peer *chan_peer(const struct chan *);
/* The number of the request that has come in part, if as much of it has. */
bool chan_partial_seq(const struct chan *, uint32_t *ret_seq);
/* Bytes queued that the kernel has not taken yet. */
size_t chan_queue_bytes(const struct chan *);
/* Back-pressure: while held, nothing is read and no message delivered. */
void chan_hold_reading(struct chan *, bool hold);
/* While held, what is sent to the peer of a stream waits in the queue. */
void chan_hold_writing(struct chan *, bool hold);
/*
 * Delivers, before it returns, all packets of a peer that has ended, and its
 * end. Not for a living peer, which could write for ever; streams ignore it.
 */
void chan_drain(struct chan *);

/* Sends a request; its answer carries *ret_seq (1 and up). */
enum chan_status
chan_request(struct chan *, const struct ipc_params *, uint32_t *ret_seq);
enum chan_status chan_note(struct chan *, const struct ipc_params *);
/* A notification that was encoded before, to be the same each time. */
enum chan_status chan_encoded(struct chan *, const void *, size_t len);
enum chan_status
chan_answer(struct chan *, uint32_t seq, const struct ipc_params *);
/* One JSON document. */
enum chan_status
chan_result(struct chan *, uint32_t seq, const void *json, size_t len);
enum chan_status
chan_error(struct chan *, uint32_t seq, const void *json, size_t len);
/* Why the last send was CHAN_INVALID; empty before. */
const char *chan_invalid_reason(const struct chan *);

#endif
