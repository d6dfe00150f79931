/*
 * Commands, answers and events of one browser, in the worker. Answers are
 * matched by id alone; each call carries its own timer, because a crashed or
 * hung renderer answers nothing at all. Callbacks run from the event loop only,
 * so that whoever calls cdp_call() may finish its own work first. A message
 * that makes no sense is dropped; it never ends this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "cdp/cdp.h"
#include "cdp/envelope.h"
#include "cdp/pipe.h"
#include "cdp/route.h"
#include "common/panic.h"

#define CDP_MAGIC    0x63647030u
#define CALL_BUCKETS 64
#define MESSAGE_MAX  512
#define CALL_SPARES  16 /* for those that learn that memory has run out */

struct call {
	TAILQ_ENTRY(call) all;
	LIST_ENTRY(call) bucket;
	struct event timer;
	struct cdp *cdp;
	struct cdp_session *session;
	cdp_reply_cb *cb;
	void *arg;
	uint32_t id;
	bool gone;  /* the timer was fired by hand: answer CDP_GONE */
	bool spare; /* not of the heap; free while cdp is NULL */
};

struct cdp_session {
	LIST_ENTRY(cdp_session) next;
	struct cdp *cdp;
	cdp_event_cb *cb;
	void *arg;
	size_t id_len;
	char id[CDP_SESSION_ID_MAX + 1];
};

TAILQ_HEAD(call_list, call);
LIST_HEAD(call_bucket, call);
LIST_HEAD(session_list, cdp_session);

struct cdp {
	uint32_t magic;
	uint32_t last_id;
	uint32_t
	    resync_id; /* all but the answer to it is dropped; 0: nothing */
	struct event_base *base;
	struct cdp_pipe *pipe;
	const struct cdp_ops *ops;
	void *ctx;
	struct call_list calls;
	struct call_bucket buckets[CALL_BUCKETS];
	struct session_list sessions;
	struct cdp_stats stats;
	struct call spares[CALL_SPARES];
};

/*
 * Without memory the browser is given up: the call will be told so, from the
 * loop, and so will the few that are made until then.
 */
static struct call *
call_new(struct cdp *cdp)
{
	struct call *c = calloc(1, sizeof(*c));
	size_t i = 0;

	if (c == NULL) {
		while (i < CALL_SPARES && cdp->spares[i].cdp != NULL)
			i++;
		ASSERT(i < CALL_SPARES);
		c = &cdp->spares[i];
		memset(c, 0, sizeof(*c));
		c->spare = true;
		cdp_pipe_close(cdp->pipe, "out of memory for a command");
	}
	c->cdp = cdp;
	return c;
}

static void
call_free(struct call *c)
{
	TAILQ_REMOVE(&c->cdp->calls, c, all);
	LIST_REMOVE(c, bucket);
	event_del(&c->timer);
	c->cdp = NULL;
	if (!c->spare)
		free(c);
}

static struct call *
call_find(struct cdp *cdp, int64_t id)
{
	struct call *c;

	LIST_FOREACH(c, &cdp->buckets[(uint64_t)id % CALL_BUCKETS], bucket) {
		if (c->id == id)
			return c;
	}
	return NULL;
}

/* Ends a call: off the lists first, since the callback may do anything. */
static void
call_answer(struct call *c, const struct cdp_reply *reply)
{
	struct cdp *cdp = c->cdp;
	cdp_reply_cb *cb = c->cb;
	void *arg = c->arg;

	call_free(c);
	if (cb != NULL)
		cb(cdp, reply, arg);
}

static void
call_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct call *c = arg;
	struct cdp_reply reply = { .status = CDP_TIMEOUT,
		.message = "no answer in time" };

	if (c->gone) {
		reply.status = CDP_GONE;
		reply.message = "the browser or its tab is gone";
	}
	call_answer(c, &reply);
}

/* Answers CDP_GONE from the loop. */
static void
call_fail_later(struct call *c)
{
	c->gone = true;
	c->session = NULL;
	event_del(&c->timer);
	event_active(&c->timer, EV_TIMEOUT, 0);
}

