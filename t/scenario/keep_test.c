/*
 * Workers of one kept session, one after the other, with the real workerd and
 * the real browser: what they leave to each other, alive or as a state.
 * Supervisord, launcher and cell are played here.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "ipc/chan.h"
#include "live.h"
#include "t/unit/tap.h"

/* How a worker is told to run, and what came of it. */
struct shift {
	const char *generation; /* argument; NULL: none */
	bool takeover;
	const char *path;
	const char *state; /* NULL: none is sent */
	const char *stop;  /* reason to cancel once it runs */
	bool kill;         /* or to kill it then */
	/* what came of it */
	struct chan *chan;
	struct event_base *base;
	pid_t pid;
	struct buf text; /* of the items */
	bool ready, ended, good, has_state;
	int warnings, items, status;
	int64_t said; /* numbered messages */
	char code[64];
	int64_t start_ms, stopped_ms, item_ms, end_ms;
};

static struct live_browser chrome;
static struct live_site site;
static struct buf state; /* what was exported last */

static void
send_note(struct shift *s, struct ipc_params *p)
{
	if (chan_note(s->chan, p) != CHAN_OK)
		printf("# %s\n", chan_invalid_reason(s->chan));
}

static void
send_hello(struct shift *s)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	ipc_set_int(&p, F_EPOCH, 1);
	ipc_set_int(&p, F_CELL_ID, 1);
	send_note(s, &p);
	chan_set_phase(s->chan, PEER_IDLE);
}

/* All is stored: the worker may go. */
static void
send_ack(struct shift *s)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_RUN_ACK);
	ipc_set_int(&p, F_N, s->said);
	send_note(s, &p);
}

static void
send_begin(struct shift *s)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_RUN_BEGIN);
	ipc_set_str(&p, F_RUN_ID, "run_01ARZ3NDEKTSV4RRFFQ69G5FAV");
	ipc_set_str(&p, F_SESSION_ID, "sess_01ARZ3NDEKTSV4RRFFQ69G5FAV");
	ipc_set_int(&p, F_ATTEMPT, 1);
	ipc_set_str(&p, F_TEMPLATE_ID, "batch_extract_pages");
	ipc_set_int(&p, F_LIMIT_MS, 300000);
	ipc_set_str(&p, F_TRACE_ID, "0af7651916cd43dd8448eb211c80319c");
	ipc_set_str(&p, F_RESOURCES, "text");
	ipc_set_int(&p, F_MAX_TABS, 20);
	ipc_set_int(&p, F_MEMORY_BYTES, 64 << 20);
	ipc_set_bool(&p, F_KEEP, true);
	ipc_set_bool(&p, F_TAKEOVER, s->takeover);
	ipc_set_bool(&p, F_STATE, s->state != NULL);
	ipc_set_bool(&p, F_SECRETS, false);
	ipc_set_str(&p, F_TRUST, "local");
	send_note(s, &p);
	chan_set_phase(s->chan, PEER_RUN);
}

static void
send_chunk(struct shift *s, enum msg_id msg, const void *data, size_t len)
{
	struct ipc_params p;

	ipc_params_init(&p, msg);
	ipc_set_bin(
	    &p, msg == MSG_W_RUN_JOURNAL ? F_ENTRIES : F_DATA, data, len);
	ipc_set_bool(&p, F_LAST, true);
	send_note(s, &p);
}

static void
send_run(struct shift *s)
{
	struct ipc_params p;
	char inputs[256];

	send_begin(s);
	snprintf(inputs, sizeof(inputs),
	    "{\"urls\":[\"http://127.0.0.1:%d%s\"]}", site.port, s->path);
	send_chunk(s, MSG_W_RUN_INPUT, inputs, strlen(inputs));
	send_chunk(s, MSG_W_RUN_JOURNAL, "", 0);
	if (s->state != NULL)
		send_chunk(s, MSG_W_RUN_STATE, s->state, strlen(s->state));
	ipc_params_init(&p, MSG_W_RUN_GO);
	send_note(s, &p);
}

/* The template has begun. */
static void
on_step(struct shift *s)
{
	struct ipc_params p;

	s->stopped_ms = clock_mono_ms();
	if (s->kill)
		(void)kill(s->pid, SIGKILL);
	if (s->stop == NULL)
		return;
	ipc_params_init(&p, MSG_W_RUN_CANCEL);
	ipc_set_str(&p, F_REASON, s->stop);
	send_note(s, &p);
	s->stop = NULL;
}

