/*
 * The blocking client against a service in a child process that behaves and
 * misbehaves: places, hello, answers, time, stops, ends.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#include "client/client.h"
#include "ipc/chan.h"
#include "t/unit/tap.h"

static char dir[] = "/tmp/client_testXXXXXX";
static char path[64];
static struct event_base *base;
static int proto; /* that the service claims to speak */

static void
note(struct chan *c, const char *run)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_EVENT);
	ipc_set_str(&p, F_RUN_ID, run);
	ipc_set_int(&p, F_SEQ, 1);
	ipc_set_bin(&p, F_EVENT, "{}", 2);
	chan_note(c, &p);
}

static void
say_hello(struct chan *c, uint32_t seq)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_HELLO_ANSWER);
	ipc_set_int(&p, F_PROTO, proto);
	ipc_set_str(&p, F_VERSION, "1.2.3");
	ipc_set_str(&p, F_TRUST, "local");
	ipc_set_bool(&p, F_ADMIN, true);
	if (proto == 0)
		chan_error(c, seq, "{\"message\":\"too many\"}", 22);
	else if (proto == -1)
		chan_result(c, seq, "{}", 2);
	else
		chan_answer(c, seq, &p);
	chan_set_phase(c, PEER_READY);
}

/* The run's id says how run.get is answered. */
static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	const char *run;

	if (m->params.msg == MSG_HELLO) {
		say_hello(c, m->seq);
		return;
	}
	run = ipc_str(&m->params, F_RUN_ID);
	if (strcmp(run, "error") == 0)
		chan_error(c, m->seq, "[1]", 3);
	else if (strcmp(run, "late") == 0)
		return;
	else if (strcmp(run, "close") == 0)
		chan_finish(c);
	else {
		/* An answer nobody waits for comes first, and an event. */
		chan_result(c, m->seq - 1, "\"old\"", 5);
		note(c, run);
		chan_result(c, m->seq, "{\"a\":1}", 7);
		note(c, "after");
	}
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	chan_free(&c);
}

static void
on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa,
    int len, void *ctx)
{
	static const struct chan_ops ops = { .on_msg = on_msg,
		.on_closed = on_closed };

	chan_new(base, fd, IPC_IN, &ops, NULL);
}

/* A service in a child; it listens before this returns. */
static pid_t
serve(int claims)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	pid_t pid;

	unlink(path);
	memcpy(sun.sun_path, path, sizeof(path));
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 5) == -1)
		exit(1);
	pid = fork();
	if (pid != 0) {
		close(fd);
		return pid;
	}
	proto = claims;
	base = event_base_new();
	evconnlistener_new(base, on_accept, NULL, 0, 0, fd);
	event_base_dispatch(base);
	_exit(0);
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void
test_places(void)
{
	char got[CLIENT_PATH_MAX], want[CLIENT_PATH_MAX], big[200];

	unsetenv("BROWSERTASK_SOCKET");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	ok(client_place(0, got), "the system's place");
	is_str(got, RUNSTATEDIR "/browsertask/client.sock", "comes first");
	ok(client_place(1, got), "then the user's runtime directory");
	is_str(got, "/run/user/7/browsertask/client.sock", "as it is named");
	snprintf(want, sizeof(want), "/tmp/browsertask-%u/client.sock",
	    (unsigned)getuid());
	ok(client_place(3, got) && strcmp(got, want) == 0, "/tmp is the last");
	ok(!client_place(4, got), "there are no more");
	setenv("XDG_STATE_HOME", "/home/a/s", 1);
	ok(client_place(2, got), "before it one beside the state");
	is_str(got, "/home/a/s/browsertask-run/client.sock", "as it is named");
	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/home/a", 1);
	ok(client_place(2, got), "or where it is by default");
	is_str(got, "/home/a/.local/state/browsertask-run/client.sock",
	    "below the home directory");
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	snprintf(want, sizeof(want), "/run/user/%u/browsertask/client.sock",
	    (unsigned)getuid());
	ok(client_place(1, got) && strcmp(got, want) == 0,
	    "a relative runtime directory is none: the login's is tried");
	unsetenv("XDG_RUNTIME_DIR");
	ok(client_place(1, got) && strcmp(got, want) == 0 &&
		client_place(3, got) && !client_place(4, got),
	    "as without the variable");
	setenv("BROWSERTASK_SOCKET", "/x/y", 1);
	ok(client_place(0, got) && strcmp(got, "/x/y") == 0 &&
		!client_place(1, got),
	    "the variable is the only place");
	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	setenv("BROWSERTASK_SOCKET", big, 1);
	ok(client_place(0, got) && got[0] == '\0',
	    "a path that no socket can have is not cut");
	unsetenv("BROWSERTASK_SOCKET");
}

