/* The cell's table of browser flags and its reading of /proc. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cell/flags.h"
#include "cell/ledger.h"
#include "cell/meter.h"
#include "cell/proc.h"
#include "cell/sandbox.h"
#include "cell/tree.h"
#include "common/cgroup.h"
#include "t/unit/tap.h"

static const char *argv[FLAGS_MAX];
static char dir_arg[LAUNCH_PATH_BYTES + 32];

static bool
has(const char *arg)
{
	for (size_t i = 0; argv[i] != NULL; i++)
		if (strcmp(argv[i], arg) == 0)
			return true;
	return false;
}

static bool
any_starts(const char *start)
{
	for (size_t i = 0; argv[i] != NULL; i++)
		if (strncmp(argv[i], start, strlen(start)) == 0)
			return true;
	return false;
}

static void
test_flags(void)
{
	static const enum launch_browser kinds[] = { LAUNCH_BROWSER_SHELL,
		LAUNCH_BROWSER_FULL };

	for (size_t k = 0; k < 2; k++)
		for (uint32_t f = 0; f <= SPAWN__ALL; f++) {
			flags_fill(kinds[k], f, "/p", dir_arg, argv);
			if (!has("--remote-debugging-pipe") ||
			    !has("--user-data-dir=/p") ||
			    any_starts("--no-sandbox") ||
			    any_starts("--disable-setuid") ||
			    any_starts("--remote-debugging-port"))
				ok(false, "kind %zu flags %u", k, f);
		}
	ok(true, "pipe, profile and sandbox in every combination");
	flags_fill(LAUNCH_BROWSER_SHELL, SPAWN_BROWSER, "/p", dir_arg, argv);
	ok(!has("--headless"), "the shell is headless by itself");
	ok(has("--site-per-process"), "sites are kept apart");
	ok(!any_starts("--blink-settings"), "images are loaded");
	flags_fill(LAUNCH_BROWSER_SHELL, SPAWN_BROWSER | SPAWN_TEXT_ONLY, "/p",
	    dir_arg, argv);
	ok(has("--blink-settings=imagesEnabled=false"), "or not");
	ok(!any_starts("--disk-cache"), "a fresh profile is in memory");
	flags_fill(LAUNCH_BROWSER_SHELL, SPAWN_BROWSER | SPAWN_KEEP, "/p",
	    dir_arg, argv);
	ok(has("--disk-cache-dir=/tmp/browsertask-cache"),
	    "of a kept one the cache is");
	flags_fill(LAUNCH_BROWSER_FULL, SPAWN_BROWSER, "/p", dir_arg, argv);
	ok(has("--headless") && has("--no-startup-window"), "full Chromium");
}

static bool
is_renderer(const char *bytes, size_t len)
{
	return sandbox_kind(bytes, len) == SANDBOX_RENDERER;
}

#define RENDERER(lit) is_renderer(lit, sizeof(lit) - 1)
#define KIND(lit)     ((int)sandbox_kind(lit, sizeof(lit) - 1))

static void
test_renderer(void)
{
	ok(RENDERER("shell\0--type=renderer\0--x\0"), "arguments");
	ok(RENDERER("shell --type=renderer --x"), "title");
	ok(RENDERER("shell --type=renderer"), "at the end");
	ok(!RENDERER("shell --type=renderer2"), "longer word");
	ok(!RENDERER("shell --x--type=renderer"), "inside a word");
	ok(!RENDERER("shell --type=zygote"), "another process");
	ok(!RENDERER("shell --type=rendere"), "cut off");
	ok(!RENDERER(""), "nothing");
	is_int(KIND("shell\0--type=gpu-process\0"), SANDBOX_GPU, "GPU");
	is_int(KIND("chromium --type=utility --x"), SANDBOX_UTILITY, "utility");
	is_int(KIND("chromium --type=ppapi"), SANDBOX_UTILITY, "any other");
	is_int(KIND("chromium --type="), SANDBOX_UTILITY, "without a name");
	is_int(KIND("shell\0--type=zygote\0"), SANDBOX_ZYGOTE, "zygote");
	is_int(KIND("shell --type=broker"), SANDBOX_ZYGOTE, "broker");
	is_int(KIND("chromium --headless"), SANDBOX_NONE, "the browser itself");
}

static void
test_status(void)
{
	static const char text[] = "Name:\tx\nNSpid:\t12\t3\t1\nSeccomp:\t2\n"
				   "Seccomp_filters:\t1\nNoNewPrivs:\t1\n";
	struct launch_sandbox one = { 0 };
	char cut[sizeof(text)];
	int accepted = 0;

	ok(sandbox_parse_status(text, 0, &one), "status is read");
	is_int(one.renderers, 1, "one");
	is_int(one.seccomp_mode, 2, "seccomp");
	is_int(one.ns_depth, 2, "depth");
	is_int(one.no_new_privs, 1, "no new privileges");
	ok(launch_sandbox_is_tight(&one, true), "tight");
	ok(sandbox_parse_status(text, 1, &one) && one.seccomp_mode == 0,
	    "an inherited filter is none");
	ok(!launch_sandbox_is_tight(&one, true), "and not tight");
	ok(launch_sandbox_is_tight(&one, false), "unless filters are waived");
	ok(sandbox_parse_status(text, 0, &one), "again");
	one.others_mode = 0;
	ok(!launch_sandbox_is_tight(&one, true),
	    "nor beside a bare GPU process");
	ok(launch_sandbox_is_tight(&one, false), "unless filters are waived");
	one.others_mode = 2;
	one.ns_depth = 1;
	ok(!launch_sandbox_is_tight(&one, true),
	    "not in the zygote's namespace");
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		memcpy(cut, text, n);
		cut[n] = '\0';
		if (sandbox_parse_status(cut, 0, &one))
			accepted++;
	}
	is_int(accepted, 0, "every shorter text is refused");
	ok(sandbox_parse_status("NSpid:\t12\nSeccomp:\t0\nSeccomp_filters:\t0\n"
				"NoNewPrivs:\t0\n",
	       0, &one),
	    "unconfined is read");
	ok(!launch_sandbox_is_tight(&one, true), "and is not tight");
	ok(!launch_sandbox_is_tight(&one, false), "nor that without filters");
	ok(!sandbox_parse_status("NSpid:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"
				 "NoNewPrivs:\t1\n",
	       0, &one),
	    "no number");
	ok(!sandbox_parse_status(
	       "NSpid:\t1\nSeccomp:\t999\nSeccomp_filters:\t1\n"
	       "NoNewPrivs:\t1\n",
	       0, &one),
	    "too big a number");
	memset(&one, 0, sizeof(one));
	ok(!launch_sandbox_is_tight(&one, true), "no renderer is not tight");
}

/* The name is the process's own choice, and may look like what follows it. */
static void
test_stat(void)
{
	static const char text[] =
	    "17 (a) R 1 2) S 1 17 17 0 -1 4194560 900 0 0 0 12 30 400 "
	    "5000 20 0 9 0 7338 2 3 18446744073709551615\n";
	struct proc_use use = { 0 };
	char cut[sizeof(text)];
	int accepted = 0;

	ok(proc_parse_stat(text, &use), "stat is read");
	is_int((long long)use.ticks, 42, "time");
	is_int((long long)use.waited, 5400, "that of children");
	is_int((long long)use.started, 7338, "when it began");
	ok(!use.running, "it sleeps");
	is_int(use.threads, 9, "threads");
	for (size_t n = 0; n < strlen("17 (a) R 1 2) S 1 17 17 0 -1 4194560 "
				      "900 0 0 0 12 30 400 5000 20 0 9 0 7338");
	     n++) {
		memcpy(cut, text, n);
		cut[n] = '\0';
		if (proc_parse_stat(cut, &use))
			accepted++;
	}
	is_int(accepted, 0, "nothing that was cut off");
	ok(!proc_parse_stat("1 (a) S x", &use), "no number");
	ok(!proc_parse_stat("1 (a) S 1 1 1 0 -1 1 1 0 0 0 9223372036854775807 "
			    "9223372036854775807 1 1 20 0 9 0 1\n",
	       &use),
	    "more time than can be");
	ok(!proc_parse_stat("1 (a)", &use) && !proc_parse_stat("", &use),
	    "nothing behind the name");
}

