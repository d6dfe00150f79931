/*
 * The end of a turn: one commit for all writes of the turn, company for those
 * who ask again at once, and what becomes of supervisord when the disk fails
 * within it.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include <event2/event.h>

#include "supervisord/turn.h"
#include "t/unit/storage_fixture.h"

#define META_PAGES 8192 /* both of LMDB's meta pages */

static struct event_base *base;
static bool fail_meta;
static int broken;

#define COMMIT_MS 8 /* what a commit takes by this program's clock */

static struct timespec now = { .tv_sec = 1000 };

static void
pass_ms(long ms)
{
	now.tv_nsec += ms * 1000000;
	now.tv_sec += now.tv_nsec / 1000000000;
	now.tv_nsec %= 1000000000;
}

/* These are this program's own, also for libevent and LMDB. */
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	*ts = now;
	return 0;
}

int
fdatasync(int fd)
{
	pass_ms(COMMIT_MS);
	return (int)syscall(SYS_fdatasync, fd);
}

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

static struct store *store;
static struct turn *turn;

static void
pass_turn(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

static void
test_one_commit(void)
{
	struct run_record runs[2] = { fx_run(), fx_run() };
	uint64_t commits = store_stats(store).commits;
	int results[2] = { -1, -1 };

	store_write(store, fx_insert, &runs[0], fx_done, &results[0]);
	store_write(store, fx_insert, &runs[1], fx_done, &results[1]);
	is_int(results[0], -1, "nothing is answered before the turn ends");
	event_base_dispatch(base);
	ok(results[0] == STORE_OK && results[1] == STORE_OK, "then all is");
	is_int(store_stats(store).commits, commits + 1, "by one commit");
}

static void
test_later(void)
{
	struct run_record runs[3] = { fx_run(), fx_run(), fx_run() };
	uint64_t commits = store_stats(store).commits;
	int results[3] = { -1, -1, -1 };

	store_write_later(store, fx_insert, &runs[0], fx_done, &results[0]);
	store_write_later(store, fx_insert, &runs[1], fx_done, &results[1]);
	pass_turn();
	is_int(results[0], -1, "what can wait waits after a commit");
	pass_ms(TURN_LATER_MS);
	pass_turn();
	ok(results[0] == STORE_OK && results[1] == STORE_OK, "for a while");
	is_int(store_stats(store).commits, commits + 1, "and shares the next");
	pass_ms(TURN_LATER_MS);
	store_write_later(store, fx_insert, &runs[2], fx_done, &results[2]);
	pass_turn();
	is_int(results[2], STORE_OK, "after a quiet time it does not wait");
}

struct asker {
	uint64_t mark;
	struct run_record run;
	int result;
};

static void
on_answered(void *arg, int err)
{
	struct asker *a = arg;

	a->result = err;
	turn_answered(turn, &a->mark);
}

/* As submit.c does it. */
static void
ask(struct asker *a)
{
	a->run = fx_run();
	a->result = -1;
	turn_heard(turn, &a->mark);
	if (turn_gathers(turn))
		store_write_soon(store, fx_insert, &a->run, on_answered, a);
	else
		store_write(store, fx_insert, &a->run, on_answered, a);
}

static void
test_company(void)
{
	struct run_record other = fx_run();
	struct asker a = { 0 }, b = { 0 };
	int result = -1;

	ask(&a);
	pass_turn();
	is_int(a.result, STORE_OK, "one alone does not wait");
	ask(&a);
	pass_turn();
	is_int(a.result, STORE_OK, "nor for itself");
	ask(&b);
	pass_turn();
	is_int(b.result, -1, "another one waits for the one just answered");
	ask(&a);
	is_int(a.result, -1, "which comes");
	pass_turn();
	ok(a.result == STORE_OK && b.result == STORE_OK, "and goes along");
	ask(&a);
	pass_turn();
	is_int(a.result, -1, "the next time each waits for the other");
	pass_ms(COMMIT_MS);
	pass_turn();
	is_int(a.result, STORE_OK, "but not for ever");
	ask(&a);
	ask(&b);
	pass_turn();
	ask(&b);
	pass_turn();
	is_int(b.result, -1, "waits");
	turn_heard(turn, &a.mark);
	pass_turn();
	is_int(b.result, STORE_OK, "until the other has asked or is gone");
	ask(&a);
	pass_turn();
	store_write(store, fx_insert, &other, fx_done, &result);
	pass_turn();
	ok(a.result == STORE_OK && result == STORE_OK,
	    "any other write takes along who waits");
}

#define CROWD 1200 /* more than may wait for a commit that is under way */

/* Beside the loop: whatever waits for whom, all is stored and told. */
static void
test_beside(void)
{
	static struct run_record runs[CROWD];
	int results[CROWD], bad = 0;
	uint64_t commits = store_stats(store).commits;

	is_int(store_committer_start(store), 0, "a committer is started");
	ok(turn_watch_committer(turn), "and watched");
	for (int i = 0; i < CROWD; i++) {
		runs[i] = fx_run();
		results[i] = -1;
	}
	store_write(store, fx_insert, &runs[0], fx_done, &results[0]);
	pass_turn();
	for (int i = 1; i < CROWD; i++)
		store_write(store, fx_insert, &runs[i], fx_done, &results[i]);
	while (store_pending(store))
		event_base_loop(base, EVLOOP_ONCE);
	for (int i = 0; i < CROWD; i++)
		bad += results[i] != STORE_OK;
	is_int(bad, 0, "every write is told");
	is_int((int)(store_stats(store).commits - commits), 2,
	    "what came meanwhile shares a commit");
}

static void
test_broken(void)
{
	struct run_record run = fx_run();
	int result = -1;

	fail_meta = true;
	store_write(store, fx_insert, &run, fx_done, &result);
	event_base_dispatch(base);
	is_int(result, STORE_BROKEN, "a commit that nobody can judge");
	is_int(broken, 1, "ends the process");
}

int
main(void)
{
	struct store_options opt = { .now_ms = FX_NOW,
		.on_pending = turn_on_pending,
		.on_deferred = turn_on_deferred };

	base = event_base_new();
	turn = turn_new(base, on_broken, NULL, NULL);
	opt.on_pending_arg = turn;
	fx_new();
	store = fx_open_with(&opt);
	turn_set_store(turn, store);
	test_one_commit();
	test_later();
	test_company();
	test_beside();
	test_broken();
	turn_free(&turn);
	store_free(&store);
	event_base_free(base);
	return done_testing();
}
