/* Every state of a worker with everything that may happen to it. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "storage/store.h"
#include "supervisord/cells.h"
#include "supervisord/link.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker_int.h"
#include "t/unit/tap.h"

/* The state that follows, one letter per input in the order of the enum. */
static const char letters[] = "SHTCPLRUED";
static const char *const inputs = "ready hello up sandbox msg end gone lost"
				  " timer resumed";
static const char *const want[WS__MAX] = {
	[WS_SPAWNING] = "HDDDDDSDDD",
	[WS_HELLO] = "DTDDDDHDDD",
	[WS_STARTING] = "DDCDTETDDD",
	[WS_CHECKING] = "DDDRCECDDD",
	[WS_SPARE] = "DDDDDDPDDD",
	[WS_CLAIMED] = "DDDDDELDRD",
	[WS_RUNNING] = "DDDRRERDDD",
	[WS_RESUMING] = "DDDUDDUDDR",
	[WS_ENDED] = "DDDEDDEEDD",
	[WS_DOOMED] = "DDDDDDDDDD",
};

static struct sup sup;
static int readies, messages, resumed, how, launcher = -1;

static void
on_ready(void *ctx)
{
	readies++;
}

static void
on_msg(void *ctx, const struct ipc_params *p)
{
	messages++;
}

static void
on_reaped(void *ctx, const struct worker_end *end)
{
	abort(); /* nothing is reaped here */
}

static void
on_resumed(void *ctx, enum worker_resumed is)
{
	how = (int)is;
	resumed += is == RESUMED_WHOLE;
}

static const struct worker_ops ops = { on_ready, on_msg, on_reaped,
	on_resumed };

static void
on_broken(void *arg)
{
}

static int
channel_end(int *ret_other)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == -1)
		abort();
	*ret_other = fds[1];
	return fds[0];
}

/* As it would be in that state; other is the worker's end. */
static struct worker *
worker_in(enum worker_state state, int *other)
{
	struct cell_want cell = { .flags = SPAWN_BROWSER, .name = "test" };
	struct worker *w = worker_start(&sup, &cell, &ops, NULL);

	if (w == NULL)
		abort();
	w->spare = state == WS_SPARE;
	*other = -1;
	if (state != WS_SPAWNING)
		w->chan = chan_new(
		    sup.base, channel_end(other), IPC_UP, &worker_chan_ops, w);
	w->state = state;
	return w;
}

static void
give(struct worker *w, enum worker_input input)
{
	static const enum msg_id msgs[WI__MAX] = { [WI_HELLO] = MSG_S_HELLO,
		[WI_BROWSER_UP] = MSG_S_READY,
		[WI_MSG] = MSG_S_TOTAL,
		[WI_END] = MSG_S_RUN_END,
		[WI_RESUMED] = MSG_S_RUN_RESUMED };
	struct launch_sandbox sandbox = { 1, 2, 2, 1, 1, 0, 2 };
	struct ipc_params p;
	struct input in = { .reason = "closed by the peer",
		.sandbox = &sandbox,
		.params = &p,
		.ipc_fd = -1 };
	int other = -1;

	ipc_params_init(&p, msgs[input]);
	if (input == WI_HELLO)
		ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	if (input == WI_RESUMED) {
		ipc_set_int(&p, F_EPOCH, 0);
		ipc_set_int(&p, F_N, 1);
		ipc_set_bool(&p, F_GO, true);
		ipc_set_bool(&p, F_WHOLE, true);
	}
	if (input == WI_BROWSER_UP)
		ipc_set_str(&p, F_PRODUCT, "x");
	if (input == WI_READY && w->state == WS_SPAWNING) {
		in.ipc_fd = channel_end(&other);
	}
	worker_input(w, input, &in);
	if (other != -1)
		close(other);
}

static void
reap(struct worker *w)
{
	worker_free(&w);
	cells_free(&sup.cells);
	/* The link still counts the cell: a new link forgets all. */
	link_free(&sup.link);
	close(launcher);
}

static void
make_link(void)
{
	sup.link = link_new(sup.base, channel_end(&launcher), on_broken, NULL);
	sup.cells = cells_new(&sup);
	if (sup.link == NULL || sup.cells == NULL)
		abort();
}

static void
test_table(void)
{
	struct worker *w;
	int other;

	for (int state = 0; state < WS__MAX; state++)
		for (int input = 0; input < WI__MAX; input++) {
			make_link();
			w = worker_in((enum worker_state)state, &other);
			give(w, (enum worker_input)input);
			ok(letters[w->state] == want[state][input],
			    "%c, input %d of \"%s\": %c", letters[state],
			    input + 1, inputs, letters[w->state]);
			if (letters[w->state] == 'D' && state < WS_ENDED &&
			    w->end.code == ERR_NONE)
				ok(false, "killed without a reason");
			if (w->end.unanswered !=
			    (state == WS_RESUMING && w->state == WS_DOOMED))
				ok(false, "lost, at the wrong time");
			reap(w);
			if (other != -1)
				close(other);
		}
	is_int(readies, 2,
	    "ready is told when the sandbox was seen, and to who takes a spare");
	is_int(resumed, 1, "an answer to run.resume is told");
	is_int(messages, 7, "messages are passed on where they belong");
}

