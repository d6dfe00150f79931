/*
 * Which cell a run gets, against a launcher and workers that this test plays:
 * kept cells, their workers one after the other, spares, and full slots.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "ipc/chan.h"
#include "storage/store.h"
#include "supervisord/cells.h"
#include "supervisord/link.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker_int.h"
#include "t/unit/tap.h"

/* A run, as far as a worker knows. */
struct owner {
	struct worker *worker;
	int readies, ends;
	enum err_code code;
	struct worker_end end;
};

static struct sup sup;
static int launcher = -1; /* its end of the link */
static int gone_count, closed_count;
static struct ulid gone_session;

static void
on_ready(void *ctx)
{
	((struct owner *)ctx)->readies++;
}

static void
on_msg(void *ctx, const struct ipc_params *p)
{
}

static void
on_reaped(void *ctx, const struct worker_end *end)
{
	struct owner *o = ctx;

	o->ends++;
	o->code = end->code;
	o->end = *end;
	worker_free(&o->worker);
}

static const struct worker_ops ops = { on_ready, on_msg, on_reaped, NULL };

static void
on_gone(struct sup *s, const struct ulid *session)
{
	gone_count++;
	gone_session = *session;
}

static void
on_closed(void *arg)
{
	closed_count++;
}

static void
on_broken(void *arg)
{
	abort();
}

static void
turn_loop(void)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(sup.base, EVLOOP_NONBLOCK);
}

static char named[LAUNCH_NAME_BYTES]; /* by the last NAME */

/* The next order but NAME; type 0 when there is none. */
static struct launch_msg
next_order(void)
{
	struct launch_msg m = { 0 };
	int fds[LAUNCH_MAX_FDS];

	turn_loop();
	do {
		if (launch_recv(launcher, LAUNCH_FROM_SUPERVISORD, &m, fds) !=
		    0)
			m.type = 0;
		if (m.type == LAUNCH_NAME)
			strlcpy(named, m.u.worker.name, sizeof(named));
	} while (m.type == LAUNCH_NAME);
	return m;
}

static uint32_t
order_is(enum launch_type type, const char *name)
{
	struct launch_msg m = next_order();

	is_int(m.type, type, name);
	return m.cell_id;
}

/* Waits up to eight seconds of the loop for it. */
static uint32_t
order_comes(enum launch_type type, const char *name)
{
	struct timeval step = { 0, 20000 };
	struct launch_msg m = next_order();

	for (int i = 0; i < 1000 && m.type == 0; i++) {
		event_base_loopexit(sup.base, &step);
		event_base_dispatch(sup.base);
		m = next_order();
	}
	is_int(m.type, type, name);
	return m.cell_id;
}

static void
tell(const struct launch_msg *m, const int *fds)
{
	if (launch_send(launcher, LAUNCH_TO_SUPERVISORD, m, fds) != 0)
		abort();
	turn_loop();
}

/* READY or WORKER_READY; the worker's end of its socket. */
static int
tell_ready(enum launch_type type, uint32_t id)
{
	struct launch_msg m;
	int pair[2], log[2], fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == -1 ||
	    pipe(log) == -1)
		abort();
	launch_msg_init(&m, type, id);
	fds[LAUNCH_FD_IPC] = pair[0];
	fds[LAUNCH_FD_LOG] = log[0];
	tell(&m, fds);
	close(pair[0]);
	close(log[0]);
	close(log[1]);
	return pair[1];
}

static void
tell_exited(enum launch_type type, uint32_t id)
{
	struct launch_msg m;

	launch_msg_init(&m, type, id);
	tell(&m, NULL);
}

static void
tell_reaped(uint32_t id, enum launch_cause cause)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_REAPED, id);
	m.u.reaped.cause = cause;
	tell(&m, NULL);
}

