/*
 * cdp against a scripted browser at the other ends of two pipes: ids and
 * deadlines, answers late, out of order or torn, events, and what a broken or
 * malicious browser may send.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "cdp/route.h"
#include "t/unit/tap.h"

#define LOG_MAX 64

struct seen {
	enum cdp_status status[LOG_MAX];
	char text[LOG_MAX][64];
	size_t len[LOG_MAX];
	int replies;
	int events;
	enum cdp_event_kind last_event;
	bool last_had_session;
	char params[256];
	int gone;
	char why[128];
};

struct fake {
	struct event_base *base;
	struct cdp *cdp;
	int in;  /* commands arrive here */
	int out; /* answers are written here */
	struct seen seen;
};

static void
on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	struct seen *s = arg;
	size_t n = ev->params.len < 255 ? ev->params.len : 255;

	s->events++;
	s->last_event = ev->kind;
	s->last_had_session = ev->session != NULL;
	memcpy(s->params, ev->params.ptr, n);
	s->params[n] = '\0';
}

static void
on_root_event(struct cdp *cdp, const struct cdp_event *ev, void *ctx)
{
	on_event(cdp, ev, &((struct fake *)ctx)->seen);
}

static void
on_gone(struct cdp *cdp, const char *why, void *ctx)
{
	struct fake *f = ctx;

	f->seen.gone++;
	strlcpy(f->seen.why, why, sizeof(f->seen.why));
}

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct seen *s = arg;
	int i = s->replies++ % LOG_MAX;
	size_t n = r->result.len < 63 ? r->result.len : 63;

	s->status[i] = r->status;
	s->len[i] = r->result.len;
	if (r->status == CDP_OK) {
		memcpy(s->text[i], r->result.ptr, n);
		s->text[i][n] = '\0';
	} else
		strlcpy(s->text[i], r->message, sizeof(s->text[i]));
}

static const struct cdp_ops ops = { on_root_event, on_gone };

static void
fake_open(struct fake *f)
{
	int cmd[2], answer[2];

	memset(f, 0, sizeof(*f));
	if (pipe(cmd) == -1 || pipe(answer) == -1)
		abort();
	f->base = event_base_new();
	f->in = cmd[0];
	f->out = answer[1];
	fcntl(f->in, F_SETFL, O_NONBLOCK);
	f->cdp = cdp_new(f->base, answer[0], cmd[1], 0, &ops, f);
}

static void
fake_close(struct fake *f)
{
	cdp_free(&f->cdp);
	event_base_free(f->base);
	close(f->in);
	if (f->out != -1)
		close(f->out);
}

