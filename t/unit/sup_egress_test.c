/*
 * Unit tests of supervisord's connection to egressd: bindings before and after
 * there is one, restarts of egressd, answers that come too late, are wrong or
 * do not come, and what is told of connections.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "ipc/chan.h"
#include "supervisord/egress.h"
#include "t/unit/tap.h"

#define RUN "run_01ARZ3NDEKTSV4RRFFQ69G5FAV"

static struct event_base *base;
static struct egress *egress;
static struct chan *theirs; /* egressd's end */

/* What has happened, in words. */
static char seen[512];

static void __attribute__((format(printf, 1, 2))) note(const char *fmt, ...)
{
	size_t len = strlen(seen);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(seen + len, sizeof(seen) - len, fmt, ap);
	va_end(ap);
}

/* What was seen since the last call. */
static const char *
taken(void)
{
	static char said[sizeof(seen)];

	for (int i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	strlcpy(said, seen, sizeof(said));
	seen[0] = '\0';
	return said;
}

static void
on_bound(void *ctx)
{
	note("bound %s;", (const char *)ctx);
}

static void
on_failed(void *ctx, const char *why)
{
	note("failed %s: %s;", (const char *)ctx, why);
}

static void
on_report(void *ctx, const struct egress_report *r)
{
	note("report %s: %s %u %s %s \"%s\";", (const char *)ctx, r->host,
	    (unsigned)r->port, r->address == NULL ? "-" : r->address,
	    egress_outcome_name(r->outcome), r->rule);
}

static void
on_sums(void *ctx, const struct egress_sums *s)
{
	note("sums %s: %d %d %d %d;", (const char *)ctx, (int)s->connections,
	    (int)s->bytes_in, (int)s->bytes_out, (int)s->refused);
}

static const struct egress_ops ops = { on_bound, on_failed, on_report,
	on_sums };

static void
theirs_on_msg(struct chan *chan, const struct ipc_msg *m, void *ctx)
{
	const struct ipc_params *p = &m->params;

	note("%s %d", msg_row(p->msg)->name, (int)ipc_int(p, F_CELL_ID, 0));
	if (p->msg == MSG_E_BIND)
		note(" %s [%s] [%s] [%s] %d", ipc_str(p, F_TRUST),
		    ipc_str(p, F_ALLOWED), ipc_str(p, F_FORBIDDEN),
		    ipc_str(p, F_KEPT), (int)ipc_int(p, F_MAX_CONNECTIONS, 0));
	if (p->msg == MSG_E_NAMES)
		note(" %zu", strlen(ipc_str(p, F_HOSTS)));
	note(";");
}

static void
theirs_on_closed(struct chan *chan, const char *reason, void *ctx)
{
	chan_free(&theirs);
}

static void
start_egressd(void)
{
	static const struct chan_ops theirs_ops = { .on_msg = theirs_on_msg,
		.on_closed = theirs_on_closed };
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == -1)
		abort();
	chan_free(&theirs);
	theirs = chan_new(base, sv[1], IPC_TO_EGRESSD, &theirs_ops, NULL);
	chan_set_phase(theirs, PEER_READY);
	egress_take(egress, sv[0]);
}

static const char *names; /* the next run's; NULL: none */

static struct egress_binding *
bind_cell(uint32_t cell, const char *name)
{
	const struct egress_rules rules = { .trust = TRUST_REMOTE,
		.allowed = "a.example",
		.forbidden = "b.example\nc.example",
		.kept = "*.example",
		.named = names == NULL ? "" : names,
		.max_connections = 256,
		.max_bytes = 1 << 20 };

	return egress_bind(
	    egress, cell, RUN, &rules, &ops, (void *)(uintptr_t)name);
}

static void
answer(enum msg_id id, uint32_t cell, bool good)
{
	struct ipc_params p;

	ipc_params_init(&p, id);
	ipc_set_int(&p, F_CELL_ID, cell);
	ipc_set_str(&p, F_RUN_ID, RUN);
	if (id == MSG_E_BOUND) {
		ipc_set_bool(&p, F_SUCCESS, good);
		if (!good)
			ipc_set_str(&p, F_MESSAGE, "no room");
	} else {
		ipc_set_int(&p, F_CONNECTIONS, 1);
		ipc_set_int(&p, F_BYTES_IN, 2);
		ipc_set_int(&p, F_BYTES_OUT, 3);
		ipc_set_int(&p, F_REFUSED, 4);
	}
	chan_note(theirs, &p);
}