static void
worker_says(int sock, const struct ipc_params *p)
{
	struct buf b;

	buf_init(&b, 4096);
	if (!ipc_encode_note(&b, p, NULL) || send(sock, b.data, b.len, 0) == -1)
		abort();
	buf_clear(&b);
	turn_loop();
}

/* The worker's hello, and that its browser answers. */
static void
worker_begins(int sock, bool browser)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_HELLO);
	ipc_set_int(&p, F_PROTO, IPC_PROTO_WORKER);
	worker_says(sock, &p);
	if (!browser)
		return;
	ipc_params_init(&p, MSG_S_READY);
	ipc_set_str(&p, F_PRODUCT, "test");
	worker_says(sock, &p);
}

static void
worker_is_done(int sock)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_S_RUN_END);
	ipc_set_bool(&p, F_SUCCESS, true);
	worker_says(sock, &p);
}

static void
tell_sandbox(uint32_t id)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_SANDBOX, id);
	m.u.sandbox.renderers = 1;
	m.u.sandbox.seccomp_mode = 2;
	m.u.sandbox.ns_depth = LAUNCH_NS_DEPTH;
	m.u.sandbox.no_new_privs = 1;
	m.u.sandbox.others_mode = 2;
	tell(&m, NULL);
}

/* From its READY to the moment its owner is told. */
static int
bring_up(enum launch_type type, uint32_t id)
{
	int sock = tell_ready(type, id);

	worker_begins(sock, true);
	order_is(LAUNCH_CHECK, "its sandbox is looked at");
	tell_sandbox(id);
	return sock;
}

static struct ulid
session_of(uint8_t n)
{
	struct ulid id = { { n } };

	return id;
}

static void
start(struct owner *o, uint8_t session, bool keep)
{
	struct cell_want want = { .session = session_of(session),
		.keep = keep,
		.flags = SPAWN_BROWSER | SPAWN_TEXT_ONLY,
		.name = "run_x" };

	memset(o, 0, sizeof(*o));
	o->worker = worker_start(&sup, &want, &ops, o);
}

static bool
lives(uint8_t session)
{
	struct ulid id = session_of(session);

	return cells_living(&sup, &id);
}

static void
set_up(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) == -1)
		abort();
	launcher = fds[1];
	sup.link = link_new(sup.base, fds[0], on_broken, NULL);
	sup.cells = cells_new(&sup);
	sup.spares = spares_new(&sup);
	sup.tasks = tasks_new(&sup);
	if (sup.link == NULL || sup.cells == NULL || sup.spares == NULL ||
	    sup.tasks == NULL)
		abort();
	cells_on_gone(&sup, on_gone);
	gone_count = closed_count = 0;
}

static void
tear_down(void)
{
	spares_free(&sup.spares);
	cells_free(&sup.cells);
	tasks_free(&sup.tasks);
	link_free(&sup.link);
	close(launcher);
}

/* A session whose first run is over and whose cell lives. */
static uint32_t
leave_idle(uint8_t session)
{
	struct owner o;
	uint32_t id;
	int sock;

	start(&o, session, true);
	id = order_is(LAUNCH_SPAWN, "a new cell");
	sock = bring_up(LAUNCH_READY, id);
	is_int(o.readies, 1, "its worker is told");
	worker_is_done(sock);
	close(sock);
	tell_exited(LAUNCH_WORKER_EXITED, id);
	is_int(o.ends, 1, "the run is over when the worker is gone");
	is_int(o.code, ERR_NONE, "and well");
	ok(lives(session), "its cell lives");
	return id;
}

