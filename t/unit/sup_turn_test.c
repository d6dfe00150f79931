/*
 * The end of a turn: one commit for all writes of the turn, and what becomes of
 * supervisord when the disk fails within it.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include <event2/event.h>

#include "supervisord/turn.h"
#include "t/unit/storage_fixture.h"

#define META_PAGES 8192 /* both of LMDB's meta pages */

static struct event_base *base;
static bool fail_meta;
static int broken;

/* This program's own, also for LMDB. */
ssize_t
pwrite(int fd, const void *bytes, size_t len, off_t offset)
{
	if (fail_meta && offset < META_PAGES) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pwrite64, fd, bytes, len, offset);
}

static void
on_broken(void *arg)
{
	broken++;
	event_base_loopbreak(base);
}

int
main(void)
{
	struct run_record runs[3] = { fx_run(), fx_run(), fx_run() };
	struct store_options opt = { .now_ms = FX_NOW,
		.on_pending = turn_on_pending };
	int results[3] = { -1, -1, -1 };
	struct store *s;
	struct turn *t;
	uint64_t commits;

	base = event_base_new();
	t = turn_new(base, on_broken, NULL);
	opt.on_pending_arg = t;
	fx_new();
	s = fx_open_with(&opt);
	turn_set_store(t, s);
	commits = store_stats(s).commits;
	store_write(s, fx_insert, &runs[0], fx_done, &results[0]);
	store_write(s, fx_insert, &runs[1], fx_done, &results[1]);
	is_int(results[0], -1, "nothing is answered before the turn ends");
	event_base_dispatch(base);
	ok(results[0] == STORE_OK && results[1] == STORE_OK, "then all is");
	is_int(store_stats(s).commits, commits + 1, "by one commit");
	fail_meta = true;
	store_write(s, fx_insert, &runs[2], fx_done, &results[2]);
	event_base_dispatch(base);
	is_int(results[2], STORE_BROKEN, "a commit that nobody can judge");
	is_int(broken, 1, "ends the process");
	turn_free(&t);
	store_free(&s);
	event_base_free(base);
	return done_testing();
}
