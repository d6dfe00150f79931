/*
 * Parts on a machine that is exhausted, each with the call refused that once
 * had somebody wait for ever or told a lie: t/faults/shim.c refuses it. The
 * programs as a whole are tried by t/scenario/starved.t.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "common/buf.h"
#include "common/fdio.h"
#include "common/loop.h"
#include "common/timers.h"
#include "ipc/chan.h"
#include "launch/launch.h"
#include "supervisord/link.h"
#include "t/faults/shim.h"
#include "t/unit/tap.h"

#define MANY    64
#define SPARE   64 /* orders for which supervisord has memory */
#define TURNS   1000
#define GIVE_UP 120 /* seconds */

struct seen {
	int msgs, closed, replies, gone, broken;
	enum cdp_status status;
	char reason[200];
};

static struct control *control;
static struct event_base *base;

/* Refuses the next call of the kind, or all that follow. */
static void
refuse(enum fault kind, bool for_ever)
{
	control->kind = (uint32_t)kind;
	control->for_ever = for_ever;
	control->seen = control->refused = 0;
	control->nth = 1;
}

static void
relent(void)
{
	control->nth = 0;
}

static bool
lacks(enum fault kind, const char *what)
{
	bool lacking = (control->lacks >> kind & 1) != 0;

	if (lacking)
		tap_skip(what, "a sanitizer has these calls for itself");
	return lacking;
}

static void
turn(void)
{
	for (int i = 0; i < 6; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

/* Until something can be read there. */
static void
turn_until(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_PEEK) == -1)
		event_base_loop(base, EVLOOP_ONCE);
}

static void
on_msg(struct chan *c, const struct ipc_msg *m, void *ctx)
{
	((struct seen *)ctx)->msgs++;
}

static void
on_closed(struct chan *c, const char *reason, void *ctx)
{
	struct seen *s = ctx;

	s->closed++;
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
}

static const struct chan_ops ops = { .on_msg = on_msg, .on_closed = on_closed };

static struct chan *
half(enum ipc_dir dir, struct seen *s, int *ret_fd)
{
	int sv[2];

	memset(s, 0, sizeof(*s));
	if (socketpair(AF_UNIX,
		ipc_is_packets(dir) ? SOCK_SEQPACKET : SOCK_STREAM, 0,
		sv) == -1)
		exit(1);
	*ret_fd = sv[1];
	fd_set_nonblock(sv[1]);
	return chan_new(base, sv[0], dir, &ops, s);
}

static enum chan_status
say(struct chan *c)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_PING);
	ipc_set_int(&p, F_N, 1);
	return chan_note(c, &p);
}

static int
heard(int fd)
{
	char bytes[256];
	int n = 0;

	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		n++;
	return n;
}

/* A connection that cannot be watched is closed, not waited for. */
static void
test_deaf(enum ipc_dir dir, const char *name)
{
	struct seen s;
	struct chan *c;
	int fd;

	refuse(FAULT_epoll, true);
	c = half(dir, &s, &fd);
	relent();
	ok(c == NULL, "%s: none without a watch", name);
	is_int(recv(fd, &s, 1, 0), 0, "its other end is told");
	close(fd);

	c = half(dir, &s, &fd);
	chan_hold_reading(c, true);
	refuse(FAULT_epoll, true);
	chan_hold_reading(c, false);
	is_int(s.closed, 0, "not in the caller's stack");
	turn();
	relent();
	is_int(s.closed, 1, "one that cannot be watched again is closed");
	is_str(s.reason, "no memory to watch it", "with that reason");
	is_int(recv(fd, &s, 1, 0), 0, "which its other end sees");
	chan_free(&c);
	close(fd);
}

/* A refused packet goes out later, after a pause, once and in order. */
static void
test_packets_again(void)
{
	struct seen s;
	struct chan *c;
	int fd;

	c = half(IPC_UP, &s, &fd);
	refuse(FAULT_send, true);
	is_int(say(c), CHAN_OK, "a packet without memory waits");
	is_int(say(c), CHAN_OK, "and one behind it");
	for (int i = 0; i < TURNS; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ok(control->refused < TURNS / 2, "it is not tried all the time");
	relent();
	turn_until(fd);
	turn();
	is_int(heard(fd), 2, "both arrive");
	is_int(s.closed, 0, "and nothing is closed");

	chan_free(&c);
	close(fd);
}

/* A client whose answer is refused is not left to wait for it. */
static void
test_stream_end(void)
{
	struct seen s;
	struct chan *c;
	int fd;

	c = half(IPC_IN, &s, &fd);
	chan_set_phase(c, PEER_READY);
	refuse(FAULT_send, true);
	is_int(chan_result(c, 1, "{}", 2), CHAN_OK, "an answer waits");
	turn();
	relent();
	is_int(
	    recv(fd, &s, 1, 0), 0, "who waits for it is told that none comes");
	chan_free(&c);
	close(fd);
}

static void
on_nothing(evutil_socket_t fd, short what, void *arg)
{
}

static void
test_timers(void)
{
	const struct timeval later = { .tv_sec = 3600 };
	struct event *timers[MANY];
	int added = 0;

	if (lacks(FAULT_malloc, "timers"))
		return;
	ok(timers_reserve(base, MANY), "room for timers");
	for (int i = 0; i < MANY; i++)
		timers[i] = evtimer_new(base, on_nothing, NULL);
	refuse(FAULT_malloc, true);
	for (int i = 0; i < MANY; i++)
		added += evtimer_add(timers[i], &later) == 0;
	relent();
	is_int(added, MANY, "all fit without memory");
	for (int i = 0; i < MANY; i++)
		event_free(timers[i]);
	refuse(FAULT_malloc, false);
	ok(!timers_reserve(base, MANY), "no memory for the room is said");
	relent();
}

/* Whichever call finds no memory. */
static void
test_loop(void)
{
	struct event_base *b;
	int others = 0, none = 0;

	if (lacks(FAULT_malloc, "a loop"))
		return;
	for (uint64_t n = 1; n == 1 || control->refused > 0; n++) {
		refuse(FAULT_malloc, false);
		control->nth = n;
		b = loop_new();
		relent();
		if (b == NULL)
			none++;
		else if (strcmp(event_base_get_method(b), "epoll") != 0)
			others++;
		if (b != NULL)
			event_base_free(b);
	}
	is_int(others, 0, "a loop waits with epoll, or there is none");
	ok(none > 0, "and that was tried");
}

/* What is too long is another error than what memory did not suffice for. */
static void
test_buf(void)
{
	struct buf b;

	if (lacks(FAULT_malloc, "buf"))
		return;
	buf_init(&b, 4);
	ok(!buf_add(&b, "12345", 5), "too much");
	ok(b.failed && !b.starved, "is not want of memory");
	buf_reset(&b);
	refuse(FAULT_malloc, false);
	ok(!buf_add(&b, "12", 2), "no memory");
	relent();
	ok(b.failed && b.starved, "is");
	buf_reset(&b);
	ok(buf_add(&b, "12", 2) && !b.starved, "and passes");
	buf_clear(&b);
}

static void
on_gone(struct cdp *cdp, const char *why, void *ctx)
{
	struct seen *s = ctx;

	s->gone++;
	snprintf(s->reason, sizeof(s->reason), "%s", why);
}

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct seen *s = arg;

	s->replies++;
	s->status = r->status;
}

