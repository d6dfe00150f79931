/*
 * outbox: what a worker says on its way to supervisord. The messages of a run
 * are numbered from 1 and kept until supervisord has stored what they say, so
 * that another supervisord can be told again what the one before took along.
 */
#ifndef WORKERD_OUTBOX_H
#define WORKERD_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"

struct chan;
struct outbox;

/*
 * What is kept at most: a result and the state of a session, which are stored
 * at the end only, and something besides.
 */
#define OUTBOX_KEPT_BYTES ((size_t)10 << 20)
/* What waits to be sent when producers are to wait; they ask for it. */
#define OUTBOX_BUSY_BYTES ((size_t)2 << 20)
/* What may wait to be sent at all. */
#define OUTBOX_MOST_BYTES ((size_t)16 << 20)
/* For the queue limit of its chan, but of one that describes templates. */
#define OUTBOX_CHAN_BYTES ((size_t)512 << 10)

/* chan is borrowed. NULL when memory ran out. */
struct outbox *outbox_new(struct chan *);
void outbox_free(struct outbox **);

/*
 * Queues a message; IPC_KEPT in its row says whether it is numbered and kept.
 * False when it cannot be sent: outbox_reason() says why.
 */
bool outbox_send(struct outbox *, const struct ipc_params *);
const char *outbox_reason(const struct outbox *);
/* Whether producers should wait until outbox_drained() says that they may go. */
bool outbox_is_busy(const struct outbox *);
/*
 * The chan has drained. True when producers that found it busy may go on; also
 * when they had not asked.
 */
bool outbox_drained(struct outbox *);

/* Writes out what the chan has and ends it. */
void outbox_finish(struct outbox *);

/* run.ack: false when there was no message of that number yet. */
bool outbox_ack(struct outbox *, int64_t n);
/* Whether nothing is kept: all was acknowledged. */
bool outbox_is_empty(const struct outbox *);
/*
 * run.resume: answers it with this go, and sends all again that is kept. False
 * when supervisord claims to have what was never sent.
 */
bool outbox_resume(struct outbox *, int64_t epoch, int64_t n, bool go);

#endif
