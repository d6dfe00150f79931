/* What meets in the adapter: cancellations, answers, full pipes, hellos. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "mcp/adapter.h"
#include "mcp/call.h"
#include "mcp/link.h"
#include "mcp/method.h"
#include "mcp/out.h"
#include "t/unit/tap.h"

#define RUN "run_01ARZ3NDEKTSV4RRFFQ69G5FAV"

static struct adapter adapter;
static struct link_config config;
static char dir[64], path[96];

static void
on_nothing(void *ctx)
{
}

static void
start(void)
{
	static const struct out_ops ops = { on_nothing, on_nothing };
	struct event_config *ec = event_config_new();

	memset(&adapter, 0, sizeof(adapter));
	TAILQ_INIT(&adapter.calls);
	TAILQ_INIT(&adapter.questions);
	event_config_require_features(ec, EV_FEATURE_FDS);
	adapter.base = event_base_new_with_config(ec);
	event_config_free(ec);
	adapter.cancel_ends_run = true;
	adapter.out = out_new(
	    adapter.base, open("/dev/null", O_WRONLY | O_CLOEXEC), &ops, NULL);
	config.socket = path;
	config.label = "";
	adapter.link = link_new(adapter.base, &config);
}

static void
stop(void)
{
	calls_drop_all(&adapter);
	link_free(&adapter.link);
	out_free(&adapter.out);
	event_base_free(adapter.base);
}

static void
pass_ms(int ms)
{
	struct timeval tv = { 0, ms * 1000 };

	event_base_loopexit(adapter.base, &tv);
	event_base_dispatch(adapter.base);
}

static void
say(const char *line)
{
	method_line(&adapter, (const uint8_t *)line, strlen(line));
}

static void
answer(struct call *c, const char *json)
{
	link_drop(adapter.link, &c->req);
	c->req.done(&c->req, true, json, strlen(json));
}

/* The answer waits a moment behind the last progress, and is canceled then. */
static void
test_cancel_near_end(void)
{
	struct call *c;

	start();
	link_hold(adapter.link, true);
	say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-06-18\","
	    "\"capabilities\":{},"
	    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");
	say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
	    "\"params\":{\"name\":\"run_task_template\","
	    "\"_meta\":{\"progressToken\":1},"
	    "\"arguments\":{\"templateId\":\"batch_extract_pages\"}}}");
	is_int(adapter.ncalls, 1, "a call");
	c = TAILQ_FIRST(&adapter.calls);
	answer(c,
	    "{\"runId\":\"" RUN "\",\"mode\":\"sync\","
	    "\"status\":\"succeeded\",\"waitMs\":60000}");
	c->progress.sent_ms = clock_mono_ms();
	answer(c,
	    "{\"runId\":\"" RUN "\",\"status\":\"succeeded\","
	    "\"artifactIds\":[]}");
	ok(c->timer != NULL, "its answer rests behind the progress");
	say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
	    "\"params\":{\"requestId\":2}}");
	pass_ms(60);
	is_int(adapter.ncalls, 1, "it waits");
	is_int(c->req.params.msg, MSG_RUN_CANCEL, "for the end of its run");
	answer(c, "{}");
	is_int(adapter.ncalls, 0, "and is over then");
	stop();
}

static int answered;

static void
on_done(struct link_req *r, bool good, const char *json, size_t len)
{
	answered++;
}

/* The client reads again while the service is being said hello to. */
static void
test_hold_at_hello(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct link_req r = { .done = on_done };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(sun.sun_path, path, strlen(path) + 1);
	ok(bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0 &&
		listen(fd, 1) == 0,
	    "a service that is slow to answer");
	start();
	ipc_params_init(&r.params, MSG_PROFILE_GET);
	link_send(adapter.link, &r);
	pass_ms(30);
	ok(r.waits, "asked");
	link_hold(adapter.link, true);
	link_hold(adapter.link, false);
	pass_ms(30);
	ok(r.waits && answered == 0, "still waiting for its hello");
	link_drop(adapter.link, &r);
	stop();
	close(fd);
	unlink(path);
}

int
main(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/meet.XXXXXX",
	    tmp != NULL && strlen(tmp) < 40 ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/socket", dir);
	test_cancel_near_end();
	test_hold_at_hello();
	rmdir(dir);
	return done_testing();
}
