/*
 * A machine that loses its power: a workload's disk operations are recorded,
 * and from any beginning of them a directory is made as the disk may hold it,
 * with what was not synced there, missing or torn. Each must open and keep its
 * promises. That this can fail is shown by leaving out one kind of sync.
 *
 * SEED repeats a sequence.
 */
#include <err.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t/torn/oracle.h"
#include "t/unit/size.h"
#include "t/unit/storage_fixture.h"

#define SUBSET 3 /* operations that are missing, or alone there */

enum kind {
	KIND_PREFIX,  /* all that was done reached the disk */
	KIND_BARE,    /* only what was synced did */
	KIND_DROPPED, /* up to three things did not */
	KIND_KEPT,    /* of what was not synced only up to three did */
	KIND_TORN_512,
	KIND_TORN_4096, /* of one write some blocks did, of others all or none */
	KIND__MAX
};
static const char *const kind_names[] = { "every prefix", "nothing unsynced",
	"up to 3 unsynced ones dropped", "up to 3 unsynced ones kept",
	"torn at 512 bytes", "torn at 4096 bytes" };

static const char *const place_names[PLACE__MAX] = { "pages of the database",
	"the database's meta page", "bytes of artifacts",
	"bytes of sessions' states", "bytes of items",
	"names of the directories", "the name of the database",
	"names of directories of artifacts", "names of artifacts",
	"names of spools", "names of sessions' states", "anything else" };

static struct disk_log disk;
static struct work work;
static struct work_rand rnd;

/* The cut of a log, and what of it may be missing there. */
struct cut {
	size_t *durable; /* per operation: the length at which it is synced */
	struct disk_image base; /* the first from operations, all durable */
	size_t from;
	size_t at;
	size_t *open; /* unsynced operations */
	size_t nopen;
};

static bool
has_effect(const struct disk_op *op)
{
	return op->kind < DISK_SYNC;
}

static bool
syncs(const struct disk_op *sync, size_t at, size_t i)
{
	const struct disk_op *op = &disk.ops[i];

	switch (sync->kind) {
	case DISK_SYNC_ALL:
		return true;
	case DISK_SYNC_ONE:
		return i + 1 == at;
	case DISK_SYNC:
		if (op->kind == DISK_WRITE || op->kind == DISK_TRUNCATE)
			return op->node == sync->node;
		return sync->node ==
		    (op->kind == DISK_RENAME ? op->to_dir : op->dir);
	default:
		return false;
	}
}

/* missing: a kind of sync that is taken to do nothing. */
static void
cut_init(struct cut *c, enum disk_place missing)
{
	*c = (struct cut){ 0 };
	c->durable = calloc(disk.count + 1, sizeof(*c->durable));
	c->open = calloc(disk.count + 1, sizeof(*c->open));
	if (c->durable == NULL || c->open == NULL)
		err(1, "cut");
	for (size_t i = 0; i < disk.count; i++) {
		size_t at = i + 1;

		while (at < disk.count &&
		    (!syncs(&disk.ops[at], at, i) ||
			(disk.ops[at].kind != DISK_SYNC_ALL &&
			    disk.ops[at].place == missing)))
			at++;
		c->durable[i] = at + 1;
	}
	image_init(&c->base, &disk);
}

static void
cut_free(struct cut *c)
{
	free(c->durable);
	free(c->open);
	image_clear(&c->base);
}

/* Cuts come in rising order. */
static void
cut_move(struct cut *c, size_t at)
{
	size_t all = at;

	c->at = at;
	while (all > c->from && disk.ops[all - 1].kind != DISK_SYNC_ALL)
		all--;
	for (; c->from < all; c->from++)
		if (has_effect(&disk.ops[c->from]))
			image_apply(&c->base, &disk.ops[c->from]);
	c->nopen = 0;
	for (size_t i = c->from; i < at; i++)
		if (has_effect(&disk.ops[i]) && c->durable[i] > at)
			c->open[c->nopen++] = i;
}

/* Which unsynced operations are there, and which one in part. */
struct choice {
	bool all; /* but for those that are named */
	size_t named[SUBSET];
	unsigned count;
	size_t torn, block;
	uint64_t keep;
};

static struct choice
choose(const struct cut *c, enum kind kind)
{
	struct choice ch = { .all = kind != KIND_BARE && kind != KIND_KEPT,
		.torn = SIZE_MAX };

	if (kind <= KIND_BARE || c->nopen == 0)
		return ch;
	ch.count = work_between(&rnd, kind < KIND_TORN_512, SUBSET);
	for (unsigned i = 0; i < ch.count; i++)
		ch.named[i] =
		    c->open[work_between(&rnd, 0, (unsigned)c->nopen - 1)];
	if (kind < KIND_TORN_512)
		return ch;
	/* The last ones are those in work. */
	ch.torn = c->open[work_between(&rnd,
	    c->nopen > 8 && work_between(&rnd, 0, 1) == 0
		? (unsigned)c->nopen - 8
		: 0,
	    (unsigned)c->nopen - 1)];
	ch.block = kind == KIND_TORN_512 ? 512 : 4096;
	ch.keep = work_random(&rnd);
	return ch;
}

