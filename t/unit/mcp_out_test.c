/*
 * The adapter's way out when memory is short: a line that somebody waits for is
 * never lost in silence. t/faults/shim.c refuses the calls.
 */
#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "mcp/out.h"
#include "t/faults/shim.h"
#include "t/unit/tap.h"

struct seen {
	int changes, broken;
};

static struct event_base *base;

static void
turn(void)
{
	for (int i = 0; i < 6; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
on_change(void *ctx)
{
	((struct seen *)ctx)->changes++;
}

static void
on_broken(void *ctx)
{
	((struct seen *)ctx)->broken++;
}

static const struct out_ops ops = { on_change, on_broken };

/* Whether a refused call of the kind breaks it, once and from the loop. */
static void
test_refused(enum fault kind, const char *name)
{
	struct control *control = fault_control();
	struct seen s = { 0 };
	struct out *o;
	int fds[2];

	if ((control->lacks >> kind & 1) != 0) {
		tap_skip(name, "a sanitizer has these calls for itself");
		return;
	}
	if (pipe(fds) == -1)
		_exit(1);
	o = out_new(base, fds[1], &ops, &s);
	control->kind = (uint32_t)kind;
	control->for_ever = true;
	control->seen = 0;
	control->nth = 1;
	ok(!out_line(o, "a line", 6), "%s: a line finds no memory", name);
	is_int(s.broken, 0, "its writer does not see the end");
	control->nth = 0;
	turn();
	is_int(s.broken, 1, "it comes from the loop");
	out_free(&o);
	close(fds[0]);
	close(fds[1]);
}

static void
test_break(void)
{
	struct seen s = { 0 };
	struct out *o;
	char line[16];
	int fds[2];

	if (pipe(fds) == -1)
		_exit(1);
	o = out_new(base, fds[1], &ops, &s);
	ok(out_line(o, "a line", 6), "a line");
	turn();
	is_int(read(fds[0], line, sizeof(line)), 7, "is written");
	is_int(s.broken, 0, "and nothing is broken");
	out_break(o);
	is_int(s.broken, 0, "a line that cannot be made: not at once");
	turn();
	is_int(s.broken, 1, "but from the loop");
	out_free(&o);
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	test_break();
	test_refused(FAULT_malloc, "malloc");
	test_refused(FAULT_epoll, "epoll_ctl");
	event_base_free(base);
	return done_testing();
}
