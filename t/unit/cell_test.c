/* The cell's table of browser flags and its reading of /proc. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cell/flags.h"
#include "cell/meter.h"
#include "cell/proc.h"
#include "cell/sandbox.h"
#include "cell/tree.h"
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
	return sandbox_is_renderer(bytes, len);
}

#define RENDERER(lit) is_renderer(lit, sizeof(lit) - 1)

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
	ok(launch_sandbox_is_tight(&one), "tight");
	ok(sandbox_parse_status(text, 1, &one) && one.seccomp_mode == 0,
	    "an inherited filter is none");
	ok(!launch_sandbox_is_tight(&one), "and not tight");
	ok(sandbox_parse_status(text, 0, &one), "again");
	one.ns_depth = 1;
	ok(!launch_sandbox_is_tight(&one), "not in the zygote's namespace");
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
	ok(!launch_sandbox_is_tight(&one), "and is not tight");
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
	ok(!launch_sandbox_is_tight(&one), "no renderer is not tight");
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
	is_int((long long)use.ticks, 5442, "time, with that of children");
	is_int(use.threads, 9, "threads");
	for (size_t n = 0; n < strlen("17 (a) R 1 2) S 1 17 17 0 -1 4194560 "
				      "900 0 0 0 12 30 400 5000 20 0 9");
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
	is_int(meter_wait(&m, 5000), 1000, "the first look is not at once");
	is_int(meter_wait(&m, 6000), 0, "but comes");
	ok(!meter_look(&m, 6000, &over), "nothing is passed");
	is_int(meter_wait(&m, 6000), 1000, "the next is as far");
	ok(meter_news(&m, &usage) && usage.memory > 0 && usage.processes > 0,
	    "what it saw");
	start.limits.memory = 1;
	ok(meter_look(&m, 7000, &over), "a limit is passed");
	ok(over.which == LAUNCH_OVER_MEMORY && over.limit == 1 &&
		over.value > 1,
	    "which, and by how much");
	is_int(meter_wait(&m, 7000), 100, "close to it looks are frequent");
	start.grouped = 1;
	ok(!meter_look(&m, 8000, &over), "a group would see to that");
	start.limits.cpu_ms = 1;
	meter_begin(&m);
	ok(!meter_look(&m, 9000, &over) || over.value < 1000,
	    "time counts from the begin of the worker");
	start.flags = SPAWN_DESCRIBE;
	meter_init(&m, &start, 5000);
	is_int(meter_wait(&m, 60000), -1, "never without a browser");
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
	rmdir(dir);
	strlcpy(start.profile_dir, "/proc", sizeof(start.profile_dir));
	start.in_memory = 1;
	meter_init(&m, &start, 5000);
	ok(!meter_look(&m, 6000, &over) && m.stored == 0,
	    "one in memory is what its file system holds");
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
	test_meter();
	test_stored();
	return done_testing();
}
