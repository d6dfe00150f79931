/*
 * What a browser may write into its pipe: framing, the split of a message into
 * its members, matching of answers, routing of events. The first byte says in
 * what pieces the rest arrives, newlines in it stand for the NUL between
 * messages. Every call is answered exactly once, and what happens does not
 * depend on the pieces.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "cdp/envelope.h"
#include "common/panic.h"
#include "json/tape.h"
#include "t/fuzz/fuzz.h"

#define CALLS 4

struct run {
	struct event_base *base;
	struct cdp *cdp;
	struct cdp_session *session;
	const uint8_t *bytes;
	size_t len;
	int answered[CALLS];
	int ncalls;
	int gone;
	/*
	 * Of the events in their order and of each answer: the calls of a
	 * session that ended are answered whenever the loop comes round.
	 */
	uint64_t hash[CALLS + 1];
};

#define EVENTS CALLS

struct call_arg {
	struct run *run;
	int n;
	bool late; /* made when the browser was gone */
};

static void
note(struct run *r, int what, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < len; i++)
		r->hash[what] =
		    (r->hash[what] ^ p[i]) * UINT64_C(1099511628211);
}

/* A span begins as an object, and its members can be asked for. */
static void
note_object(struct run *r, int what, struct json_span s)
{
	struct json_span member;
	char text[8];
	int64_t n;

	ASSERT(s.ptr != NULL && s.len >= 2);
	ASSERT(s.ptr[0] == '{');
	note(r, what, s.ptr, s.len);
	if (!json_span_member(s, "a", &member))
		return;
	ASSERT(member.ptr > s.ptr);
	ASSERT(member.ptr + member.len <= s.ptr + s.len);
	(void)json_span_get_int64(member, &n);
	(void)json_span_str_copy(member, text, sizeof(text));
}

static struct call_arg args[CALLS];

static void on_reply(struct cdp *, const struct cdp_reply *, void *);

static void
call(struct run *r, struct cdp_session *s)
{
	int n = r->ncalls++;

	ASSERT(n < CALLS);
	args[n] = (struct call_arg){ r, n, cdp_is_gone(r->cdp) };
	cdp_call(r->cdp, s, "A.b", NULL, 0, 600000, on_reply, &args[n]);
}

static void
on_reply(struct cdp *cdp, const struct cdp_reply *reply, void *arg)
{
	struct call_arg *a = arg;
	struct run *r = a->run;

	ASSERT(r->gone == 0 || a->late);
	ASSERT(!a->late || reply->status == CDP_GONE);
	ASSERT(r->answered[a->n]++ == 0);
	ASSERT(reply->status < CDP__MAX && reply->status != CDP_TIMEOUT);
	ASSERT(reply->message != NULL);
	note(r, a->n, &reply->status, sizeof(reply->status));
	note(r, a->n, reply->message, strlen(reply->message));
	if (reply->status == CDP_OK)
		note_object(r, a->n, reply->result);
	else
		ASSERT(reply->result.ptr == NULL);
	/* One answer leads to another call, one ends the session. */
	if (a->n == 1)
		call(r, NULL);
	if (a->n == 0)
		cdp_session_free(&r->session);
}

static void
on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	struct run *r = arg;

	ASSERT(r->gone == 0 && ev->kind < CDP_EV__MAX);
	ASSERT(ev->session == NULL || ev->session == r->session);
	note(r, EVENTS, &ev->kind, sizeof(ev->kind));
	note_object(r, EVENTS, ev->params);
}

static void
on_gone(struct cdp *cdp, const char *why, void *ctx)
{
	struct run *r = ctx;

	ASSERT(r->gone++ == 0 && why[0] != '\0');
	ASSERT(cdp_is_gone(cdp));
}

static void
turn(struct run *r)
{
	for (int i = 0; i < 3; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK);
}