static void
test_kept(void)
{
	struct owner o;
	struct launch_msg m;
	uint32_t id;
	int sock;

	set_up();
	start(&o, 1, true);
	m = next_order();
	is_int(m.type, LAUNCH_SPAWN, "a new cell");
	ok((m.u.spawn.flags & SPAWN_KEEP) != 0, "that is kept");
	ok(strcmp(m.u.spawn.profile, "sess_010000000000000000000000") != 0 &&
		strncmp(m.u.spawn.profile, "sess_", 5) == 0,
	    "with the profile of the session");
	id = m.cell_id;
	sock = bring_up(LAUNCH_READY, id);
	ok(!worker_is_takeover(o.worker), "its browser is new");
	is_int(cells_idle(&sup), 0, "it is not idle");
	worker_is_done(sock);
	close(sock);
	tell_exited(LAUNCH_WORKER_EXITED, id);
	is_int(o.ends, 1, "over with its worker");
	is_int(cells_idle(&sup), 1, "idle then");

	start(&o, 1, true);
	m = next_order();
	is_int(m.type, LAUNCH_WORKER, "the next run gets a worker in it");
	is_int(m.cell_id, id, "in this very cell");
	sock = bring_up(LAUNCH_WORKER_READY, id);
	ok(worker_is_takeover(o.worker), "who takes over");
	is_int(o.readies, 1, "and is told");
	worker_kill(o.worker, ERR_WORKER_SILENT, "test");
	order_is(LAUNCH_KILL_WORKER, "a kill is the worker's alone");
	close(sock);
	tell_exited(LAUNCH_WORKER_EXITED, id);
	is_int(o.code, ERR_WORKER_SILENT, "which ends the run");
	ok(lives(1), "not the cell");

	start(&o, 1, true);
	order_is(LAUNCH_WORKER, "a third worker");
	sock = bring_up(LAUNCH_WORKER_READY, id);
	tell_exited(LAUNCH_BROWSER_EXITED, id);
	ok(!lives(1), "without browser it does not live");
	close(sock);
	turn_loop();
	order_is(LAUNCH_KILL, "all of it goes");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(o.ends, 1, "the run is over");
	is_int(o.code, ERR_PAGE_CRASHED, "and says why");
	is_int(gone_count, 0, "the run told it");
	tear_down();
}

static void
test_idle_ends(void)
{
	struct ulid one = session_of(1), two = session_of(2);
	uint32_t id;

	set_up();
	cells_close(&sup, &one, on_closed, NULL);
	is_int(closed_count, 1, "nothing to close is closed at once");
	id = leave_idle(1);
	tell_exited(LAUNCH_BROWSER_EXITED, id);
	tell_reaped(id, LAUNCH_BROWSER_ENDED);
	is_int(gone_count, 1, "an idle one that ends is told");
	ok(memcmp(&gone_session, &one, sizeof(one)) == 0, "with its session");
	id = leave_idle(2);
	cells_close(&sup, &two, on_closed, NULL);
	cells_close(&sup, &two, NULL, NULL);
	order_is(LAUNCH_KILL, "close kills");
	is_int(closed_count, 1, "but is not done before");
	ok(!lives(2), "it counts as gone");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(closed_count, 2, "REAPED, which hears who asked");
	is_int(gone_count, 1, "and nobody else");
	tear_down();
}

