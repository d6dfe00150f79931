/*
 * A browser whose worker is killed in the middle of a message, and the next
 * worker, with the real browser: its tab, its dialogs, its storage.
 */
#include <sys/wait.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "common/clock.h"
#include "visit.h"

#define ROUNDS 5

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	free(visit.json);
	visit.json = NULL;
	visit.json_len = r->result.len;
	if (r->status == CDP_OK)
		visit.json =
		    strndup((const char *)r->result.ptr, r->result.len);
	visit.done = true;
}

/* A command to the browser itself; the answer is in visit.json. */
static void
command(const char *method, const char *params)
{
	struct iovec iov = { (void *)(uintptr_t)params, strlen(params) };

	cdp_call(browser_cdp(visit.browser), NULL, method, &iov, 1, 5000,
	    on_reply, NULL);
	visit_wait();
}

static int
count_pages(void)
{
	const char *at;
	int n = 0;

	command("Target.getTargets", "{}");
	for (at = visit.json;
	     at != NULL && (at = strstr(at, "\"type\":\"page\"")); at++)
		n++;
	return n;
}

/* The browser takes its time to end a page that does not help. */
static int
count_soon(int wanted)
{
	int64_t until = clock_mono_ms() + 10000;
	int n;

	do
		n = count_pages();
	while (n != wanted && clock_mono_ms() < until);
	return n;
}

static void
raw_write(const char *text, size_t len)
{
	if (write(visit.chrome.write_fd, text, len) != (ssize_t)len)
		_exit(3);
}

/*
 * Has the browser write 3 MB, reads a part of it, writes a part of a command,
 * and is gone.
 */
static _Noreturn void
die_in_the_middle(int round)
{
	static const char ask[] =
	    "{\"id\":999999,\"method\":\"Target.getTargets\",\"params\":{}}";
	static char waste[70000];
	struct pollfd pfd = { visit.chrome.read_fd, POLLIN, 0 };

	for (int i = 0; i < 3000; i++)
		raw_write(ask, sizeof(ask));
	(void)poll(&pfd, 1, 10000);
	if (read(visit.chrome.read_fd, waste,
		(size_t)round * 13001 % sizeof(waste) + 1) <= 0)
		_exit(3);
	raw_write(ask, (size_t)round * 17 % (sizeof(ask) - 1));
	(void)raise(SIGKILL);
	_exit(4);
}

/* A worker that opens tabs, leaves one of them last, and dies. */
static _Noreturn void
worker(int round)
{
	char source[256], path[32];
	struct page *first, *old;

	visit_attach((uint32_t)round * 2);
	first = browser_take_tab(visit.browser);
	if (first == NULL)
		first = visit_open();
	old = visit_open();
	if (first == NULL || old == NULL)
		_exit(1);
	snprintf(path, sizeof(path), "/corpus/%d", round + 1);
	snprintf(source, sizeof(source),
	    "() => { sessionStorage.n = (sessionStorage.n ?? '') + %d;"
	    " document.cookie = 'r%d=1'; localStorage.l = 'l'; return 1 }",
	    round, round);
	if (visit_go(old, "/corpus/9", 0) != PAGE_OK ||
	    visit_go(first, path, 0) != PAGE_OK ||
	    visit_eval(first, source, NULL, 0) != PAGE_OK)
		_exit(2);
	if (round == 1) {
		/* A dialog that nobody answers, and a request that is held. */
		visit_eval(first,
		    "() => { const s = document.createElement('script');"
		    " s.textContent = \"fetch('/corpus/1');"
		    " setTimeout(() => alert(1), 0)\";"
		    " document.head.append(s); return 1 }",
		    NULL, 0);
	}
	die_in_the_middle(round);
}

static void
test_round(int round)
{
	char want[32];
	struct page *p;
	int64_t from;
	int status;
	pid_t pid = fork();

	if (pid == 0)
		worker(round);
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "round %d: a worker dies", round);
	from = clock_mono_ms();
	visit_attach((uint32_t)round * 2 + 1);
	ok(visit.ready, "the next one is answered");
	printf("# %d ms\n", (int)(clock_mono_ms() - from));
	p = browser_take_tab(visit.browser);
	ok(p != NULL && page_is_open(p), "and has a tab");
	if (p == NULL)
		return;
	visit_eval(p, "() => location.pathname", NULL, 0);
	snprintf(want, sizeof(want), "\"/corpus/%d\"", round + 1);
	is_str(visit.json, want, "the one that was used last");
	visit_eval(p, "() => sessionStorage.n", NULL, 0);
	snprintf(want, sizeof(want), "\"%.*s\"", round + 1, "01234");
	is_str(visit.json, want, "with what it knew");
	visit_eval(p,
	    "() => document.cookie.split('; ').filter(c => /^r\\d=1$/.test(c))"
	    ".length",
	    NULL, 0);
	snprintf(want, sizeof(want), "%d", round + 1);
	is_str(visit.json, want, "and the cookies of all workers");
	is_int(count_soon(1), 1, "it is the only one");
	is_int(visit_go(p, "/corpus/7", 0), PAGE_OK, "it goes on");
	visit_drop();
}

