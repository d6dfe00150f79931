/*
 * The outbox of workerd. Nothing is sent before what was said earlier, and what
 * is kept is the packet itself: the second time it is the same to the byte. It
 * must never hold up a run for the sake of what is kept: beyond the limit the
 * oldest goes, and the run can no longer change hands until what followed is
 * acknowledged.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "ipc/chan.h"
#include "workerd/outbox.h"

struct packet {
	STAILQ_ENTRY(packet) link;
	size_t len;
	uint8_t bytes[];
};

struct outbox {
	struct chan *chan;
	STAILQ_HEAD(, packet) kept;
	struct packet *next; /* the first that the chan has not yet; or NULL */
	uint64_t first;      /* number of the first that is kept */
	uint64_t last;       /* number of the last message */
	uint64_t acked;
	size_t kept_bytes, unsent_bytes;
	struct buf encoded;
	char reason[IPC_REASON_MAX];
};

struct outbox *
outbox_new(struct chan *chan)
{
	struct outbox *o = calloc(1, sizeof(*o));

	if (o == NULL)
		return NULL;
	o->chan = chan;
	o->first = 1;
	STAILQ_INIT(&o->kept);
	buf_init_secret(&o->encoded, LIMIT_PACKET_BYTES);
	return o;
}

/* The oldest, which the chan has. */
static void
outbox_drop(struct outbox *o)
{
	struct packet *p = STAILQ_FIRST(&o->kept);

	STAILQ_REMOVE_HEAD(&o->kept, link);
	o->first++;
	o->kept_bytes -= p->len;
	free(p);
}

void
outbox_free(struct outbox **outbox)
{
	struct outbox *o = *outbox;

	if (o == NULL)
		return;
	while (!STAILQ_EMPTY(&o->kept))
		outbox_drop(o);
	buf_clear(&o->encoded);
	free(o);
	*outbox = NULL;
}

/* Gives the chan so much that it will say when it has drained. */
static void
outbox_pump(struct outbox *o)
{
	struct packet *p;

	while ((p = o->next) != NULL &&
	    chan_queue_bytes(o->chan) < OUTBOX_CHAN_BYTES / 2) {
		if (chan_encoded(o->chan, p->bytes, p->len) != CHAN_OK)
			return;
		o->unsent_bytes -= p->len;
		o->next = STAILQ_NEXT(p, link);
	}
}

static size_t
outbox_waiting(const struct outbox *o)
{
	return o->unsent_bytes + chan_queue_bytes(o->chan);
}

bool
outbox_is_busy(const struct outbox *o)
{
	return outbox_waiting(o) >= OUTBOX_BUSY_BYTES;
}

bool
outbox_drained(struct outbox *o)
{
	outbox_pump(o);
	return outbox_waiting(o) <= OUTBOX_BUSY_BYTES / 2;
}

static bool
outbox_fail(struct outbox *o, const char *why)
{
	strlcpy(o->reason, why, sizeof(o->reason));
	return false;
}

static bool
outbox_keep(struct outbox *o, const struct ipc_params *params)
{
	struct packet *p;

	buf_reset(&o->encoded);
	if (!ipc_encode_note(&o->encoded, params, o->reason))
		return false;
	if (!chan_is_open(o->chan))
		return outbox_fail(o, "supervisord is gone");
	if (outbox_waiting(o) + o->encoded.len > OUTBOX_MOST_BYTES)
		return outbox_fail(o, "supervisord does not read");
	p = malloc(sizeof(*p) + o->encoded.len);
	if (p == NULL)
		return outbox_fail(o, "out of memory");
	p->len = o->encoded.len;
	memcpy(p->bytes, o->encoded.data, p->len);
	STAILQ_INSERT_TAIL(&o->kept, p, link);
	if (o->next == NULL)
		o->next = p;
	o->last++;
	o->kept_bytes += p->len;
	o->unsent_bytes += p->len;
	return true;
}

bool
outbox_send(struct outbox *o, const struct ipc_params *params)
{
	if ((msg_row(params->msg)->flags & IPC_KEPT) == 0)
		return chan_note(o->chan, params) == CHAN_OK ||
		    outbox_fail(o, chan_invalid_reason(o->chan));
	if (!outbox_keep(o, params))
		return false;
	outbox_pump(o);
	while (o->kept_bytes > OUTBOX_KEPT_BYTES &&
	    STAILQ_FIRST(&o->kept) != o->next)
		outbox_drop(o);
	return true;
}

const char *
outbox_reason(const struct outbox *o)
{
	return o->reason;
}

void
outbox_finish(struct outbox *o)
{
	chan_finish(o->chan);
}

bool
outbox_ack(struct outbox *o, int64_t n)
{
	uint64_t number = (uint64_t)n;

	if (number > o->last)
		return false;
	if (number > o->acked)
		o->acked = number;
	while (o->first <= number && STAILQ_FIRST(&o->kept) != o->next)
		outbox_drop(o);
	return true;
}

bool
outbox_is_empty(const struct outbox *o)
{
	return STAILQ_EMPTY(&o->kept);
}

bool
outbox_resume(struct outbox *o, int64_t epoch, int64_t n, bool go)
{
	struct ipc_params p;

	if ((uint64_t)n > o->last)
		return false;
	ipc_params_init(&p, MSG_S_RUN_RESUMED);
	ipc_set_int(&p, F_EPOCH, epoch);
	ipc_set_int(&p, F_N, (int64_t)o->first);
	ipc_set_bool(&p, F_GO, go);
	ipc_set_bool(&p, F_WHOLE, o->first <= o->acked + 1);
	if (chan_note(o->chan, &p) != CHAN_OK)
		return false;
	o->next = STAILQ_FIRST(&o->kept);
	o->unsent_bytes = o->kept_bytes;
	outbox_pump(o);
	return true;
}