static void
test_refusals(void)
{
	static const struct {
		int proto;
		const char *name, *reason;
	} rows[] = { { 99, "another version", "another version of" },
		{ 0, "an error for hello", "too many" },
		{ -1, "a document for hello", "client.sock" } };
	char reason[CLIENT_REASON_MAX];
	struct client *c = NULL;
	pid_t pid;

	is_int(client_connect("t", path, &c, reason), CLIENT_NO_SERVICE,
	    "nobody listens");
	ok(strstr(reason, "No such file") != NULL && c == NULL, "%s", reason);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		pid = serve(rows[i].proto);
		is_int(client_connect("t", path, &c, reason), CLIENT_REFUSED,
		    rows[i].name);
		ok(strstr(reason, rows[i].reason) != NULL && c == NULL, "%s",
		    reason);
		end(pid);
	}
	is_int(client_connect("t", path, &c, reason), CLIENT_NO_SERVICE,
	    "a socket nobody listens on any more");
}

/* This program's own, so that the limit of connecting passes quickly. */
int
setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	const struct timeval brief = { 0, 20000 };

	if (level == SOL_SOCKET && name == SO_SNDTIMEO)
		value = &brief;
	return (int)syscall(SYS_setsockopt, fd, level, name, value, len);
}

/* It listens, but has stopped accepting, and its queue is full. */
static void
test_stuck_service(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), waiting[8], n = 0;
	char reason[CLIENT_REASON_MAX];
	struct client *c = NULL;

	unlink(path);
	memcpy(sun.sun_path, path, sizeof(path));
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1 ||
	    listen(fd, 1) == -1)
		exit(1);
	do
		waiting[n] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (connect(waiting[n], (struct sockaddr *)&sun, sizeof(sun)) == 0 &&
	    ++n < 8);
	ok(n > 0 && n < 8, "its queue holds %d", n);
	alarm(30);
	is_int(client_connect("t", path, &c, reason), CLIENT_NO_SERVICE,
	    "a service that accepts nobody");
	alarm(0);
	ok(strstr(reason, "timed out") != NULL, "%s", reason);
	while (n >= 0)
		close(waiting[n--]);
	close(fd);
}

static int notes;
static char note_run[64];

static void
on_note(struct client *c, const struct ipc_params *p, void *ctx)
{
	notes++;
	snprintf(note_run, sizeof(note_run), "%s", ipc_str(p, F_RUN_ID));
	if (ctx != NULL && strcmp(note_run, "after") == 0)
		client_stop(c);
}

static enum client_status
get(struct client *c, const char *run, int timeout_ms,
    struct client_answer *ret)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_RUN_GET);
	ipc_set_str(&p, F_RUN_ID, run);
	return client_call(c, &p, timeout_ms, ret);
}

static void
test_calls(void)
{
	char reason[CLIENT_REASON_MAX];
	struct client_answer a;
	struct client *c = NULL;
	pid_t pid = serve(IPC_PROTO_CLIENT);

	is_int(client_connect("t", path, &c, reason), CLIENT_OK, "connected");
	is_str(client_hello(c)->version, "1.2.3", "the service's version");
	is_str(client_hello(c)->trust, "local", "its trust");
	ok(client_hello(c)->admin, "and that this is an administrator");
	is_str(client_path(c), path, "where");
	client_on_note(c, on_note, NULL);
	is_int(get(c, "r1", 5000, &a), CLIENT_OK, "a call");
	is_str(a.json, "{\"a\":1}", "its own answer, not the older one");
	client_answer_free(&a);
	ok(notes >= 1, "events are delivered meanwhile");
	is_int(get(c, "error", 5000, &a), CLIENT_ERROR, "an error answer");
	is_str(a.json, "[1]", "is passed on");
	client_answer_free(&a);
	is_int(get(c, "", 5000, &a), CLIENT_BAD_REQUEST, "a bad request");
	is_str(client_reason(c), "run.get: value out of range: runId",
	    "is named and not sent");
	is_int(get(c, "late", 20, &a), CLIENT_TIMEOUT, "no answer in time");
	is_int(client_wait(c, 20), CLIENT_TIMEOUT, "waiting for nothing");
	client_stop(c);
	is_int(client_wait(c, -1), CLIENT_STOPPED, "a stop before the wait");
	client_on_note(c, on_note, &notes);
	is_int(get(c, "r2", 5000, &a), CLIENT_OK,
	    "a stop behind the answer does not take it away");
	client_answer_free(&a);
	is_int(get(c, "close", 5000, &a), CLIENT_LOST, "the end of it");
	is_str(client_reason(c), "closed by the peer", "by whom");
	is_int(get(c, "r3", 5000, &a), CLIENT_LOST, "every later call fails");
	is_int(client_wait(c, -1), CLIENT_LOST, "waiting, too");
	client_free(&c);
	end(pid);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/client.sock", dir);
	test_places();
	test_refusals();
	test_stuck_service();
	test_calls();
	unlink(path);
	rmdir(dir);
	return done_testing();
}
