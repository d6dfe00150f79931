/*
 * One connection of a client of supervisord: what comes in goes to the methods,
 * what goes out waits in a queue of bounded length.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "model/limits.h"
#include "storage/session.h"
#include "supervisord/client_int.h"
#include "supervisord/fair.h"
#include "supervisord/feed.h"
#include "supervisord/idle.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"
#include "supervisord/turn.h"

#define QUEUE_BYTES_MIN (REPLY_BYTES_MAX + 65536)

void
client_free(struct client **client)
{
	struct client *c = *client;
	struct clients *cs = c->door->all;
	struct watch *w;

	TAILQ_REMOVE(c->doomed ? &cs->doomed : &cs->live, c, entry);
	cs->queued -= c->queued;
	while ((w = TAILQ_FIRST(&c->watches)) != NULL)
		watch_free(&w);
	if (c->hello != NULL)
		event_free(c->hello);
	chan_free(&c->chan);
	if (c->share != NULL) {
		share_shrink(c->share, SHARE_CLIENTS, c->counted);
		share_shrink(c->share, SHARE_REQUEST_BYTES, c->request_bytes);
	}
	share_give(&cs->sup->shares, &c->share);
	cs->over -= c->over;
	c->door->count--;
	idle_look(cs->sup->idle);
	free(c);
	*client = NULL;
}

/* Freed by the loop, since a caller may still hold it. */
void
client_doom(struct client *c)
{
	struct clients *cs = c->door->all;

	if (c->doomed)
		return;
	TAILQ_REMOVE(&cs->live, c, entry);
	TAILQ_INSERT_TAIL(&cs->doomed, c, entry);
	cs->queued -= c->queued;
	c->queued = 0;
	c->doomed = true;
	turn_heard(cs->sup->turn, &c->turn_mark);
	event_active(cs->reap, EV_TIMEOUT, 0);
}

void
client_drop(struct client *c, const char *why)
{
	if (c->doomed)
		return;
	log_info(
	    "client %s (uid %u): dropped: %s", c->name, (unsigned)c->uid, why);
	client_doom(c);
}

bool
client_give_up(struct client *c, int *ret_fd)
{
	int fd = -1;

	if (c->doomed)
		return false;
	/* What is queued for it would be lost. */
	if (chan_is_open(c->chan) && chan_queue_bytes(c->chan) == 0)
		fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	if (fd == -1) {
		client_drop(c, "its connection cannot be handed over");
		return false;
	}
	client_doom(c);
	*ret_fd = fd;
	return true;
}

static void
client_on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	struct client *c = ctx;
	int64_t began_us;

	if (c->doomed || msg->form != IPC_REQUEST)
		return;
	turn_heard(client_sup(c)->turn, &c->turn_mark);
	began_us = clock_mono_us();
	methods_call(c, msg);
	fair_spend(client_sup(c)->fair, c->share, clock_mono_us() - began_us);
}

static void
client_on_refused(
    struct chan *chan, const struct ipc_msg *msg, const char *reason, void *ctx)
{
	methods_refuse(ctx, msg, reason);
}

static void
client_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct client *c = ctx;

	log_debug("client %s (uid %u): %s", c->name, (unsigned)c->uid, reason);
	client_doom(c);
}

/* Requests that are not complete hold memory for as long as their peer likes. */
static bool
client_on_growth(struct chan *chan, size_t bytes, void *ctx)
{
	struct client *c = ctx;
	const struct settings *set = &client_sup(c)->settings;
	char why[SHARE_TEXT_BYTES];
	uint32_t seq;

	if (bytes > c->request_bytes &&
	    !share_has_room(
		c->share, set, SHARE_REQUEST_BYTES, bytes - c->request_bytes)) {
		share_refusal(c->share, set, SHARE_REQUEST_BYTES,
		    bytes - c->request_bytes, why);
		log_info("client %s (uid %u): refused: %s", c->name,
		    (unsigned)c->uid, why);
		if (chan_partial_seq(chan, &seq))
			reply_error(c, seq, ERR_USER_LIMIT, NULL, why);
		return false;
	}
	share_shrink(c->share, SHARE_REQUEST_BYTES, c->request_bytes);
	share_grow(c->share, SHARE_REQUEST_BYTES, bytes);
	c->request_bytes = bytes;
	return true;
}

static void
client_on_drained(struct chan *chan, void *ctx)
{
	feed_resume(ctx);
}

static const struct chan_ops client_chan_ops = {
	.on_msg = client_on_msg,
	.on_refused = client_on_refused,
	.on_closed = client_on_closed,
	.on_drained = client_on_drained,
	.on_growth = client_on_growth,
};

/* Never so small that one answer alone would not fit. */
static size_t
clients_queue_limit(const struct clients *cs)
{
	size_t limit = (size_t)cs->sup->settings.clientQueueBytes;

	return limit > QUEUE_BYTES_MIN ? limit : QUEUE_BYTES_MIN;
}

void
client_limit_queue(struct client *c)
{
	chan_set_queue_limit(c->chan, clients_queue_limit(c->door->all));
}

struct client *
client_new(struct door *d, int fd)
{
	struct clients *cs = d->all;
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return NULL;
	}
	c->door = d;
	strlcpy(c->name, d->admin ? "admin" : "new", sizeof(c->name));
	TAILQ_INIT(&c->watches);
	c->chan = chan_new(cs->sup->base, fd, IPC_IN, &client_chan_ops, c);
	if (c->chan == NULL) {
		log_warn("clients: one was not accepted: %s", strerror(errno));
		free(c);
		return NULL;
	}
	c->fd = fd;
	c->uid = chan_peer(c->chan)->uid;
	c->share = share_take(&cs->sup->shares, c->uid);
	if (c->share == NULL) {
		log_warn("clients: one was not accepted: no memory");
		chan_free(&c->chan);
		free(c);
		return NULL;
	}
	chan_set_admin(c->chan, d->admin);
	client_limit_queue(c);
	TAILQ_INSERT_TAIL(&cs->live, c, entry);
	d->count++;
	idle_look(cs->sup->idle);
	return c;
}

