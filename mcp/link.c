/*
 * The link, in the adapter. Its states are: no connection; one that has said
 * hello; one that is ready; a service being started. Requests wait in one list
 * until they can be sent and in another until they are answered; a lost
 * connection moves the second one back to the first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "client/dial.h"
#include "common/clock.h"
#include "common/panic.h"
#include "ipc/chan.h"
#include "mcp/fault.h"
#include "mcp/link_int.h"

#define DIAL_WAIT_MS 20 /* blocking; then again later */
#define RETRY_MS     100
#define GONE_MS      10000 /* a service that was there may be restarting */
#define OWN_GONE_MS  3000  /* one that may be started by us */
#define OTHERS_MS    30000 /* one that somebody else is starting */
#define HELLO_MS     30000
#define IDLE_MS      60000
#define BUSY_MAX     16 /* answers that come as fast as they can */
#define TRIES_MAX    4  /* what ends the service each time is given up */

static void link_pump(struct link *);

static void
link_arm(struct link *l, int64_t ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(l->timer, &tv);
}

void
link_req_done(struct link_req *r, bool good, const char *json, size_t len)
{
	r->waits = false;
	r->seq = 0;
	r->done(r, good, json, len);
}

/*
 * What the service has to send at once must fit its queue for this client,
 * which it closes otherwise. Waiting for events is not counted: hundreds may.
 */
static bool
req_counts(const struct link_req *r)
{
	return r->params.msg != MSG_RUN_EVENTS;
}

/* It is not on its way any more. */
void
link_forget_sent(struct link *l, struct link_req *r)
{
	TAILQ_REMOVE(&l->sent, r, entry);
	l->busy -= req_counts(r);
}

/* All that wait are answered with this error document. */
static void
link_refuse_all(struct link *l, const char *json)
{
	struct link_list all = TAILQ_HEAD_INITIALIZER(all);
	struct link_req *r;

	l->since_ms = 0;
	TAILQ_CONCAT(&all, &l->waiting, entry);
	while ((r = TAILQ_FIRST(&all)) != NULL) {
		TAILQ_REMOVE(&all, r, entry);
		link_req_done(r, false, json, strlen(json));
	}
}

void
link_fail_all(struct link *l, const char *why)
{
	char json[FAULT_BYTES_MAX];

	fault_write(json, ERR_SERVICE_UNAVAILABLE, why);
	link_refuse_all(l, json);
}

/* The connection is over; what was asked waits again. */
void
link_down(struct link *l)
{
	struct link_req *r;

	chan_free(&l->chan);
	l->state = LINK_DOWN;
	event_del(l->timer);
	event_del(l->overdue);
	while ((r = TAILQ_LAST(&l->sent, link_list)) != NULL) {
		link_forget_sent(l, r);
		TAILQ_INSERT_HEAD(&l->waiting, r, entry);
		r->seq = 0;
	}
}

/* Answers what was sent too often; the rest may be sent again. */
static void
link_shed(struct link *l)
{
	char json[FAULT_BYTES_MAX];
	struct link_req *r, *next;

	fault_write(json, ERR_SERVICE_UNAVAILABLE,
	    "the service ended again and again before it answered");
	TAILQ_FOREACH_SAFE(r, &l->waiting, entry, next) {
		if (r->tries < TRIES_MAX)
			continue;
		TAILQ_REMOVE(&l->waiting, r, entry);
		link_req_done(r, false, json, strlen(json));
	}
}

static void
link_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct link *l = ctx;

	bool refused = l->state == LINK_HELLO && l->since_ms != 0 &&
	    clock_mono_ms() - l->since_ms > HELLO_MS;
	char text[FAULT_TEXT_MAX];

	if (l->state == LINK_READY)
		l->grace_ms = l->config->may_start ? OWN_GONE_MS : GONE_MS;
	link_down(l);
	if (refused) {
		snprintf(text, sizeof(text),
		    "the service ends every connection: %s", reason);
		link_fail_all(l, text);
	}
	if (TAILQ_EMPTY(&l->waiting))
		return;
	link_shed(l);
	link_arm(l, RETRY_MS);
}