/* All of it in one piece, or in pieces whose sizes follow from the seed. */
static void
run_once(struct event_base *base, const uint8_t *bytes, size_t len,
    unsigned pieces, uint64_t ret_hash[CALLS + 1])
{
	static const struct cdp_ops ops = { on_event, on_gone };
	struct run r = { .base = base, .bytes = bytes, .len = len };
	size_t messages = 0, n;
	int in[2], out[2];

	ASSERT(pipe(in) == 0 && pipe(out) == 0);
	r.cdp = cdp_new(base, in[0], out[1], 0, &ops, &r);
	ASSERT(r.cdp != NULL);
	r.session = cdp_session_new(r.cdp, "S1", 2, on_event, &r);
	call(&r, r.session);
	call(&r, NULL);
	call(&r, r.session);
	for (size_t at = 0; at < len; at += n) {
		n = pieces == 0 ? len : 1 + pieces++ * 7 % 61;
		n = n < len - at ? n : len - at;
		ASSERT(write(in[1], bytes + at, n) == (ssize_t)n);
		turn(&r);
	}
	for (size_t i = 0; i < len; i++)
		messages += bytes[i] == '\0';
	ASSERT(cdp_stats(r.cdp)->messages_in == messages);
	ASSERT(!cdp_is_gone(r.cdp) && r.gone == 0);
	close(in[1]);
	turn(&r);
	ASSERT(r.gone == 1);
	for (int i = 0; i < r.ncalls; i++)
		ASSERT(r.answered[i] == 1);
	cdp_free(&r.cdp);
	close(out[0]);
	memcpy(ret_hash, r.hash, sizeof(r.hash));
}

static void
within(struct json_span s, const uint8_t *msg, size_t len)
{
	if (s.ptr != NULL)
		ASSERT(
		    s.ptr >= msg && s.len <= len && s.ptr + s.len <= msg + len);
}

static bool
same_bytes(struct json_span s, struct json_val v)
{
	const uint8_t *raw;
	size_t len;

	return json_raw(v, &raw, &len) && s.ptr == raw && s.len == len;
}

/*
 * One message in memory of its size. When it is an answer as Chromium writes
 * it, its members are those that the parser finds, walked or not.
 */
static void
take_message(const uint8_t *bytes, size_t len)
{
	static const char *const order[] = { "id", "result", "sessionId" };
	struct json_doc *doc = NULL;
	struct json_envelope e;
	struct json_iter it;
	uint8_t *msg = malloc(len);
	size_t n = 0;

	if (len > 0)
		memcpy(msg, bytes, len);
	if (cdp_envelope_take(msg, len, &e)) {
		within(e.id, msg, len);
		within(e.method, msg, len);
		within(e.params, msg, len);
		within(e.result, msg, len);
		within(e.error, msg, len);
		within(e.session_id, msg, len);
		(void)json_parse(
		    msg, len, NULL, JSON_BORROW | JSON_DUP_ERROR, &doc, NULL);
		for (it = json_iter(json_root(doc)); json_iter_next(&it); n++)
			if (n > 2 || !json_str_eq(it.key, order[n]) ||
			    (n == 2 && !json_is_string(it.val)))
				break;
		if (n >= 2 && n == json_len(json_root(doc))) {
			it = json_iter(json_root(doc));
			ASSERT(json_iter_next(&it) && same_bytes(e.id, it.val));
			ASSERT(json_iter_next(&it) &&
			    same_bytes(e.result, it.val));
		}
	}
	json_doc_free(&doc);
	free(msg);
}

static void
take_messages(const uint8_t *bytes, size_t len)
{
	const uint8_t *nul;

	while ((nul = memchr(bytes, '\0', len)) != NULL) {
		take_message(bytes, (size_t)(nul - bytes));
		len -= (size_t)(nul - bytes) + 1;
		bytes = nul + 1;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct event_base *base;
	uint64_t whole[CALLS + 1], cut[CALLS + 1];
	uint8_t *copy;

	if (size == 0 || size > 60000)
		return 0;
	if (base == NULL) {
		signal(SIGPIPE, SIG_IGN);
		base = event_base_new();
		ASSERT(base != NULL);
	}
	copy = malloc(size);
	ASSERT(copy != NULL);
	for (size_t i = 1; i < size; i++)
		copy[i - 1] = bytes[i] == '\n' ? 0 : bytes[i];
	take_messages(copy, size - 1);
	run_once(base, copy, size - 1, 0, whole);
	run_once(base, copy, size - 1, 1u + bytes[0], cut);
	ASSERT(memcmp(whole, cut, sizeof(cut)) == 0);
	free(copy);
	return 0;
}