/* A command without memory is answered like all others. */
static void
test_command(void)
{
	static const struct cdp_ops cdp_ops = { NULL, on_gone };
	struct seen s = { 0 };
	int to[2], from[2];
	struct cdp *cdp;

	if (lacks(FAULT_malloc, "commands"))
		return;
	if (pipe(to) == -1 || pipe(from) == -1)
		exit(1);
	cdp = cdp_new(base, from[0], to[1], 0, &cdp_ops, &s);
	cdp_call(cdp, NULL, "A.b", NULL, 0, 3600000, on_reply, &s);
	refuse(FAULT_malloc, true);
	cdp_call(cdp, NULL, "A.b", NULL, 0, 3600000, on_reply, &s);
	cdp_call(cdp, NULL, "A.b", NULL, 0, 3600000, on_reply, &s);
	is_int(s.replies, 0, "a command without memory: not from its stack");
	turn();
	relent();
	is_int(s.replies, 3, "all are answered");
	is_int(s.status, CDP_GONE, "by the end of the browser");
	is_int(s.gone, 1, "which is told once");
	is_str(s.reason, "out of memory for a command", "with its reason");
	cdp_free(&cdp);
	close(to[0]);
	close(from[1]);
}

static void
on_broken(void *arg)
{
	((struct seen *)arg)->broken++;
}

/* So many orders go without memory, and again when they were sent. */
static void
test_orders_spare(struct link *l, struct seen *s, int fd)
{
	struct launch_msg m;
	int sent = 0;

	refuse(FAULT_malloc, true);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < SPARE; i++)
			link_serving(l);
		turn();
		while (launch_recv(fd, LAUNCH_FROM_SUPERVISORD, &m, NULL) == 0)
			sent++;
	}
	is_int(sent, 2 * SPARE, "orders are sent while there is no memory");
	is_int(s->broken, 0, "and the link holds");
	for (int i = 0; i <= SPARE; i++)
		link_serving(l);
	relent();
	turn();
	is_int(s->broken, 1, "one more at once ends it, to begin anew");
}

static struct link *
launcher_link(struct seen *s, int *ret_fd)
{
	int sv[2];

	memset(s, 0, sizeof(*s));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) == -1)
		exit(1);
	*ret_fd = sv[1];
	fd_set_nonblock(sv[1]);
	return link_new(base, sv[0], on_broken, s);
}

/* Orders to the launcher, of which none may get lost. */
static void
test_orders(void)
{
	struct launch_msg m;
	struct seen s;
	struct link *l;
	int fd;

	l = launcher_link(&s, &fd);
	refuse(FAULT_send, false);
	link_serving(l);
	turn();
	is_int(control->refused, 1, "an order is refused");
	relent();
	turn_until(fd);
	is_int(launch_recv(fd, LAUNCH_FROM_SUPERVISORD, &m, NULL), 0,
	    "and comes later");
	is_int(m.type, LAUNCH_SERVING, "as it was");
	refuse(FAULT_epoll, true);
	link_serving(l);
	turn_until(fd);
	relent();
	is_int(launch_recv(fd, LAUNCH_FROM_SUPERVISORD, &m, NULL), 0,
	    "also while nothing can be watched");
	is_int(s.broken, 0, "the link holds");
	if (!lacks(FAULT_malloc, "an order without memory"))
		test_orders_spare(l, &s, fd);
	link_free(&l);
	close(fd);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	alarm(GIVE_UP);
	control = fault_control();
	base = event_base_new();
	timers_reserve(base, MANY);
	test_deaf(IPC_UP, "packets");
	test_deaf(IPC_IN, "a stream");
	test_packets_again();
	test_stream_end();
	test_timers();
	test_loop();
	test_buf();
	test_command();
	test_orders();
	event_base_free(base);
	return done_testing();
}
