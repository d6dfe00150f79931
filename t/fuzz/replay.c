/*
 * Runs a fuzz target without a fuzzer: on every file of its corpus, the one in
 * the tree and the one made from the tables, and on every beginning of each.
 * With arguments, on those files. A target that finds something aborts, after
 * the name of the file.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "t/fuzz/fuzz.h"
#include "t/unit/json_support.h"

/* Longer files are cut at so many places. */
#define CUTS_MAX 600

static char target[64]; /* "json" of the program json_replay */

/* A tight copy, so that a sanitizer sees a step too far. */
static void
run(const uint8_t *bytes, size_t len)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.portability.UnixAPI): of 0, too */
	uint8_t *copy = malloc(len);

	if (copy == NULL && len > 0)
		abort();
	if (len > 0)
		memcpy(copy, bytes, len);
	LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static bool
replay(const char *dir, const char *name)
{
	size_t len, step;
	uint8_t *bytes = read_file(dir, name, &len);

	if (!ok(bytes != NULL, "%s: read", name))
		return false;
	printf("# running %s/%s\n", dir, name);
	fflush(stdout);
	run(bytes, len);
	step = len / CUTS_MAX + 1;
	for (size_t cut = 0; cut < len; cut += step)
		run(bytes, cut);
	free(bytes);
	ok(true, "%s: whole and cut", name);
	return true;
}

static int
visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int
replay_all(const char *top, const char *below)
{
	struct dirent **names = NULL;
	char dir[4096];
	int n, done = 0;

	snprintf(dir, sizeof(dir), "%s/t/fuzz/%s/%s", top == NULL ? "." : top,
	    below, target);
	n = scandir(dir, &names, visible, alphasort);
	for (int i = 0; i < n; i++) {
		done += replay(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return done;
}

int
main(int argc, char **argv)
{
	int files = 0;

	strlcpy(target, program_invocation_short_name, sizeof(target));
	target[strlen(target) - strlen("_replay")] = '\0';
	for (int i = 1; i < argc; i++)
		files += replay(argv[i][0] == '/' ? "/" : ".", argv[i]);
	if (argc == 1) {
		files = replay_all(getenv("srcdir"), "corpus");
		files += replay_all(getenv("builddir"), "made");
	}
	ok(files > 0, "%s: %d files", target, files);
	return done_testing();
}