/* A tab whose script never ends is no tab to go on in. */
static void
test_hung(void)
{
	struct page *p;
	pid_t pid = fork();

	if (pid == 0) {
		visit_attach(100);
		p = browser_take_tab(visit.browser);
		if (p == NULL || visit_go(p, "/corpus/1", 0) != PAGE_OK)
			_exit(1);
		page_eval(p, "() => { for (;;) ; }", 20, NULL, 0, 60000,
		    visit_on_result, NULL);
		for (int i = 0; i < 20; i++)
			event_base_loop(visit.base, EVLOOP_NONBLOCK);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	visit_attach(101);
	ok(visit.ready, "a browser whose page hangs answers");
	ok(browser_take_tab(visit.browser) == NULL, "but has no tab to offer");
	p = visit_open();
	ok(p != NULL && visit_go(p, "/corpus/1", 0) == PAGE_OK,
	    "a new one works");
	is_int(count_soon(1), 1, "the other is closed");
	visit_drop();
}

/* A tab whose script takes its time answers after it, and is gone on in. */
static void
test_busy(void)
{
	static const char busy[] = "() => { const end = Date.now() + 3000;"
				   " while (Date.now() < end) ; }";
	struct page *p;
	pid_t pid = fork();
	int64_t was;
	int status = -1;

	if (pid == 0) {
		visit_attach(110);
		p = browser_take_tab(visit.browser);
		if (p == NULL || visit_go(p, "/corpus/3", 0) != PAGE_OK ||
		    visit_eval(p,
			"() => { sessionStorage.busy = 'mine'; return 1 }",
			NULL, 0) != PAGE_OK)
			_exit(1);
		page_eval(p, busy, sizeof(busy) - 1, NULL, 0, 60000,
		    visit_on_result, NULL);
		for (int i = 0; i < 20; i++)
			event_base_loop(visit.base, EVLOOP_NONBLOCK);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "a worker leaves a busy page");
	was = clock_mono_ms();
	visit_attach(111);
	printf(
	    "# taken over after %lld ms\n", (long long)(clock_mono_ms() - was));
	p = browser_take_tab(visit.browser);
	ok(p != NULL, "a page that is busy for three seconds is waited for");
	if (p != NULL)
		visit_eval(p, "() => sessionStorage.busy", NULL, 0);
	is_str(visit.json == NULL ? "" : visit.json, "\"mine\"",
	    "with what it holds");
	visit_drop();
}

static void
test_leave(void)
{
	struct page *p;

	visit_attach(200);
	p = browser_take_tab(visit.browser);
	ok(p != NULL && visit_go(p, "/corpus/1", 0) == PAGE_OK, "a tab");
	browser_leave(visit.browser);
	visit_eval(
	    p, "() => fetch('/corpus/2').then(r => r.status)", NULL, 5000);
	is_str(visit.json, "200", "requests of one that was left are free");
	visit_drop();
	visit_attach(201);
	p = browser_take_tab(visit.browser);
	ok(p != NULL && visit_go(p, "/fetch-xhr", 0) == PAGE_OK,
	    "the next worker goes on in it");
	visit_drop();
}

static void
test_silent(void)
{
	kill(-visit.chrome.pid, SIGSTOP);
	visit_attach(300);
	ok(!visit.ready, "a browser that stands still is given up");
	visit_drop();
	kill(-visit.chrome.pid, SIGCONT);
	visit_attach(301);
	ok(visit.ready, "when it goes on, so does the next worker");
	visit_drop();
	kill(-visit.chrome.pid, SIGKILL);
	visit_attach(302);
	ok(!visit.ready, "one that is dead is given up");
	visit_drop();
}

int
main(void)
{
	const char *why = "";

	if (!visit_launch(LIVE_SHELL, NULL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	for (int i = 0; i < ROUNDS; i++)
		test_round(i);
	test_leave();
	test_hung();
	test_busy();
	test_silent();
	visit_stop();
	return done_testing();
}
