/*
 * Unit tests of storage/: commits beside the loop. The calls that wait for the
 * disk are this program's own, so that it holds them up and fails them: what
 * the loop may do meanwhile, and what becomes of what was queued.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storage/artifact.h"
#include "storage/spool.h"
#include "storage/store_impl.h"
#include "t/unit/storage_fixture.h"

#define FILE_BYTES 40000

/* A gate before the disk, and who came to it. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool closed;
	unsigned waiting;
	unsigned on_loop; /* calls that the loop itself made */
	int fail;         /* so many fail */
	pthread_t loop;
} gate = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.changed = PTHREAD_COND_INITIALIZER };

static bool
gate_pass(void)
{
	bool fail;

	pthread_mutex_lock(&gate.lock);
	gate.on_loop += pthread_equal(pthread_self(), gate.loop) != 0;
	gate.waiting++;
	pthread_cond_broadcast(&gate.changed);
	while (gate.closed)
		pthread_cond_wait(&gate.changed, &gate.lock);
	gate.waiting--;
	fail = gate.fail > 0;
	gate.fail -= fail;
	pthread_mutex_unlock(&gate.lock);
	return !fail;
}

static void
gate_close(bool closed)
{
	pthread_mutex_lock(&gate.lock);
	gate.closed = closed;
	pthread_cond_broadcast(&gate.changed);
	pthread_mutex_unlock(&gate.lock);
}

/* Until somebody waits at the gate. */
static void
gate_meet(void)
{
	pthread_mutex_lock(&gate.lock);
	while (gate.waiting == 0)
		pthread_cond_wait(&gate.changed, &gate.lock);
	pthread_mutex_unlock(&gate.lock);
}

int
fdatasync(int fd)
{
	if (!gate_pass()) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fdatasync, fd);
}