/* Writes {"id":N,"method":M,"params":P,"sessionId":S} and its NUL. */
static bool
call_write(struct cdp *cdp, const struct call *c, const char *method,
    const struct iovec *params, int nparams)
{
	char head[160], tail[CDP_SESSION_ID_MAX + 32];
	struct iovec iov[CDP_PARAMS_MAX + 2];
	int head_len, tail_len, n = 0;
	size_t total = 0;

	head_len =
	    snprintf(head, sizeof(head), "{\"id\":%u,\"method\":\"%s\"%s",
		c->id, method, nparams > 0 ? ",\"params\":" : "");
	ASSERT(head_len > 0 && (size_t)head_len < sizeof(head));
	if (c->session != NULL)
		tail_len = snprintf(tail, sizeof(tail),
		    ",\"sessionId\":\"%s\"}", c->session->id);
	else
		tail_len = snprintf(tail, sizeof(tail), "}");
	iov[n++] = (struct iovec){ head, (size_t)head_len };
	for (int i = 0; i < nparams; i++)
		iov[n++] = params[i];
	iov[n++] = (struct iovec){ tail, (size_t)tail_len + 1 };
	for (int i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (!cdp_pipe_send(cdp->pipe, iov, n, CDP_QUEUE_MAX_BYTES))
		return false;
	cdp->stats.messages_out++;
	cdp->stats.bytes_out += total;
	return true;
}

uint32_t
cdp_call(struct cdp *cdp, struct cdp_session *session, const char *method,
    const struct iovec *params, int nparams, int timeout_ms, cdp_reply_cb *cb,
    void *arg)
{
	struct timeval tv = { timeout_ms / 1000, timeout_ms % 1000 * 1000 };
	struct call *c;

	MAGIC_CHECK(cdp, CDP_MAGIC);
	ASSERT(timeout_ms > 0 && nparams >= 0 && nparams <= CDP_PARAMS_MAX);
	c = call_new(cdp);
	c->session = session;
	c->cb = cb;
	c->arg = arg;
	c->id = ++cdp->last_id;
	event_assign(&c->timer, cdp->base, -1, 0, call_on_timer, c);
	TAILQ_INSERT_TAIL(&cdp->calls, c, all);
	LIST_INSERT_HEAD(&cdp->buckets[c->id % CALL_BUCKETS], c, bucket);
	if (call_write(cdp, c, method, params, nparams))
		event_add(&c->timer, &tv);
	else
		call_fail_later(c);
	return c->id;
}

void
cdp_resync(struct cdp *cdp, int timeout_ms, cdp_reply_cb *cb, void *arg)
{
	struct iovec nul = { (void *)(uintptr_t) "", 1 };

	MAGIC_CHECK(cdp, CDP_MAGIC);
	ASSERT(cdp->resync_id == 0 && TAILQ_EMPTY(&cdp->calls));
	/* If this does not get out, neither does the call. */
	(void)cdp_pipe_send(cdp->pipe, &nul, 1, CDP_QUEUE_MAX_BYTES);
	cdp->resync_id = cdp_call(
	    cdp, NULL, "Browser.getVersion", NULL, 0, timeout_ms, cb, arg);
}

void
cdp_forget(struct cdp *cdp, const void *arg)
{
	struct call *c;

	MAGIC_CHECK(cdp, CDP_MAGIC);
	TAILQ_FOREACH(c, &cdp->calls, all) {
		if (c->arg == arg) {
			c->cb = NULL;
			c->arg = NULL;
		}
	}
}

/* Others make no sense as a result or as params. */
static bool
begins_object(struct json_span s)
{
	return s.ptr != NULL && s.len > 1 && s.ptr[0] == '{';
}

static void
cdp_on_answer(struct cdp *cdp, const struct json_envelope *env)
{
	char message[MESSAGE_MAX] = "refused by the browser";
	struct cdp_reply reply = { .status = CDP_OK, .message = "" };
	struct json_span span;
	struct call *c;
	int64_t id;

	if (!json_span_get_int64(env->id, &id) ||
	    (c = call_find(cdp, id)) == NULL || c->gone) {
		cdp->stats.dropped++;
		return;
	}
	if (env->error.ptr != NULL || !begins_object(env->result)) {
		reply.status = CDP_ERROR;
		reply.message = message;
		if (json_span_member(env->error, "code", &span))
			(void)json_span_get_int64(span, &reply.code);
		if (json_span_member(env->error, "message", &span))
			(void)json_span_str_copy(
			    span, message, sizeof(message));
	} else
		reply.result = env->result;
	call_answer(c, &reply);
}

static void
cdp_on_event(
    struct cdp *cdp, enum cdp_event_kind kind, const struct json_envelope *env)
{
	struct cdp_event ev = { kind, env->params, NULL };
	struct json_span id;
	struct cdp_session *s;

	if (ev.params.ptr == NULL)
		ev.params = (struct json_span){ (const uint8_t *)"{}", 2 };
	if (!begins_object(ev.params)) {
		cdp->stats.dropped++;
		return;
	}
	if (env->session_id.ptr == NULL) {
		if (cdp->ops->on_event != NULL)
			cdp->ops->on_event(cdp, &ev, cdp->ctx);
		return;
	}
	if (!json_span_str_borrow(env->session_id, &id) ||
	    (s = cdp_session_by_id(cdp, (const char *)id.ptr, id.len)) ==
		NULL) {
		cdp->stats.dropped++;
		return;
	}
	ev.session = s;
	s->cb(cdp, &ev, s->arg);
}

/*
 * The first thing read may be the end of any message, so more must hold than
 * the number.
 */
static bool
cdp_ends_resync(struct cdp *cdp, const struct json_envelope *env)
{
	struct json_span product;
	int64_t id;

	if (!json_span_get_int64(env->id, &id) || id != cdp->resync_id ||
	    !json_span_member(env->result, "protocolVersion", &product))
		return false;
	cdp->resync_id = 0;
	return true;
}

static void
cdp_on_message(const uint8_t *msg, size_t len, void *arg)
{
	struct cdp *cdp = arg;
	struct json_envelope env;
	struct json_span method;
	enum cdp_event_kind kind;

	cdp->stats.messages_in++;
	cdp->stats.bytes_in += len + 1;
	if (!cdp_envelope_take(msg, len, &env)) {
		cdp->stats.dropped++;
		return;
	}
	if (cdp->resync_id != 0 && !cdp_ends_resync(cdp, &env)) {
		cdp->stats.dropped++;
		return;
	}
	if (env.id.ptr != NULL) {
		cdp_on_answer(cdp, &env);
		return;
	}
	/* An error without id answers half a command of a killed worker. */
	if (env.method.ptr == NULL ||
	    !json_span_str_borrow(env.method, &method)) {
		cdp->stats.dropped++;
		return;
	}
	kind = cdp_route_event((const char *)method.ptr, method.len);
	if (kind == CDP_EV__MAX)
		cdp->stats.dropped++;
	else
		cdp_on_event(cdp, kind, &env);
}

/* Only calls made before the end: their callbacks may make new ones. */
static void
cdp_on_end(const char *why, void *arg)
{
	struct cdp_reply reply = { .status = CDP_GONE, .message = why };
	struct cdp *cdp = arg;
	uint32_t last = cdp->last_id;
	struct call *c;

	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
	while ((c = TAILQ_FIRST(&cdp->calls)) != NULL && c->id <= last)
		call_answer(c, &reply);
	if (cdp->ops->on_gone != NULL)
		cdp->ops->on_gone(cdp, why, cdp->ctx);
}

static const struct cdp_pipe_ops pipe_ops = { cdp_on_message, cdp_on_end };

struct cdp *
cdp_new(struct event_base *base, int read_fd, int write_fd, uint32_t first_id,
    const struct cdp_ops *ops, void *ctx)
{
	struct cdp *cdp = calloc(1, sizeof(*cdp));

	if (cdp == NULL)
		return NULL;
	cdp->pipe = cdp_pipe_new(
	    base, read_fd, write_fd, CDP_MESSAGE_MAX_BYTES, &pipe_ops, cdp);
	if (cdp->pipe == NULL) {
		free(cdp);
		return NULL;
	}
	cdp->magic = CDP_MAGIC;
	cdp->base = base;
	cdp->last_id = first_id;
	cdp->ops = ops;
	cdp->ctx = ctx;
	TAILQ_INIT(&cdp->calls);
	LIST_INIT(&cdp->sessions);
	for (int i = 0; i < CALL_BUCKETS; i++)
		LIST_INIT(&cdp->buckets[i]);
	return cdp;
}

void
cdp_free(struct cdp **pp)
{
	struct cdp *cdp = *pp;
	struct cdp_session *s;
	struct call *c;

	if (cdp == NULL)
		return;
	MAGIC_CHECK(cdp, CDP_MAGIC);
	while ((c = TAILQ_FIRST(&cdp->calls)) != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
		call_free(c);
	while ((s = LIST_FIRST(&cdp->sessions)) != NULL) {
		LIST_REMOVE(s, next);
		free(s);
	}
	cdp_pipe_free(&cdp->pipe);
	cdp->magic = 0;
	free(cdp);
	*pp = NULL;
}

void
cdp_close(struct cdp *cdp)
{
	MAGIC_CHECK(cdp, CDP_MAGIC);
	cdp_pipe_close(cdp->pipe, "closed by the worker");
}

bool
cdp_is_gone(const struct cdp *cdp)
{
	return cdp_pipe_is_closed(cdp->pipe);
}

const struct cdp_stats *
cdp_stats(const struct cdp *cdp)
{
	return &cdp->stats;
}

struct cdp_session *
cdp_session_new(
    struct cdp *cdp, const char *id, size_t len, cdp_event_cb *cb, void *arg)
{
	struct cdp_session *s;

	MAGIC_CHECK(cdp, CDP_MAGIC);
	if (!cdp_session_id_ok(id, len) ||
	    cdp_session_by_id(cdp, id, len) != NULL)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->cdp = cdp;
	s->cb = cb;
	s->arg = arg;
	s->id_len = len;
	memcpy(s->id, id, len);
	LIST_INSERT_HEAD(&cdp->sessions, s, next);
	return s;
}

struct cdp_session *
cdp_session_by_id(struct cdp *cdp, const char *id, size_t len)
{
	struct cdp_session *s;

	LIST_FOREACH(s, &cdp->sessions, next) {
		if (s->id_len == len && memcmp(s->id, id, len) == 0)
			return s;
	}
	return NULL;
}

const char *
cdp_session_id(const struct cdp_session *s)
{
	return s->id;
}

void
cdp_session_free(struct cdp_session **sp)
{
	struct cdp_session *s = *sp;
	struct call *c;

	if (s == NULL)
		return;
	TAILQ_FOREACH(c, &s->cdp->calls, all) {
		if (c->session == s)
			call_fail_later(c);
	}
	LIST_REMOVE(s, next);
	free(s);
	*sp = NULL;
}