static void
report(uint32_t cell, const char *outcome)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_E_REPORT);
	ipc_set_int(&p, F_CELL_ID, cell);
	ipc_set_str(&p, F_RUN_ID, RUN);
	ipc_set_str(&p, F_HOST, "x.example");
	ipc_set_int(&p, F_PORT, 443);
	ipc_set_str(&p, F_ADDRESS, "10.0.0.1");
	ipc_set_str(&p, F_OUTCOME, outcome);
	ipc_set_str(&p, F_RULE, "class private");
	chan_note(theirs, &p);
}

#define BIND(cell)                                                         \
	"egress.bind " #cell " remote [a.example] [b.example\nc.example] " \
	"[*.example] 256;"

static void
test_course(void)
{
	struct egress_binding *b;

	start_egressd();
	b = bind_cell(7, "one");
	is_str(taken(), BIND(7), "egressd is told");
	answer(MSG_E_BOUND, 8, true);
	is_str(taken(), "", "an answer of another cell is none");
	answer(MSG_E_BOUND, 7, true);
	is_str(taken(), "bound one;", "its own is");
	answer(MSG_E_BOUND, 7, true);
	is_str(taken(), "", "once");
	report(7, "refused");
	is_str(taken(),
	    "report one: x.example 443 10.0.0.1 refused \"class private\";",
	    "a connection that was refused");
	report(7, "nonsense");
	report(9, "dns");
	is_str(taken(), "", "what makes no sense is passed over");
	answer(MSG_E_UNBOUND, 7, true);
	is_str(taken(), "", "sums that nobody asked for");
	egress_unbind(b);
	egress_unbind(b);
	is_str(taken(), "egress.unbind 7;", "unbound once");
	answer(MSG_E_UNBOUND, 7, true);
	is_str(taken(), "sums one: 1 2 3 4;", "its sums");
	egress_release(&b);
	egress_release(&b);
	is_str(taken(), "", "nothing more is said");
	answer(MSG_E_UNBOUND, 7, true);
	is_str(taken(), "", "or heard");
}

static void
test_names(void)
{
	static char many[100000];
	struct egress_binding *b;

	names = "a.example\n10.0.0.1\n";
	b = bind_cell(7, "one");
	is_str(taken(), "egress.names 7 19;" BIND(7),
	    "hosts that inputs name are said before the binding");
	egress_release(&b);
	taken();
	/* Lines of 10 bytes, which messages hold whole. */
	for (size_t i = 0; i + 10 < sizeof(many); i += 10)
		memcpy(many + i, "a.example\n", 10);
	names = many;
	b = bind_cell(7, "one");
	is_str(taken(), "egress.names 7 60000;egress.names 7 39990;" BIND(7),
	    "in as many messages as it takes");
	egress_release(&b);
	taken();
	names = NULL;
}

static void
test_refused(void)
{
	struct egress_binding *b = bind_cell(7, "one");

	taken();
	answer(MSG_E_BOUND, 7, false);
	is_str(taken(), "failed one: no room;", "egressd says why not");
	egress_release(&b);
	is_str(taken(), "egress.unbind 7;", "it may have it bound, anyway");
}

static void
test_restart(void)
{
	struct egress_binding *one = bind_cell(1, "one"),
			      *two = bind_cell(2, "two"),
			      *three = bind_cell(3, "three");

	taken();
	answer(MSG_E_BOUND, 1, true);
	answer(MSG_E_BOUND, 3, true);
	taken();
	egress_unbind(three);
	taken();
	chan_free(&theirs);
	is_str(taken(), "", "egressd dies");
	start_egressd();
	is_str(
	    taken(), BIND(2) BIND(1), "a new one is told of those that live");
	answer(MSG_E_BOUND, 1, true);
	answer(MSG_E_BOUND, 2, true);
	is_str(taken(), "bound two;", "a run that has begun does not again");
	egress_release(&one);
	egress_release(&two);
	egress_release(&three);
	taken();
}

static void
test_absent(void)
{
	struct egress_binding *b = bind_cell(4, "one"), *c;

	taken();
	egress_lost(egress);
	is_str(taken(),
	    "failed one: egressd, the way to the network, does not keep"
	    " running;",
	    "one that waits fails when egressd does not keep running");
	c = bind_cell(5, "two");
	is_str(taken(),
	    "failed two: egressd, the way to the network, does not keep"
	    " running;",
	    "and the next one at once");
	egress_release(&b);
	egress_release(&c);
	start_egressd();
	c = bind_cell(6, "three");
	is_str(taken(), BIND(6), "until there is one again");
	egress_release(&c);
	taken();
}

int
main(void)
{
	base = event_base_new();
	egress = egress_new(base);
	egress_expect(egress);
	test_course();
	test_names();
	test_refused();
	test_restart();
	test_absent();
	egress_free(&egress);
	chan_free(&theirs);
	event_base_free(base);
	return done_testing();
}