int
fsync(int fd)
{
	if (!gate_pass()) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

static struct store *
threaded(void)
{
	struct store *s = fx_open();

	is_int(store_committer_fd(s), -1, "no committer yet");
	is_int(store_committer_start(s), 0, "a committer is started");
	gate.on_loop = 0;
	return s;
}

/* As the loop: goes on whenever it is told to, until the commit is over. */
static enum store_err
go_on(struct store *s)
{
	struct pollfd p = { .fd = store_committer_fd(s), .events = POLLIN };

	while (!store_commit_go_on(s))
		if (poll(&p, 1, 60000) != 1)
			errx(1, "no job was over");
	return store_commit_tell(s);
}

static bool
is_stored(struct store *s, const struct run_record *r)
{
	struct store_txn *txn = fx_read(s);
	struct run_record got;
	int err = run_get(txn, &r->id, &got);

	store_read_end(s);
	return err == STORE_OK;
}

static void
test_beside(void)
{
	struct run_record a = fx_run(), b = fx_run();
	int ra = -1, rb = -1;
	struct store *s;

	fx_new();
	s = threaded();
	store_write(s, fx_insert, &a, fx_done, &ra);
	ok(store_hurried(s), "a write is hurried");
	gate_close(true);
	store_commit_start(s, FX_NOW + 1);
	while (s->commit.phase != COMMIT_WRITING)
		(void)store_commit_go_on(s);
	gate_meet();
	ok(!store_commit_go_on(s) && store_committing(s), "the disk is slow");
	is_int(ra, -1, "nobody is told before it is done");
	ok(!is_stored(s, &a), "the loop reads what was committed before");
	store_write(s, fx_insert, &b, fx_done, &rb);
	ok(store_pending(s) && store_hurried(s), "and writes for the next");
	gate_close(false);
	is_int(go_on(s), STORE_OK, "the commit is over");
	is_int(ra, STORE_OK, "who waited for it was told");
	is_int(rb, -1, "who waits for the next was not");
	ok(is_stored(s, &a) && !is_stored(s, &b), "which is what is stored");
	is_int(store_commit(s, FX_NOW + 2), STORE_OK, "one that is waited for");
	is_int(rb, STORE_OK, "tells the other");
	ok(is_stored(s, &b), "and stores it");
	is_int(gate.on_loop, 0, "the loop has never waited for the disk");
	store_free(&s);
}

struct put {
	struct artifact_row row;
	const void *bytes;
};

static int
put_row(struct store_txn *txn, void *arg)
{
	const struct put *p = arg;

	return artifact_insert(txn, &p->row, p->bytes);
}

static struct artifact_writer *
make(struct store *s, const struct ulid *run, struct put *p)
{
	static const uint8_t bytes[FILE_BYTES];
	struct ulid id = ulid_new(FX_NOW);
	struct artifact_writer *w;

	memset(p, 0, sizeof(*p));
	p->row.kind = ARTIFACT_CSV;
	p->row.run = *run;
	strlcpy(p->row.mime, "text/csv", sizeof(p->row.mime));
	if (artifact_writer_new(s, &id, sizeof(bytes), &w) != STORE_OK ||
	    artifact_writer_append(w, bytes, sizeof(bytes)) != STORE_OK ||
	    artifact_writer_finish(w, &p->row, &p->bytes) != STORE_OK)
		errx(1, "artifact");
	return w;
}

static bool
file_is_there(struct store *s, const struct artifact_row *row)
{
	uint8_t byte;
	size_t len = 1;

	return artifact_file_read(s, row, 0, &byte, &len) == STORE_OK;
}

static void
test_files(void)
{
	struct run_record run = fx_run();
	struct artifact_writer *w, *bad, *lost;
	struct put p, q, gone;
	int rp = -1, rq = -1, rr = -1;
	struct store *s;

	fx_new();
	s = threaded();
	w = make(s, &run.id, &p);
	ok(!file_is_there(s, &p.row), "a file has no name yet");
	store_write(s, put_row, &p, fx_done, &rp);
	gate_close(true);
	store_commit_start(s, FX_NOW + 1);
	gate_meet();
	/* What comes now is for the next commit, or for none. */
	bad = make(s, &run.id, &q);
	store_write(s, put_row, &q, fx_done, &rq);
	lost = make(s, &run.id, &gone);
	artifact_writer_free(&lost);
	gate_close(false);
	is_int(go_on(s), STORE_OK, "committed");
	is_int(rp, STORE_OK, "with its row");
	is_int(artifact_writer_error(w), STORE_OK, "it is on the disk");
	ok(file_is_there(s, &p.row), "and has its name");
	ok(!file_is_there(s, &gone.row), "one that was given up has none");
	artifact_writer_free(&w);
	ok(file_is_there(s, &p.row), "it stays");

	/* A file that cannot be synced costs its own row, and no other. */
	store_write(s, fx_insert, &run, fx_done, &rr);
	gate.fail = 1;
	store_commit_start(s, FX_NOW + 2);
	is_int(go_on(s), STORE_OK, "another commit");
	is_int(rq, STORE_FULL, "a file that fails has no row");
	is_int(artifact_writer_error(bad), STORE_FULL, "and says why");
	is_int(rr, STORE_OK, "the write beside it is done");
	artifact_writer_free(&bad);
	is_int(gate.on_loop, 0, "the loop has never waited for the disk");
	store_free(&s);
}

/* Freed while it is published: the file must not stay without a row. */
static void
test_dropped(void)
{
	struct run_record run = fx_run();
	struct artifact_writer *w;
	struct put p;
	int rr = -1;
	struct store *s;

	fx_new();
	s = threaded();
	w = make(s, &run.id, &p);
	store_write(s, fx_insert, &run, fx_done, &rr);
	gate_close(true);
	store_commit_start(s, FX_NOW + 1);
	gate_meet();
	artifact_writer_free(&w);
	gate_close(false);
	is_int(go_on(s), STORE_OK, "committed");
	ok(!file_is_there(s, &p.row), "a file nobody wants is not there");
	store_free(&s);
}

struct item {
	struct ulid run;
	struct journal_row row;
};

static int
put_item(struct store_txn *txn, void *arg)
{
	const struct item *i = arg;

	return journal_insert(txn, &i->run, &i->row);
}

static void
item_begin(
    struct spool *sp, const struct ulid *run, uint32_t index, struct item *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->run = *run;
	ret->row.index = index;
	ret->row.record = (const uint8_t *)"{}";
	ret->row.record_len = 2;
	ret->row.nextents = 1;
	if (spool_append(sp, "bytes", 5, &ret->row.extents[0]) != STORE_OK)
		errx(1, "spool");
}

static void
test_spool(void)
{
	struct run_record run = fx_run();
	struct item a, b, c;
	int ra = -1, rb = -1, rc = -1;
	struct spool *sp;
	struct store *s;

	fx_new();
	s = threaded();
	if (fx_write(s, fx_insert, &run) != STORE_OK ||
	    spool_open(s, &run.id, 0, 1000, &sp) != STORE_OK)
		errx(1, "spool");
	item_begin(sp, &run.id, 0, &a);
	store_write(s, put_item, &a, fx_done, &ra);
	gate_close(true);
	store_commit_start(s, FX_NOW + 1);
	gate_meet();
	item_begin(sp, &run.id, 1, &b);
	store_write(s, put_item, &b, fx_done, &rb);
	gate_close(false);
	is_int(go_on(s), STORE_OK, "committed");
	is_int(ra, STORE_OK, "an item whose bytes are synced");
	is_int(spool_check(s, &run.id, a.row.extents[0].len), STORE_OK,
	    "its bytes may be named");
	is_int(spool_check(s, &run.id, 10), STORE_INVALID,
	    "those that came meanwhile may not");
	is_int(store_commit(s, FX_NOW + 2), STORE_OK, "the next commit");
	is_int(rb, STORE_OK, "has them");
	item_begin(sp, &run.id, 2, &c);
	store_write(s, put_item, &c, fx_done, &rc);
	gate_close(true);
	store_commit_start(s, FX_NOW + 3);
	gate_meet();
	spool_free(&sp);
	ok(sp == NULL, "freed while it is synced");
	gate_close(false);
	is_int(go_on(s), STORE_OK, "the last commit");
	is_int(rc, STORE_INVALID, "has no item of a spool that is gone");
	is_int(gate.on_loop, 0, "the loop has never waited for the disk");
	store_free(&s);
}

static void
count_pending(void *arg)
{
	(*(int *)arg)++;
}

/* The map grows, an operation is taken out: on the thread's transactions. */
static void
test_reruns(void)
{
	static struct run_record runs[3000];
	int pending = 0;
	struct store_options opt = { .map_bytes = 1 << 20,
		.now_ms = FX_NOW,
		.on_pending = count_pending,
		.on_pending_arg = &pending };
	struct run_record twice;
	int results[3000], refused = -1, bad = 0;
	struct store *s;

	fx_new();
	s = fx_open_with(&opt);
	is_int(store_committer_start(s), 0, "a committer is started");
	for (int i = 0; i < 3000; i++) {
		runs[i] = fx_run();
		results[i] = -1;
		store_write(s, fx_insert, &runs[i], fx_done, &results[i]);
	}
	ok(store_crowded(s), "so many should not wait for another commit");
	is_int(pending, 1 + 3000 / 512, "which is told now and then");
	twice = runs[0];
	store_write(s, fx_insert, &twice, fx_done, &refused);
	store_commit_start(s, FX_NOW + 1);
	is_int(go_on(s), STORE_OK, "committed");
	for (int i = 0; i < 3000; i++)
		bad += results[i] != STORE_OK;
	is_int(bad, 0, "all of them");
	is_int(refused, STORE_EXISTS, "but the one that is there");
	ok(store_stats(s).map_growths > 0, "the map has grown");
	ok(is_stored(s, &runs[2999]), "and can be read");
	store_free(&s);
}

static int
fail_write(struct store_txn *txn, void *arg)
{
	return STORE_INVALID;
}

static void
test_ends(void)
{
	struct run_record a = fx_run(), b = fx_run();
	struct artifact_writer *w;
	int ra = -1, rb = -1, rn = -1;
	struct put p;
	struct store *s;

	fx_new();
	s = threaded();
	store_write(s, fail_write, NULL, fx_done, &rn);
	store_commit_start(s, FX_NOW + 1);
	is_int(go_on(s), STORE_OK, "a commit with nothing in it");
	is_int(rn, STORE_INVALID, "tells the refusal");
	is_int(store_stats(s).commits, 0, "and writes nothing");
	ok(!store_commit_go_on(s), "nothing is under way");
	store_write(s, fx_insert, &a, fx_done, &ra);
	gate.fail = 1;
	store_commit_start(s, FX_NOW + 2);
	ok(go_on(s) != STORE_OK, "a commit that the disk refuses");
	ok(ra != STORE_OK && ra != -1, "is told as such");

	ra = -1;
	a = fx_run();
	store_write(s, fx_insert, &a, fx_done, &ra);
	store_commit_start(s, FX_NOW + 3);
	store_write(s, fx_insert, &b, fx_done, &rb);
	w = make(s, &b.id, &p);
	store_give_up(s);
	is_int(ra, STORE_OK, "what is under way at the end is waited for");
	is_int(rb, STORE_CLOSED, "what waits is not written");
	is_int(artifact_writer_error(w), STORE_CLOSED, "nor is a file");
	artifact_writer_free(&w);
	store_free(&s);
	s = fx_open();
	ok(is_stored(s, &a) && !is_stored(s, &b), "and so it is stored");
	store_free(&s);
}

/* A worker's bytes that no row names yet when the service ends. */
static void
test_ends_amid(void)
{
	struct run_record run = fx_run();
	struct item item;
	struct spool *sp;
	struct store *s;

	fx_new();
	s = threaded();
	if (fx_write(s, fx_insert, &run) != STORE_OK ||
	    spool_open(s, &run.id, 0, 1000, &sp) != STORE_OK)
		errx(1, "spool");
	item_begin(sp, &run.id, 0, &item);
	alarm(60);
	store_give_up(s);
	alarm(0);
	is_int(spool_append(sp, "more", 4, &item.row.extents[0]), STORE_CLOSED,
	    "bytes that wait when the store is given up are not waited for");
	spool_free(&sp);
	store_free(&s);
}

int
main(void)
{
	gate.loop = pthread_self();
	test_beside();
	test_files();
	test_dropped();
	test_spool();
	test_reruns();
	test_ends();
	test_ends_amid();
	return done_testing();
}