/* The browser of the session does not answer, in each way. */
static void
test_fall_back(void)
{
	struct owner o;
	uint32_t id, other;
	int sock;

	set_up();
	for (int way = 0; way < 4; way++) {
		id = leave_idle(7);
		start(&o, 7, true);
		order_is(LAUNCH_WORKER, "a worker in it");
		sock = tell_ready(LAUNCH_WORKER_READY, id);
		worker_begins(sock, false);
		if (way == 0) { /* the worker gives up */
			close(sock);
			turn_loop();
			order_is(LAUNCH_KILL, "the cell is ended");
			tell_exited(LAUNCH_WORKER_EXITED, id);
		} else if (way == 1) { /* nothing is heard */
			order_comes(LAUNCH_KILL, "the cell is ended in time");
		} else if (way == 2) { /* the worker says so */
			worker_is_done(sock);
			order_is(LAUNCH_KILL, "the cell is ended");
			close(sock);
		} else { /* the worker is gone, which the cell tells first */
			close(sock);
			tell_exited(LAUNCH_WORKER_EXITED, id);
			order_is(LAUNCH_KILL, "the cell is ended");
		}
		is_int(o.ends, 0, "not the run");
		tell_reaped(id, LAUNCH_KILLED);
		other = order_is(LAUNCH_SPAWN, "which gets a new one");
		if (way == 1)
			close(sock);
		sock = bring_up(LAUNCH_READY, other);
		is_int(o.readies, 1, "and begins there");
		ok(!worker_is_takeover(o.worker), "with a new browser");
		worker_is_done(sock);
		close(sock);
		tell_exited(LAUNCH_WORKER_EXITED, other);
		is_int(o.code, ERR_NONE, "and ends well");
		cells_close(&sup, &(struct ulid){ { 7 } }, NULL, NULL);
		order_is(LAUNCH_KILL, "closed");
		tell_reaped(other, LAUNCH_KILLED);
	}
	is_int(gone_count, 0, "nobody lost a session");
	tear_down();
}

/* The start of a kept cell that fails leaves none. */
static void
test_bad_start(void)
{
	struct owner o;
	uint32_t id;
	int sock;

	set_up();
	start(&o, 3, true);
	id = order_is(LAUNCH_SPAWN, "a new cell");
	sock = tell_ready(LAUNCH_READY, id);
	worker_begins(sock, false);
	close(sock);
	turn_loop();
	order_comes(LAUNCH_KILL, "its first worker is lost: all goes");
	tell_exited(LAUNCH_WORKER_EXITED, id);
	is_int(o.code, ERR_WORKER_LOST, "the run ends");
	ok(!lives(3), "no cell of it can be had");
	start(&o, 3, true);
	is_int(next_order().type, 0, "the next run waits until it is gone");
	tell_reaped(id, LAUNCH_KILLED);
	id = order_is(LAUNCH_SPAWN, "and gets a new one");
	tell_reaped(id, LAUNCH_SPAWN_FAILED);
	is_int(o.code, ERR_SPAWN_FAILED, "whose start fails");
	tear_down();
}

static void
test_full(void)
{
	struct owner o[LAUNCH_WORKER_SLOTS + 1];
	uint32_t idle;

	set_up();
	idle = leave_idle(200);
	for (int i = 0; i < LAUNCH_WORKER_SLOTS - 1; i++) {
		start(&o[i], (uint8_t)i, false);
		order_is(LAUNCH_SPAWN, "a cell for each");
	}
	start(&o[23], 100, false);
	ok(o[23].worker != NULL, "one more than there are slots");
	is_int(order_is(LAUNCH_KILL, "ends"), idle, "who is idle");
	start(&o[24], 101, false);
	ok(o[24].worker != NULL, "another one waits, too");
	worker_kill(o[24].worker, ERR_WORKER_LOST, "test");
	turn_loop();
	is_int(o[24].ends, 1, "and may be ended while it does");
	tell_reaped(idle, LAUNCH_KILLED);
	is_int(gone_count, 1, "the idle one's session is told");
	order_is(LAUNCH_SPAWN, "its slot is used");
	start(&o[24], 102, false);
	ok(o[24].worker == NULL, "without anybody idle there is no room");
	for (int i = 0; i < LAUNCH_WORKER_SLOTS; i++)
		worker_free(&o[i].worker);
	tear_down();
}