static void
add_data(struct buf *b, const struct ipc_params *p)
{
	size_t len;
	const void *data;

	if (!ipc_has(p, F_DATA))
		return;
	data = ipc_bin(p, F_DATA, &len);
	(void)buf_add(b, data, len);
}

static void
on_msg(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	const struct ipc_params *p = &msg->params;
	struct shift *s = ctx;

	s->said += (msg_row(p->msg)->flags & IPC_KEPT) != 0;
	switch (p->msg) {
	case MSG_S_HELLO:
		send_hello(s);
		break;
	case MSG_S_READY:
		printf("# ready after %d ms\n",
		    (int)(clock_mono_ms() - s->start_ms));
		s->ready = true;
		send_run(s);
		break;
	case MSG_S_STEP_START:
		on_step(s);
		break;
	case MSG_S_ITEM_END:
		s->item_ms = clock_mono_ms();
		s->items++;
		add_data(&s->text, p);
		break;
	case MSG_S_ITEM_DATA:
		add_data(&s->text, p);
		break;
	case MSG_S_WARNING:
		printf("# %s\n", ipc_str(p, F_TEXT));
		s->warnings++;
		break;
	case MSG_S_STATE_DATA:
		add_data(&state, p);
		break;
	case MSG_S_STATE_END:
		s->has_state = !s->ended;
		break;
	case MSG_S_RUN_END:
		s->ended = true;
		s->end_ms = clock_mono_ms();
		printf("# ended %d ms after the last item\n",
		    s->items > 0 ? (int)(s->end_ms - s->item_ms) : 0);
		s->good = ipc_bool(p, F_SUCCESS, false);
		if (ipc_has(p, F_ERROR_CODE))
			strlcpy(
			    s->code, ipc_str(p, F_ERROR_CODE), sizeof(s->code));
		chan_set_phase(chan, PEER_ENDED);
		send_ack(s);
		break;
	default:
		break;
	}
}

static void
on_closed(struct chan *chan, const char *reason, void *ctx)
{
	struct shift *s = ctx;

	(void)event_base_loopbreak(s->base);
}

/* The worker's part; only returns by exec or _exit. */
static void
exec_worker(const struct shift *s, int ipc_fd)
{
	int fds[4] = { ipc_fd, chrome.read_fd, chrome.write_fd,
		open("/dev/null", O_RDWR) };
	const char *builddir = getenv("builddir");
	char program[512];

	snprintf(program, sizeof(program), "%s/workerd/workerd",
	    builddir != NULL ? builddir : ".");
	(void)dup2(fds[3], 0);
	(void)dup2(fds[3], 1);
	for (int i = 0; i < 4; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, 64);
	for (int i = 0; i < 4; i++)
		(void)dup2(fds[i], 3 + i);
	closefrom(7);
	(void)signal(SIGPIPE, SIG_DFL);
	execl(program, "workerd",
	    s->generation != NULL ? "--generation" : (char *)NULL,
	    s->generation, (char *)NULL);
	_exit(127);
}

/* A worker from its start to its end. */
static void
work(struct shift *s)
{
	static const struct chan_ops ops = { on_msg, NULL, on_closed, NULL,
		NULL };
	int sock[2];

	buf_init(&s->text, 1 << 20);
	buf_reset(&state);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) != 0)
		abort();
	s->start_ms = clock_mono_ms();
	s->pid = fork();
	if (s->pid == 0)
		exec_worker(s, sock[1]);
	(void)close(sock[1]);
	(void)fd_set_nonblock(sock[0]);
	s->base = event_base_new();
	s->chan = chan_new(s->base, sock[0], IPC_UP, &ops, s);
	if (s->chan == NULL)
		abort();
	(void)event_base_dispatch(s->base);
	chan_free(&s->chan);
	(void)waitpid(s->pid, &s->status, 0);
	event_base_free(s->base);
	(void)buf_add(&s->text, "", 1);
	(void)buf_add(&state, "", 1);
}

static bool
says(const struct shift *s, const char *words)
{
	return strstr((const char *)s->text.data, words) != NULL;
}

static bool
state_says(const char *words)
{
	return strstr((const char *)state.data, words) != NULL;
}

static void
finish(struct shift *s)
{
	buf_clear(&s->text);
}

static void
test_first(void)
{
	struct shift s = { .path = "/set.html" };

	work(&s);
	ok(s.good && s.items == 1, "a run of a new session");
	ok(s.has_state, "its state comes before its end");
	ok(state_says("\"visit\"") && state_says("\"one\""),
	    "with a cookie that ends with the browser");
	ok(state_says("{\"name\":\"theme\",\"value\":\"dark\"}"),
	    "and local storage");
	ok(WIFEXITED(s.status) && WEXITSTATUS(s.status) == 0,
	    "the worker exits");
	is_int(waitpid(chrome.pid, NULL, WNOHANG), 0, "the browser does not");
	finish(&s);
}