static bool
chosen(const struct cut *c, const struct choice *ch, size_t i)
{
	if (c->durable[i] <= c->at)
		return true;
	for (unsigned n = 0; n < ch->count; n++)
		if (ch->named[n] == i)
			return !ch->all;
	return ch->all;
}

static void
image_make(const struct cut *c, const struct choice *ch)
{
	struct disk_image im;

	image_copy(&im, &c->base);
	for (size_t i = c->from; i < c->at; i++) {
		const struct disk_op *op = &disk.ops[i];

		if (!has_effect(op))
			continue;
		if (i == ch->torn && op->kind == DISK_WRITE)
			image_tear(&im, op, ch->block, ch->keep);
		else if (chosen(c, ch, i))
			image_apply(&im, op);
	}
	fx_new();
	image_write(&im, fx_dir);
	image_clear(&im);
}

static const char *
image_try(const struct cut *c, enum kind kind)
{
	struct choice ch = choose(c, kind);
	const char *wrong;

	image_make(c, &ch);
	wrong = oracle_check(fx_dir, &work, c->at);
	if (wrong != NULL)
		printf("# %s, cut at %zu of %zu, torn %zd: %s\n",
		    kind_names[kind], c->at, disk.count, (ssize_t)ch.torn,
		    wrong);
	return wrong;
}

/* In a process of its own: what is not synced may be anything. */
static bool
image_fails(const struct cut *c, enum kind kind)
{
	int status;
	pid_t pid;

	fflush(stdout);
	if ((pid = fork()) == -1)
		err(1, "fork");
	if (pid == 0) {
		struct choice ch = choose(c, kind);

		image_make(c, &ch);
		if (freopen("/dev/null", "w", stdout) == NULL ||
		    freopen("/dev/null", "w", stderr) == NULL)
			_exit(3);
		status = oracle_check(fx_dir, &work, c->at) != NULL;
		fx_remove();
		_exit(status);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return status != 0;
}

static void
test_images(long subsets)
{
	unsigned tried[KIND__MAX] = { 0 }, wrong[KIND__MAX] = { 0 };
	size_t most = 0, due = 0;
	struct cut c;

	cut_init(&c, PLACE__MAX);
	for (size_t at = 0; at <= disk.count; at++) {
		cut_move(&c, at);
		if (c.nopen > most)
			most = c.nopen;
		tried[KIND_PREFIX]++;
		wrong[KIND_PREFIX] += image_try(&c, KIND_PREFIX) != NULL;
		/* Spread over all cuts. */
		due += (size_t)subsets;
		for (; due >= disk.count && c.nopen > 0; due -= disk.count) {
			enum kind kind = (enum kind)work_between(
			    &rnd, KIND_BARE, KIND__MAX - 1);

			tried[kind]++;
			wrong[kind] += image_try(&c, kind) != NULL;
		}
	}
	cut_free(&c);
	figure("%zu disk operations, %zu commits, %zu states of sessions, "
	       "at most %zu operations unsynced",
	    disk.count, work.nstates, work.nversions, most);
	for (int k = 0; k < KIND__MAX; k++) {
		figure("%u images: %s", tried[k], kind_names[k]);
		ok(tried[k] > 0 && wrong[k] == 0, "%s: all promises are kept",
		    kind_names[k]);
	}
}

/* Does anything tell that one kind of sync is missing? */
static void
test_missing(enum disk_place place)
{
	unsigned tried = 0, wrong = 0, there = 0;
	size_t next = 0;
	struct cut c;

	for (size_t i = 0; i < disk.count; i++)
		there += disk.ops[i].kind != DISK_SYNC_ALL &&
		    !has_effect(&disk.ops[i]) && disk.ops[i].place == place;
	if (place == PLACE_OTHER) {
		is_int(there, 0, "no file is synced for an unknown reason");
		return;
	}
	cut_init(&c, place);
	/* Behind what was acknowledged, where losses show. */
	for (size_t at = 0; at <= disk.count && wrong == 0; at++) {
		while (next < work.nstates && work.states[next].at < at)
			next++;
		if (next == work.nstates || work.states[next].at != at)
			continue;
		cut_move(&c, at);
		tried++;
		wrong += image_fails(&c, KIND_BARE);
	}
	cut_free(&c);
	ok(there > 0 && wrong > 0,
	    "without a sync of %s (%u of them) it fails at image %u",
	    place_names[place], there, tried);
}

int
main(void)
{
	const char *text = getenv("SEED");
	unsigned long long seed = text != NULL ? strtoull(text, NULL, 10) : 1;
	static char dir[sizeof(fx_dir)];

	printf("# seed %llu\n", seed);
	if (seed == 0)
		errx(1, "SEED is a number above 0");
	rnd.x = seed;
	/* Nothing of it must last; a disk would only be in the way. */
	if (access("/dev/shm", W_OK) == 0)
		setenv("TMPDIR", "/dev/shm", 0);
	fx_new();
	strlcpy(dir, fx_dir, sizeof(dir));
	record_start(dir, &disk);
	work_run(dir, seed, (unsigned)sized("turns of the workload", 60, 600),
	    &disk, &work);
	record_stop();
	record_no_sync(true);
	test_images(sized("subsets and torn writes", 1500, 200000));
	for (int place = 0; place < PLACE__MAX; place++)
		test_missing((enum disk_place)place);
	disk_log_clear(&disk);
	return done_testing();
}
