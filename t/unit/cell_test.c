/* The cell's table of browser flags and its reading of /proc. */
#include "cell/flags.h"
#include "cell/sandbox.h"
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

	ok(sandbox_parse_status(text, &one), "status is read");
	is_int(one.renderers, 1, "one");
	is_int(one.seccomp_mode, 2, "seccomp");
	is_int(one.ns_depth, 2, "depth");
	is_int(one.no_new_privs, 1, "no new privileges");
	ok(launch_sandbox_is_tight(&one), "tight");
	one.ns_depth = 1;
	ok(!launch_sandbox_is_tight(&one), "not in the zygote's namespace");
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		memcpy(cut, text, n);
		cut[n] = '\0';
		if (sandbox_parse_status(cut, &one))
			accepted++;
	}
	is_int(accepted, 0, "every shorter text is refused");
	ok(sandbox_parse_status(
	       "NSpid:\t12\nSeccomp:\t0\nNoNewPrivs:\t0\n", &one),
	    "unconfined is read");
	ok(!launch_sandbox_is_tight(&one), "and is not tight");
	ok(!sandbox_parse_status(
	       "NSpid:\tx\nSeccomp:\t2\nNoNewPrivs:\t1\n", &one),
	    "no number");
	ok(!sandbox_parse_status(
	       "NSpid:\t1\nSeccomp:\t999\nNoNewPrivs:\t1\n", &one),
	    "too big a number");
	memset(&one, 0, sizeof(one));
	ok(!launch_sandbox_is_tight(&one), "no renderer is not tight");
}

int
main(void)
{
	test_flags();
	test_renderer();
	test_status();
	return done_testing();
}