static void
test_spare(void)
{
	struct owner o;
	uint32_t id;
	int sock, second;

	set_up();
	sup.serving = true;
	sup.settings.warmCells = 1;
	spares_pump(&sup);
	id = order_comes(LAUNCH_SPAWN, "a spare");
	sock = bring_up(LAUNCH_READY, id);
	is_int(spares_ready(&sup), 1, "is ready");
	start(&o, 1, true);
	order_is(LAUNCH_SPAWN, "a session gets none");
	worker_free(&o.worker);
	start(&o, 2, false);
	is_int(o.readies, 0, "a run gets it, and is not told within the call");
	named[0] = '\0';
	is_int(next_order().type, 0, "no cell is ordered");
	is_str(named, "run_x", "its cell is called by the run");
	is_int(o.readies, 1, "but told at once");
	is_int(spares_ready(&sup), 0, "it is a spare no more");
	worker_set_running(o.worker);
	worker_is_done(sock);
	is_int(next_order().type, 0, "its last word is stored first");
	worker_release(o.worker);
	order_is(LAUNCH_KILL, "then its cell ends, at once");
	close(sock);
	tell_reaped(id, LAUNCH_KILLED);
	is_int(o.code, ERR_NONE, "it serves one run");

	id = order_comes(LAUNCH_SPAWN, "the next spare");
	start(&o, 3, false);
	is_int(next_order().type, 0, "one that is starting is taken, too");
	second = bring_up(LAUNCH_READY, id);
	is_int(o.readies, 1, "and told when it is up");
	worker_set_running(o.worker);
	close(second);
	turn_loop();
	order_comes(LAUNCH_KILL, "lost as any other when the run has begun");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(o.code, ERR_WORKER_LOST, "with a reason");

	id = order_comes(LAUNCH_SPAWN, "the next spare");
	sock = bring_up(LAUNCH_READY, id);
	close(sock);
	turn_loop();
	order_comes(LAUNCH_KILL, "one that is lost while nobody has it");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(next_order().type, 0, "is not made again at once");
	id = order_comes(LAUNCH_SPAWN, "but later");
	sock = bring_up(LAUNCH_READY, id);
	sup.drained_ms = 1;
	spares_pump(&sup);
	order_comes(LAUNCH_KILL, "who drains needs none");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(next_order().type, 0, "and makes none");
	close(sock);
	sup.drained_ms = 0;
	sup.serving = false;
	sup.settings.warmCells = 0;
	tear_down();
}

/* The spare that a run got is lost in that way. */
static void
lose(int way, uint32_t id, int *sock)
{
	if (way == 0) {
		close(*sock);
		turn_loop();
		order_is(LAUNCH_KILL, "its worker is lost: the cell is ended");
	} else if (way == 1) {
		tell_exited(LAUNCH_BROWSER_EXITED, id);
		order_is(LAUNCH_KILL, "so is its browser: the cell is ended");
		close(*sock);
	} else if (way == 2) {
		worker_is_done(*sock);
		order_is(LAUNCH_KILL, "its worker gave up: the cell is ended");
		close(*sock);
	}
	tell_reaped(id, way == 3 ? LAUNCH_CELL_DIED : LAUNCH_KILLED);
	if (way == 3)
		close(*sock);
}

/* A run that was not told yet gets another cell for a spare that is lost. */
static void
test_spare_lost(void)
{
	struct owner o;
	uint32_t id;
	int sock;

	set_up();
	sup.serving = true;
	for (int way = 0; way < 12; way++) {
		sup.settings.warmCells = 1;
		spares_pump(&sup);
		id = order_comes(LAUNCH_SPAWN, "a spare");
		if (way < 4) {
			start(&o, 1, false);
			sock = tell_ready(LAUNCH_READY, id);
			worker_begins(sock, false);
		} else {
			sock = bring_up(LAUNCH_READY, id);
			start(&o, 1, false);
		}
		sup.settings.warmCells = 0;
		if (way >= 8) {
			turn_loop();
			is_int(o.readies, 1, "its run is told of it");
		}
		lose(way % 4, id, &sock);
		is_int(o.ends, 0, "the run does not end with it");
		id = order_is(LAUNCH_SPAWN, "but gets a cell");
		o.readies = 0;
		sock = bring_up(LAUNCH_READY, id);
		is_int(o.readies, 1, "and goes on there");
		close(sock);
		turn_loop();
		order_comes(LAUNCH_KILL, "which is the last one that it gets");
		tell_reaped(id, LAUNCH_KILLED);
		is_int(o.code, ERR_WORKER_LOST, "it ends");
	}
	sup.settings.warmCells = 1;
	spares_pump(&sup);
	id = order_comes(LAUNCH_SPAWN, "a spare");
	sock = bring_up(LAUNCH_READY, id);
	start(&o, 1, false);
	sup.settings.warmCells = 0;
	worker_stop(o.worker, "cancel");
	close(sock);
	turn_loop();
	order_comes(LAUNCH_KILL, "it is lost by a run that is to stop");
	tell_reaped(id, LAUNCH_KILLED);
	is_int(o.ends, 1, "which gets no other");
	is_int(next_order().type, 0, "cell");
	sup.serving = false;
	tear_down();
}