static void
link_take_hello(struct link *l, const struct ipc_msg *m)
{
	struct timeval idle = { IDLE_MS / 1000, 0 };
	char json[FAULT_BYTES_MAX];

	if (m->error != NULL) {
		snprintf(json, sizeof(json), "%s", m->error);
		link_down(l);
		link_refuse_all(l, json);
		return;
	}
	if (m->params.msg != MSG_HELLO_ANSWER ||
	    ipc_int(&m->params, F_PROTO, -1) != IPC_PROTO_CLIENT) {
		link_down(l);
		link_fail_all(l,
		    "the service speaks another version of the protocol: "
		    "install the adapter that belongs to it");
		return;
	}
	if (l->config->remote &&
	    strcmp(ipc_str(&m->params, F_TRUST), "remote") != 0) {
		link_down(l);
		link_fail_all(l, "the service does not lower the trust");
		return;
	}
	chan_set_phase(l->chan, PEER_READY);
	l->state = LINK_READY;
	l->since_ms = 0;
	l->grace_ms = 0;
	l->started = false;
	l->why[0] = '\0';
	event_add(l->timer, &idle);
	link_pump(l);
}

static void
link_on_msg(struct chan *chan, const struct ipc_msg *m, void *ctx)
{
	struct link *l = ctx;
	struct link_req *r;

	l->heard_ms = clock_mono_ms();
	if (m->form == IPC_NOTE)
		return;
	if (l->state == LINK_HELLO) {
		if (m->seq == l->hello_seq)
			link_take_hello(l, m);
		return;
	}
	TAILQ_FOREACH(r, &l->sent, entry)
		if (r->seq == m->seq)
			break;
	if (r == NULL)
		return;
	link_forget_sent(l, r);
	if (TAILQ_EMPTY(&l->sent))
		link_arm(l, IDLE_MS);
	if (m->error != NULL)
		link_req_done(r, false, m->error, m->error_len);
	else
		link_req_done(r, true, m->result, m->result_len);
	link_pump(l);
}

static void
link_on_drained(struct chan *chan, void *ctx)
{
	link_pump(ctx);
}

static const struct chan_ops link_chan_ops = {
	.on_msg = link_on_msg,
	.on_closed = link_on_closed,
	.on_drained = link_on_drained,
};

/* Takes the connected socket. */
static void
link_say_hello(struct link *l, int fd)
{
	struct ipc_params p;

	l->chan = chan_new(l->base, fd, IPC_OUT, &link_chan_ops, l);
	ipc_params_init(&p, MSG_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&p, F_CLIENT, "browsertask-mcp");
	if (l->config->label[0] != '\0')
		ipc_set_str(&p, F_LABEL, l->config->label);
	if (l->config->remote)
		ipc_set_str(&p, F_TRUST, "remote");
	if (l->chan == NULL ||
	    chan_request(l->chan, &p, &l->hello_seq) != CHAN_OK) {
		chan_free(&l->chan);
		link_fail_all(l, "no memory for a connection");
		return;
	}
	l->state = LINK_HELLO;
	link_arm(l, HELLO_MS);
}

static void
link_on_started(void *ctx, bool good, const char *why)
{
	struct link *l = ctx;

	start_free(&l->start);
	l->state = LINK_DOWN;
	/* One that somebody else starts at the same time is as good. */
	if (!good && strstr(why, START_OTHER) != NULL &&
	    strstr(why, START_ELSEWHERE) == NULL)
		l->grace_ms = OTHERS_MS;
	if (good || l->grace_ms == OTHERS_MS) {
		l->since_ms = clock_mono_ms();
		strlcpy(l->why, why, sizeof(l->why));
		link_pump(l);
	} else {
		char text[FAULT_TEXT_MAX];

		snprintf(text, sizeof(text),
		    "no service runs, and one could not be started: %s%s", why,
		    strstr(why, START_ELSEWHERE) != NULL
			? "; start the adapter with -r and that directory"
			: "");
		l->started = false;
		link_fail_all(l, text);
	}
}

/* False: it cannot be tried. */
static bool
link_start(struct link *l)
{
	if (!l->config->may_start || l->started)
		return false;
	l->started = true;
	l->start = start_new(l->base, &l->config->start, link_on_started, l);
	if (l->start != NULL)
		l->state = LINK_STARTING;
	return l->start != NULL;
}

