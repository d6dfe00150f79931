/*
 * The hand-over of a pipe: what the worker before left unread and half written
 * must neither reach anybody nor hide the answer.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "t/unit/tap.h"

#define VERSION "{\"protocolVersion\":\"1.3\",\"product\":\"P/1\"}"

struct fake {
	struct event_base *base;
	struct cdp *cdp;
	int in;  /* commands arrive here */
	int out; /* answers are written here */
	int events, replies, gone;
	enum cdp_status status;
	char text[128];
};

static void
on_event(struct cdp *cdp, const struct cdp_event *ev, void *ctx)
{
	((struct fake *)ctx)->events++;
}

static void
on_gone(struct cdp *cdp, const char *why, void *ctx)
{
	((struct fake *)ctx)->gone++;
}

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct fake *f = arg;

	f->replies++;
	f->status = r->status;
	snprintf(f->text, sizeof(f->text), "%.*s", (int)r->result.len,
	    r->status == CDP_OK ? (const char *)r->result.ptr : "");
}

static const struct cdp_ops ops = { on_event, on_gone };

static void
fake_open(struct fake *f, uint32_t first_id, int timeout_ms)
{
	int cmd[2], answer[2];

	memset(f, 0, sizeof(*f));
	if (pipe(cmd) == -1 || pipe(answer) == -1)
		abort();
	f->base = event_base_new();
	f->in = cmd[0];
	f->out = answer[1];
	fcntl(f->in, F_SETFL, O_NONBLOCK);
	f->cdp = cdp_new(f->base, answer[0], cmd[1], first_id, &ops, f);
	cdp_resync(f->cdp, timeout_ms, on_reply, f);
}

static void
fake_close(struct fake *f)
{
	cdp_free(&f->cdp);
	event_base_free(f->base);
	close(f->in);
	close(f->out);
}

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
	turn(f);
}

#define SAY(f, text) say(f, text, sizeof(text))

static void
test_order(void)
{
	static const char want[] =
	    "\0{\"id\":2097153,\"method\":\"Browser.getVersion\"}";
	char got[128] = "";
	struct fake f;

	fake_open(&f, 2u << 20, 60000);
	is_int(read(f.in, got, sizeof(got)), (long)sizeof(want),
	    "an end for the half command, and a question");
	ok(memcmp(got, want, sizeof(want)) == 0, "%s", got + 1);
	SAY(&f, "rest of\"}}");
	SAY(&f, "{\"error\":{\"code\":-32700,\"message\":\"JSON\"}}");
	SAY(&f, "{\"id\":1048600,\"result\":{\"old\":1}}");
	SAY(&f, "{\"method\":\"Target.targetCrashed\",\"params\":{\"a\":1}}");
	is_int(f.replies + f.events, 0, "what is left over reaches nobody");
	is_int(cdp_stats(f.cdp)->dropped, 4, "all of it is dropped");
	SAY(&f, "{\"id\":2097153,\"result\":" VERSION "}");
	is_int(f.replies, 1, "the answer comes");
	is_str(f.text, VERSION, "as it is");
	SAY(&f, "{\"method\":\"Target.targetCrashed\",\"params\":{\"a\":1}}");
	is_int(f.events, 1, "events are events again");
	SAY(&f, "{\"id\":1048601,\"result\":{\"old\":1}}");
	is_int(f.replies, 1, "an answer to the worker before comes late");
	fake_close(&f);
}

/* What was left begins with the end of a message that quotes the answer. */
static void
test_fooled(void)
{
	struct fake f;

	fake_open(&f, 1u << 20, 60000);
	SAY(&f, "{\"id\":1048577,\"result\":{\"value\":1}}");
	SAY(&f, "{\"id\":1048577,\"error\":{\"code\":1}}");
	is_int(f.replies, 0, "the number alone is no answer");
	SAY(&f, "{\"id\":1048577,\"result\":" VERSION "}");
	is_int(f.status, CDP_OK, "the answer is");
	fake_close(&f);
}

static void
test_split(void)
{
	static const char left[] = "}\0{\"error\":{\"code\":-32700}}\0"
				   "{\"id\":7,\"result\":" VERSION "}";
	struct fake f;
	bool good = true;

	for (size_t i = 0; i <= sizeof(left); i++) {
		fake_open(&f, 6, 60000);
		say(&f, left, i);
		say(&f, left + i, sizeof(left) - i);
		good = good && f.replies == 1 && f.status == CDP_OK;
		fake_close(&f);
	}
	ok(good, "torn at every byte");
}

/* The browser writes no more before somebody reads: nothing may wait. */
static void
test_full(void)
{
	static char chunk[65536];
	struct fake f;
	size_t sent = 0;
	ssize_t n;

	memset(chunk, 'x', sizeof(chunk));
	fake_open(&f, 0, 60000);
	fcntl(f.out, F_SETFL, O_NONBLOCK);
	while (sent < (size_t)4 << 20) {
		n = write(f.out, chunk, sizeof(chunk));
		if (n > 0)
			sent += (size_t)n;
		turn(&f);
	}
	SAY(&f, "");
	SAY(&f, "{\"id\":1,\"result\":" VERSION "}");
	is_int(f.status, CDP_OK, "4 MiB of another's answer are read away");
	is_int(f.replies, 1, "once");
	fake_close(&f);
}

static void
test_silent(void)
{
	struct fake f;

	fake_open(&f, 0, 5);
	while (f.replies == 0)
		event_base_loop(f.base, EVLOOP_ONCE);
	is_int(f.status, CDP_TIMEOUT, "a browser that does not answer");
	fake_close(&f);
	fake_open(&f, 0, 60000);
	close(f.out);
	turn(&f);
	is_int(f.status, CDP_GONE, "one that is gone");
	is_int(f.gone, 1, "is told");
	f.out = -1;
	fake_close(&f);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_order();
	test_fooled();
	test_split();
	test_full();
	test_silent();
	return done_testing();
}