static void
check_sandbox(unsigned renderers, unsigned seccomp, unsigned depth,
    unsigned nnp, enum err_code code)
{
	struct launch_sandbox s = { (uint16_t)renderers, (uint8_t)seccomp,
		(uint8_t)depth, (uint8_t)nnp, 1, 0, 2 };
	struct input in = { .sandbox = &s };
	struct worker *w;
	int other;

	make_link();
	w = worker_in(WS_CHECKING, &other);
	worker_input(w, WI_SANDBOX, &in);
	ok(w->end.code == code, "sandbox %u %u %u %u: %s", renderers, seccomp,
	    depth, nnp, code == ERR_NONE ? "good" : err_name(code));
	reap(w);
	close(other);
}

/* A cancel while the browser comes up must end the cell all the same. */
static void
test_grace(void)
{
	struct worker *w;
	int other;

	make_link();
	w = worker_in(WS_CHECKING, &other);
	worker_stop(w, "cancel");
	ok(evtimer_pending(w->timer, NULL), "the grace period runs");
	give(w, WI_SANDBOX);
	ok(evtimer_pending(w->timer, NULL), "also when the browser is up");
	give(w, WI_TIMER);
	is_int(w->state, WS_DOOMED, "at its end the cell is killed");
	reap(w);
	close(other);
	make_link();
	w = worker_in(WS_RUNNING, &other);
	give(w, WI_BROWSER_GONE);
	give(w, WI_LOST);
	is_int(w->end.code, ERR_PAGE_CRASHED, "the browser went first");
	reap(w);
	close(other);
}

/* What it is to go on with is what it has, and what we have. */
static void
check_resumed(int64_t first, bool go, bool whole, int64_t epoch, int next,
    const char *what)
{
	struct ipc_params p;
	struct input in = { .params = &p };
	struct worker *w;
	int other;

	make_link();
	w = worker_in(WS_RESUMING, &other);
	w->stored = 7;
	how = -1;
	ipc_params_init(&p, MSG_S_RUN_RESUMED);
	ipc_set_int(&p, F_EPOCH, epoch);
	ipc_set_int(&p, F_N, first);
	ipc_set_bool(&p, F_GO, go);
	ipc_set_bool(&p, F_WHOLE, whole);
	worker_input(w, WI_RESUMED, &in);
	is_int(how, next, what);
	if (how != -1)
		is_int(
		    (int)worker_count(w), (int)first - 1, "counted from there");
	reap(w);
	close(other);
}

static void
test_resumed(void)
{
	check_resumed(5, true, true, 0, RESUMED_WHOLE, "from the fifth on");
	check_resumed(8, true, true, 0, RESUMED_WHOLE, "all is stored");
	check_resumed(9, true, true, 0, RESUMED_GAP, "one is nowhere");
	check_resumed(5, true, false, 0, RESUMED_GAP, "some are lost");
	check_resumed(1, false, true, 0, RESUMED_UNTOUCHED, "it had no go");
	check_resumed(5, true, true, 1, -1, "an answer to another one");
}

int
main(void)
{
	char dir[] = "/tmp/sup_worker_test.XXXXXX", command[64];
	struct store_options options = { .now_ms = 1 };

	settings_default(&sup.settings);
	sup.base = event_base_new();
	if (sup.base == NULL || mkdtemp(dir) == NULL ||
	    store_open(dir, &options, &sup.store, NULL) != STORE_OK)
		abort();
	sup.spares = spares_new(&sup);
	sup.tasks = tasks_new(&sup);
	if (sup.spares == NULL || sup.tasks == NULL)
		abort();
	test_table();
	check_sandbox(1, 2, 2, 1, ERR_NONE);
	check_sandbox(0, 0, 0, 0, ERR_SANDBOX_MISSING);
	check_sandbox(1, 0, 2, 1, ERR_SANDBOX_MISSING);
	check_sandbox(1, 2, 1, 1, ERR_SANDBOX_MISSING);
	check_sandbox(1, 2, 2, 0, ERR_SANDBOX_MISSING);
	test_grace();
	test_resumed();
	spares_free(&sup.spares);
	tasks_free(&sup.tasks);
	store_free(&sup.store);
	event_base_free(sup.base);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		printf("# %s is left\n", dir);
	return done_testing();
}
