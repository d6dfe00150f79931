/*
 * Every message that a browser may send, split at every place and ended at
 * every place: the same is told as of the whole one, or nothing. A new event of
 * the table is covered by being there.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "t/unit/size.h"
#include "t/unit/tap.h"

#define SESSION  "5F0A8E3B2C"
#define TEXT_MAX 1024

struct fake {
	struct event_base *base;
	struct cdp *cdp;
	int in, out;
	char told[TEXT_MAX]; /* everything, in order */
};

static long messages, cuts;

/* Answers; the first command is the browser's, the second the session's. */
static const char *const answers[] = {
	"{\"id\":1,\"result\":{}}",
	"{\"id\":1,\"result\":{\"a\":[1,\"\\u00e9}\\\"]\",null]}}",
	"{\"result\":{\"id\":2,\"result\":{}},\"id\":1}",
	"{\"id\":2,\"result\":{\"x\":\"\xc3\xa9\"},\"sessionId\":\"" SESSION
	"\"}",
	"{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"No \\u00e9\"}}",
	"{\"id\":2,\"error\":{\"code\":-32601,\"message\":\"no\"},"
	"\"sessionId\":\"" SESSION "\"}",
	"{\"id\":77,\"result\":{\"who\":\"nobody\"}}",
	"{\"error\":{\"code\":-32700,\"message\":\"JSON\"}}",
	"{\"method\":\"Nobody.listens\",\"params\":{\"a\":\"\\\\\"}}",
};

static void
tell(struct fake *f, const char *what, struct json_span bytes)
{
	size_t n = strlen(f->told);

	snprintf(f->told + n, sizeof(f->told) - n, "%s %.*s\n", what,
	    (int)bytes.len, (const char *)bytes.ptr);
}

static void
on_root_event(struct cdp *cdp, const struct cdp_event *ev, void *ctx)
{
	tell(ctx, cdp_event_name(ev->kind), ev->params);
}

static void
on_session_event(struct cdp *cdp, const struct cdp_event *ev, void *ctx)
{
	tell(ctx, "session:", ev->params);
	on_root_event(cdp, ev, ctx);
}

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct json_span text = r->result;
	char status[64];

	snprintf(status, sizeof(status), "reply %d, %lld", (int)r->status,
	    (long long)r->code);
	if (r->status != CDP_OK) {
		text.ptr = (const uint8_t *)r->message;
		text.len = strlen(r->message);
	}
	tell(arg, status, text);
}

static void
on_gone(struct cdp *cdp, const char *why, void *ctx)
{
	struct json_span none = { (const uint8_t *)"", 0 };

	tell(ctx, "gone", none);
}

static const struct cdp_ops ops = { on_root_event, on_gone };

static void
turn(struct fake *f)
{
	for (int i = 0; i < 4; i++)
		event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void
fake_open(struct fake *f)
{
	struct cdp_session *s;
	int cmd[2], answer[2];

	memset(f, 0, sizeof(*f));
	if (pipe(cmd) == -1 || pipe(answer) == -1)
		abort();
	f->base = event_base_new();
	f->in = cmd[0];
	f->out = answer[1];
	f->cdp = cdp_new(f->base, answer[0], cmd[1], 0, &ops, f);
	s = cdp_session_new(
	    f->cdp, SESSION, strlen(SESSION), on_session_event, f);
	cdp_call(f->cdp, NULL, "A.b", NULL, 0, 60000, on_reply, f);
	cdp_call(f->cdp, s, "C.d", NULL, 0, 60000, on_reply, f);
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

static void
say(struct fake *f, const char *bytes, size_t len)
{
	if (write(f->out, bytes, len) != (ssize_t)len)
		abort();
	turn(f);
}

/* Between two others, so that what it takes of either is seen. */
static void
test_message(const char *text)
{
	static const char first[] = "{\"method\":\"Target.targetCrashed\","
				    "\"params\":{\"n\":1}}",
			  last[] = "{\"method\":\"Target.targetCrashed\","
				   "\"params\":{\"n\":2}}";
	char stream[TEXT_MAX], whole[TEXT_MAX];
	size_t len = 0, end, bad = 0, cut = 0;
	struct fake f;

	for (int i = 0; i < 3; i++) {
		const char *part = i == 0 ? first : i == 1 ? text : last;

		memcpy(stream + len, part, strlen(part) + 1);
		len += strlen(part) + 1;
	}
	end = len - sizeof(last);
	fake_open(&f);
	say(&f, stream, len);
	memcpy(whole, f.told, sizeof(whole));
	fake_close(&f);
	for (cut = 0; cut <= len; cut++) {
		fake_open(&f);
		say(&f, stream, cut);
		say(&f, stream + cut, len - cut);
		bad += strcmp(f.told, whole) != 0;
		fake_close(&f);
	}
	messages++;
	cuts += (long)cut;
	ok(bad == 0, "%s: the same, split at %zu places", text, cut);
	bad = 0;
	for (cut = sizeof(first); cut < end; cut++) {
		char *gone;

		fake_open(&f);
		say(&f, stream, cut);
		close(f.out);
		f.out = -1;
		turn(&f);
		/* The first one, two calls that come to nothing, the end. */
		gone = strstr(f.told, "reply 3, ");
		bad += gone == NULL ||
		    strncmp(f.told, whole, (size_t)(gone - f.told)) != 0 ||
		    strchr(f.told, '\n') + 1 != gone ||
		    strstr(gone, "\ngone ") == NULL;
		fake_close(&f);
	}
	ok(bad == 0, "nothing of it, ended at %zu places", cut - sizeof(first));
}

int
main(void)
{
	static const char *const params[] = { "{}",
		"{\"s\":\"a\\\"}\\\\\",\"list\":[{\"sessionId\":\"X\"}],"
		"\"id\":1}" };
	static const char *const of[] = { "", ",\"sessionId\":\"" SESSION "\"",
		",\"sessionId\":\"?\"" };
	char text[TEXT_MAX / 2];

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		test_message(answers[i]);
	for (int kind = 0; kind < CDP_EV__MAX; kind++)
		for (int p = 0; p < 2; p++)
			for (int s = 0; s < 3; s++) {
				snprintf(text, sizeof(text),
				    "{\"method\":\"%s\",\"params\":%s%s}",
				    cdp_event_name((enum cdp_event_kind)kind),
				    params[p], of[s]);
				test_message(text);
			}
	figure("%ld messages, split at %ld places", messages, cuts);
	return done_testing();
}