static void
link_dial(struct link *l)
{
	char reason[CLIENT_REASON_MAX];
	char text[CLIENT_REASON_MAX + FAULT_TEXT_MAX];
	int64_t now = clock_mono_ms();
	int fd, error;

	if (l->since_ms == 0)
		l->since_ms = now;
	fd = client_dial(l->config->socket, DIAL_WAIT_MS, l->path, reason);
	error = errno;
	if (fd != -1) {
		link_say_hello(l, fd);
		return;
	}
	/* It is there, or was a moment ago. */
	if (now - l->since_ms < (error == ETIMEDOUT ? GONE_MS : l->grace_ms)) {
		link_arm(l, RETRY_MS);
		return;
	}
	if ((error == ENOENT || error == ECONNREFUSED) && link_start(l))
		return;
	l->grace_ms = 0;
	l->started = false;
	snprintf(text, sizeof(text), "no service answers (%s)%s%s%s", reason,
	    error == EACCES ? ": only its user, root and the group of the "
			      "setting clientGroup may ask it"
			    : "",
	    l->why[0] == '\0' ? "" : "; the start of one said: ", l->why);
	l->why[0] = '\0';
	link_fail_all(l, text);
}

/* False: no more can be sent now. */
static bool
link_send_one(struct link *l, struct link_req *r)
{
	char json[FAULT_BYTES_MAX];

	switch (chan_request(l->chan, &r->params, &r->seq)) {
	case CHAN_OK:
		TAILQ_REMOVE(&l->waiting, r, entry);
		TAILQ_INSERT_TAIL(&l->sent, r, entry);
		l->busy += req_counts(r);
		r->tries++;
		event_del(l->timer);
		link_await(l, r);
		return true;
	case CHAN_INVALID:
		TAILQ_REMOVE(&l->waiting, r, entry);
		fault_write(
		    json, ERR_INVALID_PARAMETER, chan_invalid_reason(l->chan));
		link_req_done(r, false, json, strlen(json));
		return true;
	case CHAN_FULL:
	case CHAN_CLOSED:
		break;
	}
	return false;
}

static void
link_pump(struct link *l)
{
	struct link_req *r, *next;

	if (l->held)
		return;
	if (l->state == LINK_DOWN && !TAILQ_EMPTY(&l->waiting))
		link_dial(l);
	if (l->state != LINK_READY)
		return;
	TAILQ_FOREACH_SAFE(r, &l->waiting, entry, next) {
		if (req_counts(r) && l->busy >= BUSY_MAX)
			continue;
		if (!link_send_one(l, r))
			break;
	}
}

static void
link_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	if (l->state == LINK_HELLO)
		link_fail_silent(l);
	else if (l->state == LINK_READY && TAILQ_EMPTY(&l->waiting) &&
	    TAILQ_EMPTY(&l->sent))
		link_down(l);
	else
		link_pump(l);
}

struct link *
link_new(struct event_base *base, const struct link_config *config)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->base = base;
	l->config = config;
	TAILQ_INIT(&l->waiting);
	TAILQ_INIT(&l->sent);
	l->timer = evtimer_new(base, link_on_timer, l);
	l->overdue = evtimer_new(base, link_on_overdue, l);
	if (l->timer == NULL || l->overdue == NULL)
		link_free(&l);
	return l;
}

void
link_free(struct link **link)
{
	struct link *l = *link;

	*link = NULL;
	if (l == NULL)
		return;
	start_free(&l->start);
	chan_free(&l->chan);
	if (l->timer != NULL)
		event_free(l->timer);
	if (l->overdue != NULL)
		event_free(l->overdue);
	free(l);
}

void
link_send(struct link *l, struct link_req *r)
{
	ASSERT(!r->waits);
	r->waits = true;
	r->seq = 0;
	r->tries = 0;
	TAILQ_INSERT_TAIL(&l->waiting, r, entry);
	/* From the loop: what fails at once must not be told within this. */
	if (l->state == LINK_DOWN || l->state == LINK_READY)
		event_active(l->timer, EV_TIMEOUT, 0);
}

void
link_drop(struct link *l, struct link_req *r)
{
	if (!r->waits)
		return;
	if (r->seq == 0)
		TAILQ_REMOVE(&l->waiting, r, entry);
	else
		link_forget_sent(l, r);
	r->waits = false;
	if (l->state == LINK_READY && TAILQ_EMPTY(&l->sent) &&
	    TAILQ_EMPTY(&l->waiting))
		link_arm(l, IDLE_MS);
}

void
link_hold(struct link *l, bool hold)
{
	l->held = hold;
	/* In other states the timer is somebody's deadline. */
	if (!hold && (l->state == LINK_DOWN || l->state == LINK_READY))
		event_active(l->timer, EV_TIMEOUT, 0);
}
