/*
 * The blocking client. Runs in the programs people and agents start, as the
 * caller; believes nothing the other end says beyond what the decoder checks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "client/client.h"
#include "client/dial.h"
#include "common/panic.h"
#include "ipc/chan.h"

#define CLIENT_MAGIC     0x636c6e74u
#define HELLO_TIMEOUT_MS 10000
#define ASK_MS           (CLIENT_SILENT_MS / 3) /* between two questions */

struct client {
	uint32_t magic;
	struct event_base *base;
	struct event *timer;
	struct chan *chan;
	char path[CLIENT_PATH_MAX];
	struct client_hello hello;
	client_note_fn *on_note;
	void *note_ctx;
	char reason[CLIENT_REASON_MAX];
	/* The call or wait that is going on. */
	uint32_t seq; /* 0: none */
	enum client_status status;
	bool done;
	bool stop;
	int timeout_ms;
	int silent_ms; /* with CLIENT_WHILE_ALIVE */
	struct client_answer answer;
};

static void
client_done(struct client *c, enum client_status status, const char *reason)
{
	if (c->done)
		return;
	c->done = true;
	c->status = status;
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
	event_base_loopbreak(c->base);
}

static void
client_take_hello(struct client *c, const struct ipc_params *p)
{
	snprintf(c->hello.version, sizeof(c->hello.version), "%s",
	    ipc_str(p, F_VERSION));
	snprintf(
	    c->hello.trust, sizeof(c->hello.trust), "%s", ipc_str(p, F_TRUST));
	c->hello.admin = ipc_bool(p, F_ADMIN, false);
	chan_set_phase(c->chan, PEER_READY);
	if (ipc_int(p, F_PROTO, -1) == IPC_PROTO_CLIENT)
		client_done(c, CLIENT_OK, "");
	else
		client_done(c, CLIENT_REFUSED,
		    "the service speaks another version of the protocol");
}

static void
client_take_answer(struct client *c, const struct ipc_msg *m)
{
	const char *json = m->error != NULL ? m->error : m->result;
	size_t len = m->error != NULL ? m->error_len : m->result_len;

	c->answer.json = malloc(len + 1);
	if (c->answer.json == NULL) {
		client_done(c, CLIENT_LOST, "no memory for the answer");
		return;
	}
	memcpy(c->answer.json, json, len);
	c->answer.json[len] = '\0';
	c->answer.len = len;
	client_done(c, m->error != NULL ? CLIENT_ERROR : CLIENT_OK, "");
}

static void
client_on_msg(struct chan *chan, const struct ipc_msg *m, void *ctx)
{
	struct client *c = ctx;

	c->silent_ms = 0;
	if (m->form == IPC_NOTE) {
		if (c->on_note != NULL)
			c->on_note(c, &m->params, c->note_ctx);
		return;
	}
	/* An answer that nobody waits for any more. */
	if (c->done || c->seq == 0 || m->seq != c->seq)
		return;
	if (m->params.msg == MSG_HELLO_ANSWER)
		client_take_hello(c, &m->params);
	else
		client_take_answer(c, m);
}

static void
client_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct client *c = ctx;

	client_done(c, CLIENT_LOST, reason);
	/* Remembered for calls to come. */
	snprintf(c->reason, sizeof(c->reason), "%s", reason);
}

/* Whether the service is alive: any answer will do, and nobody waits for it. */
static void
client_ask(struct client *c)
{
	const struct timeval tv = { ASK_MS / 1000, ASK_MS % 1000 * 1000 };
	struct ipc_params p;
	uint32_t seq;

	ipc_params_init(&p, MSG_PROFILE_GET);
	c->silent_ms += ASK_MS;
	if (chan_request(c->chan, &p, &seq) == CHAN_CLOSED ||
	    event_add(c->timer, &tv) == -1)
		client_done(c, CLIENT_LOST, "the service cannot be asked");
}

static void
client_done_late(struct client *c)
{
	int ms = c->timeout_ms == CLIENT_WHILE_ALIVE ? CLIENT_SILENT_MS
						     : c->timeout_ms;
	char reason[64];

	snprintf(reason, sizeof(reason), "no answer for %g s", ms / 1000.0);
	client_done(c, CLIENT_TIMEOUT, reason);
}

static void
client_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;

	if (c->stop)
		client_done(c, CLIENT_STOPPED, "stopped");
	else if (c->timeout_ms == CLIENT_WHILE_ALIVE &&
	    c->silent_ms < CLIENT_SILENT_MS)
		client_ask(c);
	else
		client_done_late(c);
}

static const struct chan_ops client_ops = {
	.on_msg = client_on_msg,
	.on_closed = client_on_closed,
};

/* Runs the loop until client_done. */
static enum client_status
client_loop(struct client *c, int timeout_ms)
{
	int ms = timeout_ms == CLIENT_WHILE_ALIVE ? ASK_MS : timeout_ms;
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	c->done = false;
	c->timeout_ms = timeout_ms;
	c->silent_ms = 0;
	if (ms >= 0)
		event_add(c->timer, &tv);
	if (c->stop)
		event_active(c->timer, EV_TIMEOUT, 0);
	while (!c->done)
		if (event_base_loop(c->base, EVLOOP_NO_EXIT_ON_EMPTY) == -1)
			client_done(c, CLIENT_LOST, "the event loop failed");
	event_del(c->timer);
	c->stop = false;
	return c->status;
}

