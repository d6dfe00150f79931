/*
 * Unit test of storage/: a process that commits as fast as it can is killed
 * with SIGKILL, 20 times, on one store. Nothing it acknowledged may be missing,
 * nor may the store be half of anything. (What a power cut does to unsynced
 * pages is not tested by this.)
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "storage/event.h"
#include "storage/spool.h"
#include "storage/sweep.h"
#include "t/unit/storage_fixture.h"

#define ROUNDS     20
#define FILE_BYTES 20000

struct unit {
	struct run_record run;
	struct artifact_row artifact;
	struct journal_row item;
};

static uint8_t page[FILE_BYTES];

static int
unit_write(struct store_txn *txn, void *arg)
{
	struct event_row e = { .kind = EVENT_RUN_CREATED };
	struct unit *u = arg;
	uint64_t seq;
	int rc;

	if ((rc = run_insert(txn, &u->run)) != STORE_OK ||
	    (rc = artifact_insert(txn, &u->artifact, NULL)) != STORE_OK ||
	    (rc = event_append(txn, &u->run.id, &e, &seq)) != STORE_OK)
		return rc;
	return journal_insert(txn, &u->run.id, &u->item);
}

static void
unit_make(struct store *s, struct unit *u, struct spool **ret_spool,
    struct artifact_writer **ret_writer)
{
	struct artifact_writer *w;
	const void *bytes;

	memset(u, 0, sizeof(*u));
	u->run = fx_run();
	/* The artifact has its run's id, so that an id names all of a unit. */
	u->artifact.run = u->run.id;
	u->item.nextents = 1;
	if (artifact_writer_new(s, &u->run.id, FILE_BYTES, &w) != STORE_OK ||
	    artifact_writer_append(w, page, FILE_BYTES) != STORE_OK ||
	    artifact_writer_finish(w, &u->artifact, &bytes) != STORE_OK ||
	    spool_open(s, &u->run.id, 0, FILE_BYTES, ret_spool) != STORE_OK ||
	    spool_append(*ret_spool, page, 3000, &u->item.extents[0]) !=
		STORE_OK)
		errx(1, "unit");
	*ret_writer = w;
}

/* Commits units and writes the id of each one to fd, until it is killed. */
static int
child(const char *dir, int fd)
{
	struct artifact_writer *w;
	struct spool *sp;
	struct unit u;
	struct store *s;

	strlcpy(fx_dir, dir, sizeof(fx_dir));
	s = fx_open();
	for (;;) {
		unit_make(s, &u, &sp, &w);
		if (fx_write(s, unit_write, &u) != STORE_OK)
			return 2;
		artifact_writer_free(&w);
		spool_free(&sp);
		if (write(fd, &u.run.id, ULID_BYTES) != ULID_BYTES)
			return 3;
	}
}

static pid_t
child_start(const char *self, int *ret_fd)
{
	char number[16];
	int fds[2];
	pid_t pid;

	if (pipe(fds) == -1 || (pid = fork()) == -1)
		err(1, "start");
	if (pid == 0) {
		close(fds[0]);
		snprintf(number, sizeof(number), "%d", fds[1]);
		execl(self, self, fx_dir, number, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static bool
unit_whole(struct store *s, const struct ulid *id)
{
	struct journal_row item;
	struct artifact_row a;
	struct run_record r;
	struct store_txn *txn = fx_read(s);
	uint8_t got[FILE_BYTES];
	size_t len = sizeof(got);
	uint64_t seq;
	char path[400], name[ULID_CHARS + 1];
	bool whole;

	whole = run_get(txn, id, &r) == STORE_OK &&
	    artifact_get(txn, id, &a) == STORE_OK &&
	    event_next_seq(txn, id, &seq) == STORE_OK && seq == 2 &&
	    journal_get(txn, id, 0, &item) == STORE_OK;
	store_read_end(s);
	if (!whole || artifact_file_read(s, &a, 0, got, &len) != STORE_OK ||
	    len != sizeof(got) || memcmp(got, page, len) != 0)
		return false;
	ulid_format(id, name);
	snprintf(path, sizeof(path), "%s/spool/%s", fx_dir, name);
	return access(path, R_OK) == 0;
}

struct tally {
	uint64_t runs;
	struct ulid ids[20000];
};

static bool
tally_add(const struct ulid *id, const struct run_record *r, int err, void *arg)
{
	struct tally *t = arg;

	if (r == NULL || t->runs == 20000)
		return false;
	t->ids[t->runs++] = *id;
	return true;
}

/* All that is stored is whole, and totals are right. */
static bool
store_whole(struct store *s, uint64_t *ret_runs)
{
	static struct tally t;
	struct run_filter f = { .by_uid = true, .uid = 1000 };
	uint64_t total = 0;
	bool whole;

	t.runs = 0;
	run_list(fx_read(s), &f, 0, UINT64_MAX, tally_add, &t, &total);
	store_read_end(s);
	whole = total == t.runs;
	for (uint64_t i = 0; whole && i < t.runs; i++)
		whole = unit_whole(s, &t.ids[i]);
	*ret_runs = t.runs;
	return whole;
}

int
main(int argc, char **argv)
{
	static struct ulid acked[20000];
	struct purge_result pr;
	uint64_t runs = 0, total = 0, lost = 0;
	bool whole = true;
	struct store *s;
	int fd, status, killed = 0, stray = 0;
	pid_t pid;

	memset(page, 'p', sizeof(page));
	if (argc == 3)
		return child(argv[1], (int)strtonum(argv[2], 3, 99, NULL));
	fx_new();
	for (int round = 0; round < ROUNDS; round++) {
		unsigned want = 3 + (unsigned)round * 7 % 11, got = 0;

		pid = child_start(argv[0], &fd);
		while (got < want &&
		    read(fd, &acked[total], ULID_BYTES) == ULID_BYTES) {
			got++;
			total++;
		}
		kill(pid, SIGKILL);
		while (read(fd, &acked[total], ULID_BYTES) == ULID_BYTES)
			total++;
		close(fd);
		waitpid(pid, &status, 0);
		killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		s = fx_open();
		if (store_purge(s, &pr) != STORE_OK)
			errx(1, "purge");
		stray += (int)(pr.incoming + pr.artifacts + pr.spools);
		for (uint64_t i = 0; i < total; i++)
			lost += !unit_whole(s, &acked[i]);
		whole = whole && store_whole(s, &runs);
		store_free(&s);
	}
	is_int(killed, ROUNDS, "every writer was killed in its work");
	is_int(lost, 0, "nothing acknowledged was lost");
	ok(whole, "everything stored is whole, totals are right");
	ok(runs >= total && runs <= total + ROUNDS,
	    "at most the one in flight is there unacknowledged (%d of %d)",
	    (int)runs, (int)total);
	printf("# %d unnamed files were purged\n", stray);
	return done_testing();
}