static void
test_memory(void)
{
	struct proc_use use = { 0 };

	ok(proc_parse_status("Name:\tRssAnon: 7 kB\nState:\tS (sleeping)\n"
			     "RssAnon:\t    1024 kB\nVmSwap:\t   1 kB\n",
	       &use),
	    "status is read");
	is_int((long long)use.memory, 1025 * 1024, "in memory and swapped out");
	ok(proc_parse_status("Name:\tx\nState:\tZ (zombie)\n", &use),
	    "of one that ended");
	is_int((long long)use.memory, 0, "it has none");
	ok(!proc_parse_status("State:\tS\nRssAnon:\t1024", &use), "cut off");
	ok(!proc_parse_status("State:\tS\nRssAnon:\tx kB\n", &use),
	    "no number");
	ok(!proc_parse_status("", &use), "nothing");
}

static void
make_file(const char *path, off_t size)
{
	static const char bytes[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (off_t n = 0; n < size; n += (off_t)sizeof(bytes))
		if (write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
			abort();
	close(fd);
}

static void
test_tree(void)
{
	char dir[] = "/tmp/bt-tree-XXXXXX";
	uint64_t few, more;

	if (mkdtemp(dir) == NULL || chdir(dir) == -1)
		abort();
	few = tree_bytes(dir, UINT64_MAX);
	ok(few == 0, "nothing in it");
	make_file("a", 0);
	if (mkdir("b", 0700) == -1 || symlink("/usr", "b/usr") == -1 ||
	    symlink("..", "b/up") == -1)
		abort();
	few = tree_bytes(dir, UINT64_MAX);
	ok(few == 4 * 4096, "each is a page, links lead nowhere: %llu",
	    (unsigned long long)few);
	make_file("b/c", 1 << 20);
	more = tree_bytes(dir, UINT64_MAX);
	ok(more >= few + (1 << 20) && more < few + (2 << 20),
	    "and what is in it: %llu", (unsigned long long)more);
	ok(tree_bytes(dir, 4096) <= more && tree_bytes(dir, 4096) > 4096,
	    "no more than is asked is counted");
	ok(tree_bytes("nowhere", 1) == 0, "nothing where nothing is");
	unlink("b/c");
	unlink("b/up");
	unlink("b/usr");
	rmdir("b");
	unlink("a");
	if (chdir("/") == -1 || rmdir(dir) == -1)
		abort();
}

/* Looks come at random times. */
static bool
is_about(int ms, int about)
{
	return ms >= about / 2 && ms <= about + about / 2 + 1;
}

struct seen {
	uint32_t pid;
	uint64_t started, ticks, waited;
	bool running;
};

static uint64_t
look(struct ledger *l, uint64_t step, uint64_t machine, const struct seen *s)
{
	ledger_begin(l, step, machine);
	for (; s->pid != 0; s++)
		ledger_add(l, s->pid,
		    &(struct proc_use){ .ticks = s->ticks,
			.waited = s->waited,
			.started = s->started,
			.running = s->running });
	return ledger_end(l);
}

#define LOOK(step, machine, ...) \
	(long long)look(         \
	    &l, step, machine, (const struct seen[]){ __VA_ARGS__, { 0 } })

static void
test_ledger(void)
{
	struct ledger l = { 0 };

	is_int(LOOK(100, 1000, { 1, 5, 10, 0, 0 }, { 7, 6, 50, 0, 1 }), 60,
	    "what is there");
	is_int(LOOK(100, 1100, { 1, 5, 11, 0, 0 }, { 7, 6, 150, 0, 1 }), 161,
	    "what it uses");
	is_int(LOOK(100, 1200, { 1, 5, 11, 155, 0 }), 166,
	    "waited for, it is its parent's");
	is_int(LOOK(100, 1300, { 1, 5, 11, 155, 0 }, { 9, 1201, 40, 0, 1 }),
	    206, "another one");
	is_int(LOOK(100, 1400, { 1, 5, 11, 155, 0 }, { 9, 1201, 140, 0, 1 }),
	    306, "goes on");
	/* What five ticks of the first were not seen is its credit here. */
	is_int(LOOK(100, 1500, { 1, 5, 11, 155, 0 }), 301,
	    "not waited for, what was seen of it stays");
	is_int(LOOK(100, 1600, { 1, 5, 11, 155, 0 }, { 9, 1595, 4, 0, 1 }), 305,
	    "another process with its number");
	is_int(LOOK(100, 1700, { 1, 5, 11, 155, 0 }, { 10, 1699, 0, 0, 1 }),
	    401, "seen once and running it stands for a whole step");
	is_int(LOOK(100, 1800, { 1, 5, 11, 155, 0 }, { 11, 1790, 2, 0, 0 }),
	    503, "and so does the next");
	is_int(LOOK(100, 1900, { 1, 5, 11, 155, 0 }), 521,
	    "one that slept for its part of the time");
	is_int(LOOK(100, 2000, { 1, 5, 11, 155, 0 }), 521, "then no more");
	ledger_free(&l);
}

/* Short-lived processes that are waited for are not counted twice. */
static void
test_ledger_waited(void)
{
	struct ledger l = { 0 };
	uint64_t sum = 0, waited = 0;

	for (uint64_t n = 1; n <= 1000; n++) {
		struct seen s[] = { { 1, 1, 0, waited, 0 },
			{ (uint32_t)n + 1, n * 100, 0, 0, n % 2 == 0 }, { 0 } };

		/* One runs for half of the time, and is met by every other. */
		sum = look(&l, 100, n * 100 + 7, s);
		waited += 50;
	}
	ok(sum >= 49900 && sum < 50500, "50000 ticks are counted as %llu",
	    (unsigned long long)sum);
	ledger_free(&l);
}

/* In place of relief.c, which would end what is not this test's. */
static bool relief_helps;

bool
relief_seek(struct relief *r, uint64_t limit, int64_t now_ms)
{
	return relief_helps;
}

/* This process and those beside it as if they were a cell's. */
static void
test_meter(void)
{
	struct launch_start start = { .flags = SPAWN_BROWSER,
		.profile_dir = "/nowhere",
		.limits = { INT64_MAX, INT64_MAX, 0, UINT32_MAX, 0 } };
	struct launch_breach over = { 0 };
	struct launch_usage usage = { 0 };
	struct meter m;

	meter_init(&m, &start, 5000);
	ok(is_about(meter_wait(&m, 5000), 1000),
	    "the first look is not at once");
	is_int(meter_wait(&m, 6500), 0, "but comes");
	ok(!meter_look(&m, 6000, &over), "nothing is passed");
	ok(is_about(meter_wait(&m, 6000), 1000), "the next is as far");
	ok(meter_news(&m, &usage) && usage.memory > 0 && usage.processes > 0,
	    "what it saw");
	start.limits.memory = 1;
	relief_helps = true;
	ok(!meter_look(&m, 6500, &over), "a renderer is ended, not the cell");
	relief_helps = false;
	ok(meter_look(&m, 7000, &over), "a limit is passed");
	ok(over.which == LAUNCH_OVER_MEMORY && over.limit == 1 &&
		over.value > 1,
	    "which, and by how much");
	ok(is_about(meter_wait(&m, 7000), 100),
	    "close to it looks are frequent");
	start.grouped = 1;
	ok(!meter_look(&m, 8000, &over), "a group would see to that");
	start.limits.cpu_ms = 1;
	meter_begin(&m);
	ok(!meter_look(&m, 9000, &over) || over.value < 1000,
	    "time counts from the begin of the worker");
	ledger_free(&m.ledger);
	start.flags = SPAWN_DESCRIBE;
	meter_init(&m, &start, 5000);
	is_int(meter_wait(&m, 60000), -1, "never without a browser");
}

static void
burn_ms(long ms)
{
	struct timespec used;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while (used.tv_sec == 0 && used.tv_nsec < ms * 1000000);
}

/* In a group: children that nobody waits for, then a look. Exits. */
static _Noreturn void
use_in_group(int dir)
{
	struct launch_start start = { .flags = SPAWN_BROWSER,
		.profile_dir = "/nowhere",
		.grouped = 1,
		.limits = { INT64_MAX, INT64_MAX, 100, UINT32_MAX, 0 } };
	struct launch_breach over = { 0 };
	int fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	struct meter m;

	if (fd == -1 || write(fd, "0", 1) != 1)
		_exit(2);
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 3; i++) {
		if (fork() == 0) {
			burn_ms(60);
			_exit(0);
		}
		wait(NULL);
	}
	meter_init(&m, &start, 5000);
	_exit(meter_look(&m, 6000, &over) && over.which == LAUNCH_OVER_CPU &&
		    over.value >= 170 && over.value < 60000
		? 0
		: 1);
}

/* With a control group nobody hides. */
static void
test_group(void)
{
	static const char name[] = "bt-cell-test";
	int own = cgroup_open_own(), dir = -1, status = 0;
	pid_t pid;

	if (own != -1 && mkdirat(own, name, 0755) == 0)
		dir = openat(own, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1) {
		tap_skip("time of a group", "no group can be made here");
		return;
	}
	pid = fork();
	if (pid == 0)
		use_in_group(dir);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		tap_skip("time of a group", "nobody can be put into one");
	else
		is_int(status, 0, "time of a group, with what is gone");
	unlinkat(own, name, AT_REMOVEDIR);
	close(dir);
	close(own);
}

/* A profile that has no file system of its own is not the disk it is on. */
static void
test_stored(void)
{
	char dir[] = "/tmp/bt-stored-XXXXXX";
	struct launch_start start = { .flags = SPAWN_BROWSER,
		.limits = { INT64_MAX, INT64_MAX, 0, UINT32_MAX, 0 } };
	struct launch_breach over = { 0 };
	struct meter m;

	if (mkdtemp(dir) == NULL)
		abort();
	strlcpy(start.profile_dir, dir, sizeof(start.profile_dir));
	meter_init(&m, &start, 5000);
	ok(!meter_look(&m, 6000, &over) && m.stored == 0, "an empty profile");
	ledger_free(&m.ledger);
	rmdir(dir);
	strlcpy(start.profile_dir, "/proc", sizeof(start.profile_dir));
	start.in_memory = 1;
	meter_init(&m, &start, 5000);
	ok(!meter_look(&m, 6000, &over) && m.stored == 0,
	    "one in memory is what its file system holds");
	ledger_free(&m.ledger);
}

int
main(void)
{
	test_flags();
	test_renderer();
	test_status();
	test_stat();
	test_memory();
	test_tree();
	test_ledger();
	test_ledger_waited();
	test_meter();
	test_group();
	test_stored();
	return done_testing();
}
