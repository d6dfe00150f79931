/*
 * Unit tests of supervisord/inspect_wire.c: a process that only reads shows that
 * it lives, whatever it does, and ends when nobody hears it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "supervisord/inspect_wire.h"
#include "t/unit/tap.h"

#define STATUS 42
/* How many times as long a shared machine may take. */
#define SLOWER 10

static int pair[2];
static struct wire *here;

static void
send_progress(struct wire *w, const char *text)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_STORE_PROGRESS);
	ipc_set_str(&p, F_TEXT, text);
	ipc_set_int(&p, F_DONE, 3);
	ipc_set_int(&p, F_TOTAL, 4);
	wire_send(w, &p);
}

/* Says nothing more. */
static _Noreturn void
work(void)
{
	for (;;)
		pause();
}

static pid_t
start(int patience_s, void (*talk)(struct wire *))
{
	struct wire *w;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == -1 ||
	    (pid = fork()) == -1)
		abort();
	if (pid == 0) {
		close(pair[0]);
		w = wire_new(pair[1]);
		if (w == NULL || !wire_show_life(w, patience_s, STATUS))
			_exit(1);
		talk(w);
		work();
	}
	close(pair[1]);
	here = wire_new(pair[0]);
	if (here == NULL)
		abort();
	return pid;
}

/* Its next progress, when it comes in time. */
static bool
says(const char *text)
{
	struct pollfd p = { .fd = pair[0], .events = POLLIN };
	struct ipc_params params;

	return poll(&p, 1, SLOWER * WIRE_LIFE_S * 1000) == 1 &&
	    wire_receive(here, &params) && params.msg == MSG_STORE_PROGRESS &&
	    strcmp(ipc_str(&params, F_TEXT), text) == 0;
}

static int
status_of(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
talk_nothing(struct wire *w)
{
}

static void
talk_once(struct wire *w)
{
	send_progress(w, "records");
}

static void
talk_much(struct wire *w)
{
	for (int i = 0; i < 10000; i++)
		send_progress(w, "records");
}

static void
test_silent(void)
{
	pid_t pid = start(1, talk_nothing);

	ok(says("reading"), "who says nothing shows that it lives");
	wire_free(&here);
	is_int(status_of(pid), STATUS, "and ends when nobody is there");
}

static void
test_busy(void)
{
	pid_t pid = start(0, talk_once);

	ok(says("records"), "who said how far it is");
	ok(says("records"), "says so again");
	kill(pid, SIGKILL);
	is_int(status_of(pid), -1, "it would go on");
	wire_free(&here);
}

/* The signals that show its life do not make it wait longer. */
static void
test_unread(void)
{
	int64_t was = clock_mono_ms();
	pid_t pid = start(2 * WIRE_LIFE_S, talk_much);

	is_int(status_of(pid), STATUS, "it ends when nobody reads");
	ok(clock_mono_ms() - was >= 2000 * WIRE_LIFE_S, "after its patience");
	wire_free(&here);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_silent();
	test_busy();
	test_unread();
	return done_testing();
}