static void
tell_limit(uint32_t id, enum launch_over which)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_LIMIT, id);
	m.u.breach.which = which;
	m.u.breach.limit = 100 << 20;
	m.u.breach.value = 101 << 20;
	tell(&m, NULL);
}

/* A cell that wants too much: whatever is seen of its end, that is why. */
static void
test_limit(void)
{
	struct launch_msg m;
	struct owner o;
	uint32_t id;
	int sock;

	set_up();
	start(&o, 1, true);
	id = order_is(LAUNCH_SPAWN, "a new cell");
	sock = bring_up(LAUNCH_READY, id);
	launch_msg_init(&m, LAUNCH_USAGE, id);
	m.u.usage.memory = 7;
	tell(&m, NULL);
	tell_limit(id, LAUNCH_OVER_MEMORY);
	order_is(LAUNCH_KILL, "all of it ends, although it is kept");
	ok(!lives(1), "no run goes on in it");
	close(sock);
	tell_reaped(id, LAUNCH_KILLED);
	is_int(o.code, ERR_MEMORY_LIMIT, "the limit is the cause");
	ok(o.end.over && strstr(o.end.text, "101 MiB of memory") != NULL &&
		strstr(o.end.text, "runMemoryBytes=104857600") != NULL,
	    "and said: %s", o.end.text);
	is_int((long long)o.end.usage.memory, 7, "with what it used");

	start(&o, 2, false);
	id = order_is(LAUNCH_SPAWN, "the next cell");
	sock = bring_up(LAUNCH_READY, id);
	worker_kill(o.worker, ERR_WORKER_LOST, "it is gone");
	order_is(LAUNCH_KILL, "its worker is lost first");
	close(sock);
	tell_limit(id, LAUNCH_OVER_PROCESSES);
	tell_reaped(id, LAUNCH_CELL_DIED);
	is_int(
	    o.code, ERR_PROCESS_LIMIT, "the limit is the cause all the same");

	id = leave_idle(3);
	tell_limit(id, LAUNCH_OVER_CPU);
	order_is(LAUNCH_KILL, "an idle one ends as well");
	tell_reaped(id, LAUNCH_KILLED);
	ok(!lives(3), "and is gone");
	tear_down();
}

int
main(void)
{
	char dir[] = "/tmp/sup_cells_test.XXXXXX", command[64];
	struct store_options options = { .now_ms = 1 };

	log_init("sup_cells_test", LOGL_ERR);
	settings_default(&sup.settings);
	sup.settings.warmCells = 0;
	sup.base = event_base_new();
	if (sup.base == NULL || mkdtemp(dir) == NULL ||
	    store_open(dir, &options, &sup.store, NULL) != STORE_OK)
		abort();
	test_kept();
	test_idle_ends();
	test_fall_back();
	test_bad_start();
	test_full();
	test_spare();
	test_spare_lost();
	test_limit();
	store_free(&sup.store);
	event_base_free(sup.base);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		printf("# %s is left\n", dir);
	return done_testing();
}
