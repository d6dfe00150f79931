/*
 * worker_outbox: what a worker keeps of what it said, and says again to another
 * supervisord: in order, once each, within its limit.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "ipc/chan.h"
#include "t/unit/tap.h"
#include "workerd/outbox.h"

#define CHUNK 50000

static struct event_base *base;
static struct chan *below, *above;
static struct outbox *outbox;

/* What came: numbers in the order of their arrival, since the last reset. */
static struct {
	int64_t list[2000];
	size_t count;
	bool resumed, go, whole;
	int64_t epoch, first;
	int readies, drained;
} heard;

static void
hear(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
	const struct ipc_params *p = &msg->params;

	if (p->msg == MSG_S_TOTAL)
		heard.list[heard.count++] = ipc_int(p, F_TOTAL, -1);
	else if (p->msg == MSG_S_ITEM_DATA)
		heard.list[heard.count++] = ipc_int(p, F_INDEX, -1);
	else if (p->msg == MSG_S_READY)
		heard.readies++;
	else if (p->msg == MSG_S_RUN_RESUMED) {
		heard.resumed = true;
		heard.count = 0;
		heard.epoch = ipc_int(p, F_EPOCH, -1);
		heard.first = ipc_int(p, F_N, -1);
		heard.go = ipc_bool(p, F_GO, false);
		heard.whole = ipc_bool(p, F_WHOLE, false);
	}
}

static void
none(struct chan *chan, const struct ipc_msg *msg, void *ctx)
{
}

static void
closed(struct chan *chan, const char *reason, void *ctx)
{
	printf("# closed: %s\n", reason);
}

static void
drained(struct chan *chan, void *ctx)
{
	heard.drained += outbox_drained(outbox);
}

static void
set_up(void)
{
	static const struct chan_ops up = { hear, NULL, closed, NULL, NULL };
	static const struct chan_ops down = { none, NULL, closed, drained,
		NULL };
	int sock[2];

	memset(&heard, 0, sizeof(heard));
	base = event_base_new();
	if (base == NULL ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sock) == -1)
		abort();
	above = chan_new(base, sock[0], IPC_UP, &up, NULL);
	below = chan_new(base, sock[1], IPC_DOWN, &down, NULL);
	if (above == NULL || below == NULL)
		abort();
	chan_set_phase(above, PEER_RUN);
	chan_set_queue_limit(below, OUTBOX_CHAN_BYTES);
	outbox = outbox_new(below);
}

static void
tear_down(void)
{
	outbox_free(&outbox);
	chan_free(&above);
	chan_free(&below);
	event_base_free(base);
}

static void
loop(void)
{
	size_t was;

	do {
		was = heard.count;
		for (int i = 0; i < 5; i++)
			(void)event_base_loop(base, EVLOOP_NONBLOCK);
	} while (heard.count != was);
}

/* A message that names itself, small or with a chunk of bytes. */
static bool
say(int n, bool big)
{
	static const char bytes[CHUNK];
	struct ipc_params p;

	ipc_params_init(&p, big ? MSG_S_ITEM_DATA : MSG_S_TOTAL);
	if (big) {
		ipc_set_int(&p, F_INDEX, n);
		ipc_set_int(&p, F_PART, 0);
		ipc_set_bin(&p, F_DATA, bytes, sizeof(bytes));
	} else
		ipc_set_int(&p, F_TOTAL, n);
	return outbox_send(outbox, &p);
}

/* Whether exactly from to to were heard, in order. */
static bool
heard_all(int from, int to)
{
	for (size_t i = 0; i < heard.count; i++)
		if (heard.list[i] != from + (int64_t)i)
			return false;
	return (int64_t)heard.count == (int64_t)to - from + 1;
}

static void
test_numbers(void)
{
	struct ipc_params p;

	set_up();
	ipc_params_init(&p, MSG_S_READY);
	ipc_set_str(&p, F_PRODUCT, "x");
	ok(outbox_send(outbox, &p) && outbox_is_empty(outbox),
	    "what is no message of a run is not kept");
	for (int i = 1; i <= 10; i++)
		say(i, false);
	loop();
	ok(heard_all(1, 10) && heard.readies == 1, "all is sent once");
	ok(!outbox_is_empty(outbox), "and kept");
	ok(!outbox_ack(outbox, 11), "what was not said cannot be acknowledged");
	ok(outbox_ack(outbox, 4), "four are acknowledged");
	ok(!outbox_resume(outbox, 7, 11, true), "nor be stored anywhere");
	ok(outbox_resume(outbox, 7, 6, true), "another supervisord");
	loop();
	ok(heard.resumed && heard.epoch == 7 && heard.go && heard.whole,
	    "is answered");
	is_int(heard.first, 5, "with the number of the first that is kept");
	ok(heard_all(5, 10), "and gets all of them, in order");
	say(11, false);
	loop();
	ok(heard_all(5, 11), "and what is said from then on");
	ok(outbox_ack(outbox, 3), "an old acknowledgement");
	ok(outbox_resume(outbox, 8, 11, false), "a third one");
	loop();
	ok(!heard.go && heard_all(5, 11), "hears the same");
	ok(outbox_ack(outbox, 11) && outbox_is_empty(outbox),
	    "nothing is left when all is acknowledged");
	ok(outbox_resume(outbox, 9, 11, true), "a fourth one");
	loop();
	ok(heard.first == 12 && heard.count == 0 && heard.whole,
	    "is told the next number");
	tear_down();
}

/* It dies with much unread; what follows it gets all, and the rest. */
static void
test_unread(void)
{
	int n = 0;

	set_up();
	chan_hold_reading(above, true);
	while (!outbox_is_busy(outbox) && say(n + 1, true))
		n++;
	ok(outbox_is_busy(outbox), "busy after %d messages", n);
	loop();
	is_int(heard.count, 0, "nothing was read");
	ok(say(++n, false), "a small one may be said all the same");
	ok(outbox_resume(outbox, 2, 0, true), "resumed meanwhile");
	ok(say(++n, true), "and another one said");
	chan_hold_reading(above, false);
	loop();
	ok(heard.resumed && heard.first == 1, "resumed, from the first on");
	ok(heard_all(1, n), "all %d come after it, in order", n);
	ok(heard.drained > 0, "producers hear that they may go on");
	ok(!outbox_is_busy(outbox), "it is not busy any more");
	tear_down();
}

/* Beyond the limit a run cannot change hands, until that is acknowledged. */
static void
test_limit(void)
{
	int n = 0, most = (int)(OUTBOX_KEPT_BYTES / CHUNK) + 20;

	set_up();
	for (n = 1; n <= most; n++) {
		if (!say(n, true))
			break;
		loop();
	}
	n--;
	is_int(n, most, "more is said than is kept");
	ok(heard_all(1, n), "and all of it heard");
	ok(outbox_resume(outbox, 2, 0, true), "another supervisord");
	loop();
	ok(!heard.whole && heard.first > 1, "hears that some is lost");
	ok(heard_all((int)heard.first, n), "and gets what is kept");
	outbox_ack(outbox, heard.first);
	ok(outbox_resume(outbox, 3, 0, true), "what is lost is acknowledged");
	loop();
	ok(heard.whole, "so that all is well again");
	tear_down();
}

int
main(void)
{
	test_numbers();
	test_unread();
	test_limit();
	return done_testing();
}