/* Runs the loop until nothing is ready any more. */
static void
turn(struct fake *f)
{
	for (int i = 0; i < 8; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void
say(struct fake *f, const char *text, size_t len)
{
	if (write(f->out, text, len) != (ssize_t)len)
		abort();
}

#define SAY(f, text) say(f, text, sizeof(text))

/* What was written to the browser; NULs become newlines. */
static const char *
heard(struct fake *f)
{
	static char text[4096];
	ssize_t n = read(f->in, text, sizeof(text) - 1);

	if (n < 0)
		n = 0;
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = '\n';
	text[n] = '\0';
	return text;
}

static uint32_t
call(struct fake *f, struct cdp_session *s, int timeout_ms)
{
	return cdp_call(
	    f->cdp, s, "A.b", NULL, 0, timeout_ms, on_reply, &f->seen);
}

static void
test_commands(void)
{
	static char pieces[3][32] = { "{\"x\":", "\"pre\\nescaped\"", "}" };
	struct iovec iov[3];
	struct cdp_session *s;
	struct fake f;

	fake_open(&f);
	is_int(call(&f, NULL, 1000), 1, "ids begin at 1");
	is_str(heard(&f), "{\"id\":1,\"method\":\"A.b\"}\n", "bare command");
	for (int i = 0; i < 3; i++)
		iov[i] = (struct iovec){ pieces[i], strlen(pieces[i]) };
	cdp_call(f.cdp, NULL, "C.d", iov, 3, 1000, NULL, NULL);
	is_str(heard(&f),
	    "{\"id\":2,\"method\":\"C.d\",\"params\":{\"x\":\"pre\\nescaped\"}}\n",
	    "params in pieces");
	s = cdp_session_new(f.cdp, "SESSION", 7, on_event, &f.seen);
	call(&f, s, 1000);
	is_str(heard(&f),
	    "{\"id\":3,\"method\":\"A.b\",\"sessionId\":\"SESSION\"}\n",
	    "command of a session");
	ok(cdp_session_new(f.cdp, "SESSION", 7, on_event, NULL) == NULL,
	    "a session is known once");
	ok(cdp_session_new(f.cdp, "a\"b", 3, on_event, NULL) == NULL,
	    "an id that needs escapes is refused");
	ok(cdp_session_by_id(f.cdp, "SESSION", 7) == s, "session by id");
	fake_close(&f);
}

static void
test_answers(void)
{
	struct fake f;

	fake_open(&f);
	call(&f, NULL, 1000);
	call(&f, NULL, 1000);
	call(&f, NULL, 1000);
	SAY(&f, "{\"id\":3,\"result\":{\"n\":3}}");
	SAY(&f, "{\"id\":1,\"result\":{},\"sessionId\":\"X\"}");
	SAY(&f,
	    "{\"id\":2,\"error\":{\"code\":-32000,\"message\":\"No \\u00e9\"}}");
	turn(&f);
	is_int(f.seen.replies, 3, "three answers, out of order");
	is_str(f.seen.text[0], "{\"n\":3}", "the third first");
	is_str(f.seen.text[1], "{}", "an empty result");
	is_int(f.seen.status[2], CDP_ERROR, "a refusal");
	is_str(f.seen.text[2], "No \xc3\xa9", "with the browser's words");
	SAY(&f, "{\"id\":3,\"result\":{}}");
	SAY(&f, "{\"id\":99,\"result\":{}}");
	turn(&f);
	is_int(f.seen.replies, 3, "an answer twice, or to nobody, is dropped");
	is_int(cdp_stats(f.cdp)->dropped, 2, "and counted");
	call(&f, NULL, 1000);
	SAY(&f, "{\"id\":4,\"result\":{\"a\":{\"sessionId\":\"X\"}}}");
	call(&f, NULL, 1000);
	SAY(&f,
	    "{\"id\":5,\"result\":{\"s\":\",\\\"sessionId\\\":\\\"\"},"
	    "\"sessionId\":\"S\"}");
	call(&f, NULL, 1000);
	SAY(&f,
	    " { \"sessionId\" : \"S\", \"result\" : {\"z\":1}, \"id\" : 6 }");
	turn(&f);
	is_str(
	    f.seen.text[3], "{\"a\":{\"sessionId\":\"X\"}}", "a name inside");
	is_str(f.seen.text[4], "{\"s\":\",\\\"sessionId\\\":\\\"\"}",
	    "the like in a string");
	is_str(f.seen.text[5], "{\"z\":1}", "another order, white space");
	fake_close(&f);
}

static void
test_deadlines(void)
{
	struct fake f;

	fake_open(&f);
	call(&f, NULL, 5);
	call(&f, NULL, 60000);
	while (f.seen.replies == 0)
		event_base_loop(f.base, EVLOOP_ONCE);
	is_int(f.seen.status[0], CDP_TIMEOUT, "no answer: its own deadline");
	SAY(&f, "{\"id\":1,\"result\":{\"late\":1}}");
	SAY(&f, "{\"id\":2,\"result\":{\"two\":2}}");
	turn(&f);
	is_int(f.seen.replies, 2, "the late answer is dropped");
	is_str(f.seen.text[1], "{\"two\":2}", "the other call got its own");
	call(&f, NULL, 60000);
	cdp_forget(f.cdp, &f.seen);
	SAY(&f, "{\"id\":3,\"result\":{}}");
	turn(&f);
	is_int(f.seen.replies, 2, "a forgotten call is silent");
	fake_close(&f);
}

static void
test_events(void)
{
	struct cdp_session *s;
	struct fake f;

	fake_open(&f);
	s = cdp_session_new(f.cdp, "S1", 2, on_event, &f.seen);
	SAY(&f,
	    "{\"method\":\"Inspector.targetCrashed\",\"params\":{},"
	    "\"sessionId\":\"S1\"}");
	turn(&f);
	is_int(f.seen.last_event, CDP_EV_INSPECTOR_CRASHED, "a crash event");
	ok(f.seen.last_had_session, "of a session");
	SAY(&f, "{\"method\":\"Target.targetCrashed\",\"params\":{\"a\":1}}");
	turn(&f);
	is_int(f.seen.last_event, CDP_EV_TARGET_CRASHED, "and of the root");
	is_str(f.seen.params, "{\"a\":1}", "with its params");
	SAY(&f, "{\"method\":\"Page.unheardOf\",\"params\":{}}");
	SAY(&f,
	    "{\"method\":\"Page.frameNavigated\",\"params\":{},"
	    "\"sessionId\":\"S2\"}");
	SAY(&f, "{\"params\":{},\"method\":\"Page.unheardOf\"}");
	turn(&f);
	is_int(f.seen.events, 2, "unknown methods and sessions are dropped");
	SAY(&f, "{\"params\":{\"b\":2},\"method\":\"Target.targetCrashed\"}");
	turn(&f);
	is_str(f.seen.params, "{\"b\":2}", "members in any order");
	call(&f, s, 1000);
	cdp_session_free(&s);
	is_int(f.seen.replies, 0, "not answered from inside the call");
	turn(&f);
	is_int(f.seen.status[0], CDP_GONE, "calls of a freed session end");
	for (int i = 0; i < CDP_EV__MAX; i++) {
		const char *name = cdp_event_name((enum cdp_event_kind)i);

		if (cdp_route_event(name, strlen(name)) !=
		    (enum cdp_event_kind)i)
			ok(false, "%s is routed", name);
	}
	fake_close(&f);
}

static void
test_garbage(void)
{
	static const char *const junk[] = { "", "{", "}", "[]", "null", "{}",
		"{\"id\":\"1\",\"result\":{}}", "{\"id\":1.5,\"result\":{}}",
		"{\"id\":-1,\"result\":{}}", "{\"id\":18446744073709551617}",
		"{\"error\":{\"code\":-32700,\"message\":\"JSON\"}}",
		"{\"method\":\"", "{\"method\":\"Page.frameNavigated",
		"{\"method\":7,\"params\":{}}", "{\"method\":null}",
		"{\"method\":\"Target.targetCrashed\",\"sessionId\":7}",
		"\xff\xfe\x01", "{\"id\":1,\"result\":{" };
	struct fake f;

	fake_open(&f);
	call(&f, NULL, 60000);
	for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
		say(&f, junk[i], strlen(junk[i]) + 1);
	turn(&f);
	is_int(f.seen.replies + f.seen.events + f.seen.gone, 0,
	    "nothing comes of garbage");
	SAY(&f, "{\"id\":1}");
	turn(&f);
	is_int(f.seen.status[0], CDP_ERROR, "neither result nor error");
	call(&f, NULL, 60000);
	SAY(&f, "{\"id\":2,\"result\":{\"after\":1}}");
	turn(&f);
	is_str(f.seen.text[1], "{\"after\":1}", "and it goes on");
	call(&f, NULL, 60000);
	SAY(&f, "{\"id\":3,\"result\":[7]}");
	SAY(&f, "{\"method\":\"Target.targetCrashed\",\"params\":\"x\"}");
	turn(&f);
	is_int(f.seen.status[2], CDP_ERROR, "a result that is no object");
	is_int(f.seen.events, 0, "an event whose params are none is dropped");
	fake_close(&f);
}

static void
test_split(void)
{
	static const char stream[] =
	    "{\"method\":\"Target.targetCrashed\",\"params\":{\"q\":\"\\\"\"}}\0"
	    "{\"id\":1,\"result\":{\"v\":\"x\"}}\0{\"id\":2,\"result\":{}}";
	int bad = 0;

	for (size_t at = 1; at < sizeof(stream); at++) {
		struct fake f;

		fake_open(&f);
		call(&f, NULL, 60000);
		call(&f, NULL, 60000);
		say(&f, stream, at);
		turn(&f);
		say(&f, stream + at, sizeof(stream) - at);
		turn(&f);
		if (f.seen.replies != 2 || f.seen.events != 1 ||
		    strcmp(f.seen.text[0], "{\"v\":\"x\"}") != 0)
			bad++;
		fake_close(&f);
	}
	is_int(bad, 0, "split at every byte");
}

/*
 * Every beginning of every kind of message, ended by the NUL: whatever comes
 * of it, it is no event, no second answer, and the next message is read.
 */
static void
test_cut(void)
{
	static const char *const whole[] = {
		"{\"id\":1,\"result\":{\"v\":\"0123456789\"},\"sessionId\":\"S\"}",
		"{\"id\":1,\"result\":{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}}",
		" {\"id\":1, \"result\": {\"v\": [1, 2, \"\\u00e9\"]}}",
		"{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"no\"}}",
		"{\"method\":\"Target.targetCrashed\",\"params\":{\"a\":1}}",
		"{\"params\":{\"a\":1},\"method\":\"Target.targetCrashed\"}",
	};
	int bad = 0;

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		for (size_t cut = 0; cut < strlen(whole[i]); cut++) {
			struct fake f;

			fake_open(&f);
			call(&f, NULL, 60000);
			call(&f, NULL, 60000);
			say(&f, whole[i], cut);
			SAY(&f, "");
			SAY(&f, "{\"id\":2,\"result\":{}}");
			SAY(&f, "{\"id\":1,\"result\":{}}");
			turn(&f);
			bad += f.seen.replies != 2 || f.seen.events != 0 ||
			    f.seen.gone != 0 ||
			    cdp_stats(f.cdp)->messages_in != 3;
			fake_close(&f);
		}
	is_int(bad, 0, "cut at every byte");
}

static void
test_end(void)
{
	struct fake f;

	fake_open(&f);
	call(&f, NULL, 60000);
	call(&f, NULL, 60000);
	say(&f, "{\"id\":1,\"result\":{\"half", 22);
	turn(&f);
	close(f.out);
	f.out = -1;
	turn(&f);
	is_int(f.seen.replies, 2, "end in mid-message: all calls are answered");
	is_int(f.seen.status[0], CDP_GONE, "gone");
	is_int(f.seen.gone, 1, "and the end is told once");
	is_str(f.seen.why, "the browser ended unexpectedly", "in words");
	ok(cdp_is_gone(f.cdp), "it stays gone");
	call(&f, NULL, 60000);
	is_int(f.seen.replies, 2, "a later call is not answered at once");
	turn(&f);
	is_int(f.seen.status[2], CDP_GONE, "but from the loop");
	fake_close(&f);
}

/* Writes in pieces, letting the reader work in between. */
static void
say_much(struct fake *f, size_t bytes)
{
	static char block[65536];
	ssize_t n;

	memset(block, 'x', sizeof(block));
	fcntl(f->out, F_SETFL, O_NONBLOCK);
	while (bytes > 0 && f->seen.gone == 0) {
		n = write(f->out, block,
		    bytes < sizeof(block) ? bytes : sizeof(block));
		if (n > 0)
			bytes -= (size_t)n;
		else if (errno != EAGAIN)
			break;
		event_base_loop(f->base, EVLOOP_NONBLOCK);
	}
	turn(f);
}

static void
test_huge(void)
{
	struct fake f;

	fake_open(&f);
	call(&f, NULL, 60000);
	say(&f, "{\"id\":1,\"result\":{\"v\":\"", 23);
	say_much(&f, (size_t)20 << 20);
	SAY(&f, "\"}}");
	turn(&f);
	is_int(f.seen.status[0], CDP_OK, "20 MiB in one answer");
	is_int(f.seen.len[0], ((size_t)20 << 20) + 8, "of the right length");
	call(&f, NULL, 60000);
	say_much(&f, CDP_MESSAGE_MAX_BYTES + (1 << 20));
	is_int(f.seen.gone, 1, "beyond 64 MiB the browser is given up");
	is_int(f.seen.status[1], CDP_GONE, "with all calls");
	fake_close(&f);
}

/* The browser reads nothing: what does not fit is queued, then refused. */
static void
test_queue(void)
{
	static char big[1 << 20];
	struct iovec iov = { big, sizeof(big) };
	size_t got = 0, want;
	struct fake f;
	char sink[65536];
	ssize_t n;

	fake_open(&f);
	memset(big, ' ', sizeof(big));
	for (int i = 0; i < 20; i++)
		cdp_call(f.cdp, NULL, "A.b", &iov, 1, 60000, on_reply, &f.seen);
	turn(&f);
	ok(f.seen.replies >= 2 && f.seen.replies <= 4,
	    "what is beyond the queue's limit fails (%d)", f.seen.replies);
	is_int(f.seen.status[0], CDP_GONE, "as gone");
	SAY(&f, "{\"id\":1,\"result\":{}}");
	turn(&f);
	is_int(f.seen.status[f.seen.replies - 1], CDP_OK,
	    "it reads while it cannot write");
	want = cdp_stats(f.cdp)->bytes_out;
	for (int i = 0; i < 4000 && got < want; i++) {
		while ((n = read(f.in, sink, sizeof(sink))) > 0)
			got += (size_t)n;
		event_base_loop(f.base, EVLOOP_NONBLOCK);
	}
	is_int(got, want, "all that was accepted arrives");
	fake_close(&f);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_commands();
	test_answers();
	test_deadlines();
	test_events();
	test_garbage();
	test_split();
	test_cut();
	test_end();
	test_huge();
	test_queue();
	return done_testing();
}