static void
test_next(const char *generation, const char *name)
{
	struct shift s = {
		.generation = generation, .takeover = true, .path = "/show.html"
	};

	work(&s);
	ok(s.good && s.items == 1, "%s", name);
	ok(says(&s, "cookie visit=one, local dark, session mine."),
	    "finds all in the same tab");
	ok(s.has_state && state_says("\"visit\"") && state_says("\"theme\""),
	    "and leaves its state");
	is_int(s.warnings, 0, "without a warning");
	finish(&s);
}

static void
test_killed(void)
{
	struct shift s = { .generation = "2",
		.takeover = true,
		.path = "/show.html",
		.kill = true };

	work(&s);
	ok(WIFSIGNALED(s.status) && !s.ended, "a worker is killed");
	finish(&s);
}

static void
test_canceled(void)
{
	struct shift s = { .generation = "4",
		.takeover = true,
		.path = "/show.html",
		.stop = "cancel" };

	work(&s);
	ok(s.ended && !s.good, "a run is canceled");
	is_str(s.code, "RUN_CANCELED", "as such");
	ok(s.end_ms - s.stopped_ms < 3000, "soon (%d ms)",
	    (int)(s.end_ms - s.stopped_ms));
	finish(&s);
}

/* What the browser knew is gone; what was exported is not. */
static void
test_state(const char *known)
{
	struct shift s = { .path = "/show.html", .state = known };

	work(&s);
	ok(s.good, "a run of the session in a new browser");
	ok(says(&s, "cookie visit=one, local dark, session undefined."),
	    "finds what the state says");
	is_int(s.warnings, 0, "without a warning");
	ok(state_says("\"visit\"") && state_says("\"theme\""),
	    "and exports it again");
	finish(&s);
}

static void
test_bad_state(void)
{
	struct shift s = { .path = "/show.html", .state = "{\"cookies\":" };

	work(&s);
	ok(s.good && s.warnings == 1, "a state that is none is a warning");
	ok(says(&s, "cookie , local undefined"), "and nothing is there");
	ok(s.has_state, "a new one is exported");
	finish(&s);
}

static void
test_breach(void)
{
	struct shift no = { .takeover = true, .path = "/show.html" };
	struct shift bad = { .generation = "-1", .path = "/show.html" };
	struct shift mute = {
		.generation = "7", .takeover = true, .path = "/show.html"
	};

	work(&no);
	ok(!no.ended && WEXITSTATUS(no.status) == 1,
	    "a takeover of a new browser is refused");
	finish(&no);
	work(&bad);
	ok(!bad.ready && WEXITSTATUS(bad.status) != 0,
	    "and so are other arguments");
	finish(&bad);
	(void)kill(-chrome.pid, SIGSTOP);
	work(&mute);
	ok(mute.ended && !mute.ready && !mute.good,
	    "a browser that says nothing ends the worker");
	is_str(mute.code, "CDP_UNAVAILABLE", "with a code of its own");
	(void)kill(-chrome.pid, SIGCONT);
	finish(&mute);
}

static bool
start_browser(void)
{
	const char *why = "";

	if (live_browser_start(&chrome, LIVE_SHELL, &why))
		return true;
	printf("1..0 # SKIP %s\n", why);
	return false;
}

static void
stop_browser(void)
{
	live_browser_stop(&chrome);
	(void)close(chrome.read_fd);
	(void)close(chrome.write_fd);
}

int
main(void)
{
	const char *srcdir = getenv("srcdir"), *why = "";
	char pages[512], *known;

	snprintf(
	    pages, sizeof(pages), "%s/t/keep", srcdir != NULL ? srcdir : ".");
	buf_init(&state, 8 << 20);
	if (!start_browser())
		return 0;
	if (!live_site_start(&site, pages, &why)) {
		ok(false, "%s", why);
		return done_testing();
	}
	test_first();
	test_next("1", "the next worker in the same browser");
	test_killed();
	test_next("3", "one after a worker that was killed");
	test_canceled();
	test_next("5", "one after a run that was canceled");
	known = strdup((const char *)state.data);
	stop_browser();

	if (start_browser()) {
		test_state(known);
		stop_browser();
	}
	if (start_browser()) {
		test_bad_state();
		test_breach();
		stop_browser();
	}
	live_site_stop(&site);
	free(known);
	buf_clear(&state);
	return done_testing();
}
