/*
 * Runs a fuzz target without a fuzzer: on every file of its corpus, the one in
 * the tree and the one made from the tables, on every beginning of each, and on
 * as many changed ones as the size says, others each time at full size (SEED
 * repeats them). With arguments, on those files. A target that finds something
 * aborts, after the name of the file; a changed one is then in
 * t/fuzz/found-TARGET of the build directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "t/fuzz/fuzz.h"
#include "t/fuzz/mutate.h"
#include "t/unit/json_support.h"
#include "t/unit/size.h"

/* Longer files are cut at so many places, and changed up to there. */
#define CUTS_MAX   600
#define MUTANT_MAX 4096
#define FILES_MAX  1000
#define RANDOM     UINT64_C(88172645463325252) /* at SEED=1 */
/*
 * What changed inputs may add to what the program takes: the longest text that
 * is made of one is indented, at each byte, as deep as JSON can be, in a buffer
 * that doubles. What is lost of each input adds up to more.
 */
#define GROWTH_KIB_MAX (2 * MUTANT_MAX * JSON_DEPTH_MAX / 1024)
#if defined(__SANITIZE_ADDRESS__)
#define KEEPS_FREED true
#elif defined(__has_feature)
#define KEEPS_FREED __has_feature(address_sanitizer)
#else
#define KEEPS_FREED false
#endif

static char target[64]; /* "json" of the program json_replay */
static struct mutate_seed files[FILES_MAX];
static size_t nfiles;
static uint8_t mutant[MUTANT_MAX];
static size_t mutant_len;
static char found[4096];

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

/* Beginnings of what is in the corpus, to be changed. */
static void
keep(const char *dir, const char *name)
{
	struct mutate_seed *f = &files[nfiles];

	if (nfiles == FILES_MAX)
		return;
	f->bytes = read_file(dir, name, &f->len);
	if (f->bytes == NULL)
		return;
	if (f->len > MUTANT_MAX)
		f->len = MUTANT_MAX;
	nfiles++;
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
	char dir[3072];
	int n, done = 0;

	snprintf(dir, sizeof(dir), "%s/t/fuzz/%s/%s", top == NULL ? "." : top,
	    below, target);
	n = scandir(dir, &names, visible, alphasort);
	for (int i = 0; i < n; i++) {
		done += replay(dir, names[i]->d_name);
		keep(dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return done;
}

/* A finding: what was tried last is kept. */
static void
on_abort(int sig)
{
	int fd = open(found, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd == -1 || write(fd, mutant, mutant_len) == -1)
		_exit(99);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* The most memory that the program has had; -1 where nobody knows. */
static long
peak_kib(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (f != NULL && kib == -1 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtol(line + 6, NULL, 10);
	if (f != NULL)
		fclose(f);
	return kib;
}

static void
check_growth(long before, long count)
{
	static const char name[] = "memory has a bound";
	long after = peak_kib();

	if (KEEPS_FREED) {
		tap_skip(name, "a sanitizer keeps what was freed");
		return;
	}
	figure("%ld changed inputs, %ld KiB of memory, %ld more than before",
	    count, after, after - before);
	ok(before > 0 && after - before <= GROWTH_KIB_MAX, "%s", name);
}

static void
mutate_all(const char *top)
{
	static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL };
	long count = sized("changed inputs", 10000, 200000);
	struct mutate m = { .state = RANDOM * seeded() };
	long before = peak_kib();

	snprintf(found, sizeof(found), "%s/t/fuzz/found-%s",
	    top == NULL ? "." : top, target);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_abort);
	for (long n = 0; n < count; n++) {
		mutant_len = mutate(&m, files, nfiles, mutant, MUTANT_MAX);
		run(mutant, mutant_len);
	}
	check_growth(before, count);
	while (nfiles > 0)
		free(files[--nfiles].bytes);
}

int
main(int argc, char **argv)
{
	int done = 0;

	strlcpy(target, program_invocation_short_name, sizeof(target));
	target[strlen(target) - strlen("_replay")] = '\0';
	for (int i = 1; i < argc; i++)
		done += replay(argv[i][0] == '/' ? "/" : ".", argv[i]);
	if (argc == 1) {
		done = replay_all(getenv("srcdir"), "corpus");
		done += replay_all(getenv("builddir"), "made");
	}
	ok(done > 0, "%s: %d files", target, done);
	if (nfiles > 0)
		mutate_all(getenv("builddir"));
	return done_testing();
}