enum client_status
client_call(struct client *c, const struct ipc_params *p, int timeout_ms,
    struct client_answer *ret_answer)
{
	enum client_status status;

	MAGIC_CHECK(c, CLIENT_MAGIC);
	memset(&c->answer, 0, sizeof(c->answer));
	switch (chan_request(c->chan, p, &c->seq)) {
	case CHAN_OK:
		break;
	case CHAN_INVALID:
		snprintf(c->reason, sizeof(c->reason), "%s",
		    chan_invalid_reason(c->chan));
		return CLIENT_BAD_REQUEST;
	case CHAN_FULL:
		snprintf(c->reason, sizeof(c->reason), "too much is queued");
		return CLIENT_BAD_REQUEST;
	case CHAN_CLOSED:
		return CLIENT_LOST;
	}
	status = client_loop(c, timeout_ms);
	c->seq = 0;
	if (status == CLIENT_OK || status == CLIENT_ERROR)
		*ret_answer = c->answer;
	return status;
}

enum client_status
client_wait(struct client *c, int timeout_ms)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	if (!chan_is_open(c->chan))
		return CLIENT_LOST;
	return client_loop(c, timeout_ms);
}

void
client_stop(struct client *c)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	c->stop = true;
	event_active(c->timer, EV_TIMEOUT, 0);
}

void
client_answer_free(struct client_answer *a)
{
	free(a->json);
	memset(a, 0, sizeof(*a));
}

static enum client_status
client_say_hello(
    struct client *c, const char *program, char reason[CLIENT_REASON_MAX])
{
	struct client_answer answer = { NULL, 0 };
	enum client_status status;
	struct ipc_params p;

	ipc_params_init(&p, MSG_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_CLIENT);
	ipc_set_str(&p, F_CLIENT, program);
	/* Whoever is at the terminal sees the sessions of all programs. */
	ipc_set_str(&p, F_LABEL, "*");
	status = client_call(c, &p, HELLO_TIMEOUT_MS, &answer);
	snprintf(reason, CLIENT_REASON_MAX, "%s: %.880s", c->path,
	    status == CLIENT_ERROR ? answer.json : c->reason);
	/* A document where hello's map belongs is no hello. */
	if (status == CLIENT_ERROR || answer.json != NULL)
		status = CLIENT_REFUSED;
	client_answer_free(&answer);
	return status;
}

struct client *
client_over(int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		close(fd);
		return NULL;
	}
	c->magic = CLIENT_MAGIC;
	c->base = event_base_new();
	if (c->base != NULL) {
		c->timer = evtimer_new(c->base, client_on_timer, c);
		c->chan = chan_new(c->base, fd, IPC_OUT, &client_ops, c);
	} else {
		close(fd);
	}
	if (c->timer == NULL || c->chan == NULL)
		client_free(&c);
	else
		chan_set_phase(c->chan, PEER_READY);
	return c;
}

enum client_status
client_connect(const char *program, const char *path,
    struct client **ret_client, char reason[CLIENT_REASON_MAX])
{
	struct client *c = calloc(1, sizeof(*c));
	enum client_status status = CLIENT_NO_SERVICE;
	int fd;

	if (c == NULL) {
		snprintf(reason, CLIENT_REASON_MAX, "out of memory");
		return CLIENT_NO_SERVICE;
	}
	c->magic = CLIENT_MAGIC;
	fd = client_dial(path, HELLO_TIMEOUT_MS, c->path, reason);
	if (fd == -1)
		goto out;
	c->base = event_base_new();
	if (c->base != NULL) {
		c->timer = evtimer_new(c->base, client_on_timer, c);
		c->chan = chan_new(c->base, fd, IPC_OUT, &client_ops, c);
	} else
		close(fd);
	if (c->timer == NULL || c->chan == NULL) {
		snprintf(reason, CLIENT_REASON_MAX, "%s: %s", c->path,
		    strerror(errno));
		goto out;
	}
	status = client_say_hello(c, program, reason);
	if (status == CLIENT_OK) {
		*ret_client = c;
		return CLIENT_OK;
	}
out:
	client_free(&c);
	return status;
}

void
client_free(struct client **cp)
{
	struct client *c = *cp;

	if (c == NULL)
		return;
	MAGIC_CHECK(c, CLIENT_MAGIC);
	*cp = NULL;
	chan_free(&c->chan);
	if (c->timer != NULL)
		event_free(c->timer);
	if (c->base != NULL)
		event_base_free(c->base);
	c->magic = 0;
	free(c);
}

const struct client_hello *
client_hello(const struct client *c)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	return &c->hello;
}

const char *
client_path(const struct client *c)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	return c->path;
}

const char *
client_reason(const struct client *c)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	return c->reason;
}

void
client_on_note(struct client *c, client_note_fn *fn, void *ctx)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	c->on_note = fn;
	c->note_ctx = ctx;
}

struct event_base *
client_base(struct client *c)
{
	MAGIC_CHECK(c, CLIENT_MAGIC);
	return c->base;
}