struct sup *
client_sup(const struct client *c)
{
	return c->door->all->sup;
}

uid_t
client_uid(const struct client *c)
{
	return c->uid;
}

bool
client_is_admin(const struct client *c)
{
	return c->door->admin && c->trust == TRUST_LOCAL;
}

enum trust_level
client_trust(const struct client *c)
{
	return c->trust;
}

const char *
client_label(const struct client *c)
{
	return client_is_admin(c) ? SESSION_ALL_LABELS : c->label;
}

bool
client_may_command(const struct client *c)
{
	return c->trust == TRUST_LOCAL &&
	    (c->door->admin || c->uid == 0 || c->uid == geteuid());
}

bool
client_sees_all(const struct client *c)
{
	return client_is_admin(c) || (c->trust == TRUST_LOCAL && c->uid == 0);
}

bool
client_may_see(const struct client *c, uint32_t uid)
{
	return c->uid == uid || client_sees_all(c);
}

bool
client_reads_first(struct client *c, const struct ulid *artifact)
{
	for (unsigned i = 0; i < CLIENT_READS; i++)
		if (memcmp(&c->read[i], artifact, sizeof(*artifact)) == 0)
			return false;
	c->read[c->nread++ % CLIENT_READS] = *artifact;
	return true;
}

bool
client_reads_all(const struct client *c)
{
	return client_sees_all(c) ||
	    (c->trust == TRUST_LOCAL && client_sup(c)->settings.shareRuns);
}

bool
client_may_read(const struct client *c, uint32_t uid)
{
	return c->uid == uid || client_reads_all(c);
}

struct share *
client_share(const struct client *c)
{
	return c->share;
}

void
client_hold(struct client *c, bool hold)
{
	c->held += hold ? 1 : -1u;
	if (!c->doomed)
		chan_hold_writing(c->chan, c->held > 0);
}

void
client_count_waiting(struct client *c, bool more)
{
	if (more) {
		c->waiting++;
		share_grow(c->share, SHARE_WAITING, 1);
	} else {
		c->waiting--;
		share_shrink(c->share, SHARE_WAITING, 1);
	}
}

bool
client_may_wait(const struct client *c, char ret_text[SHARE_TEXT_BYTES])
{
	const struct settings *set = &client_sup(c)->settings;

	if (share_has_room(c->share, set, SHARE_WAITING, 1) &&
	    c->waiting < (size_t)set->maxWaitingPerUid)
		return true;
	share_refusal(c->share, set, SHARE_WAITING, 1, ret_text);
	return false;
}

struct watch_list *
client_watches(struct client *c)
{
	return &c->watches;
}

uint64_t *
client_turn_mark(struct client *c)
{
	return &c->turn_mark;
}

bool
client_has_room(const struct client *c)
{
	return !c->doomed &&
	    chan_queue_bytes(c->chan) < clients_queue_limit(c->door->all) / 2;
}

static void
client_count(struct client *c)
{
	struct clients *cs = c->door->all;
	size_t now = chan_queue_bytes(c->chan);

	cs->queued += now - c->queued;
	c->queued = now;
}

/*
 * Each queue has a limit, and all of them together one that is far below its
 * sum: many clients that do not read must not use up the memory.
 */
static void
clients_check_queues(struct clients *cs)
{
	size_t most = clients_queue_limit(cs);
	struct client *c, *longest = NULL;

	if (most < LIMIT_CLIENTS_QUEUE_BYTES)
		most = LIMIT_CLIENTS_QUEUE_BYTES;
	if (cs->queued <= most)
		return;
	/* What was read meanwhile has not been counted. */
	TAILQ_FOREACH(c, &cs->live, entry) {
		client_count(c);
		if (longest == NULL || c->queued > longest->queued)
			longest = c;
	}
	if (longest == NULL || cs->queued <= most)
		return;
	log_warn(
	    "clients leave %zu bytes unread, more than %zu", cs->queued, most);
	client_drop(longest, "its queue is the longest of too many");
}

static void
client_sent(struct client *c, enum chan_status status)
{
	if (status == CHAN_OK) {
		client_count(c);
		clients_check_queues(c->door->all);
	} else if (status == CHAN_FULL)
		client_drop(c, "it does not read its answers");
	else if (status == CHAN_INVALID) {
		/* Memory, mostly: who waits for it must not wait for ever. */
		log_err("client %s (uid %u): a message was not sent: %s",
		    c->name, (unsigned)c->uid, chan_invalid_reason(c->chan));
		client_drop(c, "a message could not be made");
	}
}

void
client_send_result(struct client *c, uint32_t seq, const void *json, size_t len)
{
	CRASH_POINT(answer_due);
	if (!c->doomed)
		client_sent(c, chan_result(c->chan, seq, json, len));
	CRASH_POINT(answer_sent);
}

void
client_send_error(struct client *c, uint32_t seq, const void *json, size_t len)
{
	if (!c->doomed)
		client_sent(c, chan_error(c->chan, seq, json, len));
}

void
client_send_note(struct client *c, const struct ipc_params *p)
{
	if (!c->doomed)
		client_sent(c, chan_note(c->chan, p));
}
