/*
 * Group commit: the functions queued in a loop turn run on one transaction.
 * Runs in supervisord. Nothing here acts on the world before the commit: done
 * callbacks come last.
 *
 * What waits for the disk are jobs of the committer: the files that rows will
 * name, and LMDB's commit. The functions run on the loop, between two jobs, and
 * while a job is under way the loop reads what the last commit left and queues
 * for the next one. A store without a committer does the jobs at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/crashpoint.h"
#include "common/panic.h"
#include "storage/store_impl.h"

#define DEFERRED_MAX 32 /* bounds what waits in memory */
#define CROWD        512

static bool
op_queue(struct store *s, store_write_fn *fn, void *arg, store_done_fn *done,
    void *done_arg)
{
	struct store_op *op;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->filling && !s->opt.read_only);
	op = s->given_up ? NULL : calloc(1, sizeof(*op));
	if (op == NULL) {
		if (done != NULL)
			done(done_arg,
			    s->given_up ? STORE_CLOSED : STORE_NO_MEMORY);
		return false;
	}
	op->fn = fn;
	op->arg = arg;
	op->done = done;
	op->done_arg = done_arg;
	TAILQ_INSERT_TAIL(&s->ops, op, link);
	if (++s->queued % CROWD == 0 && s->opt.on_pending != NULL)
		s->opt.on_pending(s->opt.on_pending_arg);
	return true;
}

void
store_hurry(struct store *s)
{
	MAGIC_CHECK(s, STORE_MAGIC);
	if (s->hurried || TAILQ_EMPTY(&s->ops))
		return;
	s->hurried = true;
	if (s->opt.on_pending != NULL)
		s->opt.on_pending(s->opt.on_pending_arg);
}

void
store_write(struct store *s, store_write_fn *fn, void *arg, store_done_fn *done,
    void *done_arg)
{
	if (op_queue(s, fn, arg, done, done_arg))
		store_hurry(s);
}

void
store_write_later(struct store *s, store_write_fn *fn, void *arg,
    store_done_fn *done, void *done_arg)
{
	if (!op_queue(s, fn, arg, done, done_arg))
		return;
	if (s->opt.on_deferred == NULL || ++s->deferred >= DEFERRED_MAX)
		store_hurry(s);
	else if (s->deferred == 1 && !s->hurried)
		s->opt.on_deferred(s->opt.on_pending_arg);
}

void
store_write_soon(struct store *s, store_write_fn *fn, void *arg,
    store_done_fn *done, void *done_arg)
{
	(void)op_queue(s, fn, arg, done, done_arg);
}

bool
store_hurried(const struct store *s)
{
	return s->hurried;
}

bool
store_crowded(const struct store *s)
{
	return s->queued >= CROWD;
}

bool
store_pending(const struct store *s)
{
	return !TAILQ_EMPTY(&s->ops) || s->commit.phase != COMMIT_IDLE;
}

/* Runs one function; true when the turn may go on with the next. */
static bool
op_run(struct store_txn *txn, struct store_op *op, enum turn_outcome *ret)
{
	uint64_t puts = txn->puts;

	op->result = op->fn(txn, op->arg);
	if (txn->err != STORE_OK) {
		*ret = txn->map_full ? TURN_GROW : TURN_FAILED;
		return false;
	}
	if (op->result != STORE_OK && txn->puts != puts) {
		op->taken_out = true;
		*ret = TURN_AGAIN;
		return false;
	}
	return true;
}

/* Not every error is the transaction's own: memory that ran out may not be. */
static enum turn_outcome
turn_failed(struct store_txn *txn, int err)
{
	txn_fail(txn, err);
	return txn->map_full ? TURN_GROW : TURN_FAILED;
}

static enum turn_outcome
turn_fill(struct store_txn *txn, struct store_ops *ops, int64_t now_ms,
    uint64_t *ret_writes)
{
	enum turn_outcome outcome = TURN_DONE;
	struct store_op *op;
	uint64_t writes = 0;
	int err;

	TAILQ_FOREACH(op, ops, link) {
		if (op->taken_out)
			continue;
		if (!op_run(txn, op, &outcome))
			return outcome;
		if (op->result == STORE_OK)
			writes++;
	}
	err = run_index_flush(txn);
	if (err == STORE_OK)
		err = audit_flush(txn);
	if (err == STORE_OK && writes > 0 && now_ms > txn->store->floor_ms)
		err = meta_put(txn, "stamp", now_ms);
	if (err != STORE_OK)
		return turn_failed(txn, err);
	*ret_writes = writes;
	return TURN_DONE;
}

/*
 * When the meta page could not be written, LMDB cannot tell which of the two
 * states the disk holds, and refuses everything from then on.
 */
static enum store_err
commit_err(struct store *s, const struct store_txn *txn)
{
	MDB_txn *probe;
	int rc = mdb_txn_begin(s->env, NULL, MDB_RDONLY, &probe);

	if (rc == 0)
		mdb_txn_abort(probe);
	return rc == MDB_PANIC ? STORE_BROKEN : (enum store_err)txn->err;
}

/*
 * LMDB gives up the old mapping before it makes the new one, and is of no use
 * without any.
 */
static bool
map_fits(uint64_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map != MAP_FAILED && munmap(map, bytes) == 0;
}

static bool
map_grow(struct store *s)
{
	uint64_t bytes = s->stats.map_bytes;

	bytes =
	    bytes > s->opt.map_max_bytes / 2 ? s->opt.map_max_bytes : bytes * 2;
	if (bytes <= s->stats.map_bytes || !map_fits(bytes))
		return false;
	/* No transaction may be open; an idle reader would be one. */
	if (s->read_mdb != NULL) {
		mdb_txn_abort(s->read_mdb);
		s->read_mdb = NULL;
	}
	if (mdb_env_set_mapsize(s->env, bytes) != 0)
		return false;
	s->stats.map_bytes = bytes;
	s->stats.map_growths++;
	return true;
}

/* The jobs. */

static void
job_open(void *arg)
{
	struct store *s = arg;
	struct commit *c = &s->commit;
	struct file_sync *f;

	TAILQ_FOREACH(f, &c->files, link)
		f->err = f->wait(f);
	c->rc = mdb_txn_begin(s->env, NULL, 0, &c->txn.mdb);
}

static void
job_write(void *arg)
{
	struct commit *c = &((struct store *)arg)->commit;

	c->rc = mdb_txn_commit(c->txn.mdb);
}

static void
job_close(void *arg)
{
	struct commit *c = &((struct store *)arg)->commit;

	mdb_txn_abort(c->txn.mdb);
	c->rc = 0;
}

static void
commit_job(struct store *s, enum commit_phase phase, committer_fn *job)
{
	s->commit.phase = phase;
	if (s->committer == NULL)
		job(s);
	else
		committer_start(s->committer, job, s);
}

static void
commit_open(struct store *s)
{
	s->commit.txn = (struct store_txn){ .store = s, .writable = true };
	commit_job(s, COMMIT_OPENING, job_open);
}

static void
commit_done(struct store *s, enum store_err result)
{
	s->commit.result = result;
	s->commit.phase = COMMIT_DONE;
}

/* No transaction is open: what follows from how the last one ended. */
static void
commit_next(struct store *s, enum turn_outcome outcome, enum store_err err)
{
	bool again = outcome == TURN_AGAIN ||
	    (outcome == TURN_GROW && map_grow(s)) ||
	    (outcome == TURN_FAILED && err == STORE_FULL && reserve_give_up(s));

	ASSERT(outcome != TURN_FAILED || err != STORE_OK);
	if (outcome == TURN_DONE) {
		commit_done(s, STORE_OK);
	} else if (again) {
		s->stats.reruns++;
		commit_open(s);
	} else {
		commit_done(s, outcome == TURN_GROW ? STORE_FULL : err);
	}
}

static void
files_over(struct commit *c)
{
	struct file_sync *f;

	while ((f = TAILQ_FIRST(&c->files)) != NULL) {
		TAILQ_REMOVE(&c->files, f, link);
		f->state = FILE_SYNC_NONE;
		f->over(f, f->err);
	}
}

static void
opening_over(struct store *s)
{
	struct commit *c = &s->commit;

	files_over(c);
	if (txn_note(&c->txn, c->rc) != STORE_OK) {
		commit_next(s, TURN_FAILED, (enum store_err)c->txn.err);
		return;
	}
	CRASH_POINT(commit_spooled);
	s->index.count = 0;
	s->filling = true;
	c->outcome = turn_fill(&c->txn, &c->ops, c->now_ms, &c->writes);
	s->filling = false;
	if (c->outcome != TURN_DONE || c->txn.puts == 0) {
		commit_job(s, COMMIT_CLOSING, job_close);
		return;
	}
	CRASH_POINT(commit_filled);
	commit_job(s, COMMIT_WRITING, job_write);
}

static void
writing_over(struct store *s)
{
	struct commit *c = &s->commit;

	if (txn_note(&c->txn, c->rc) != STORE_OK) {
		commit_next(s, c->txn.map_full ? TURN_GROW : TURN_FAILED,
		    commit_err(s, &c->txn));
		return;
	}
	CRASH_POINT(commit_written);
	s->stats.commits++;
	s->stats.writes += c->writes;
	if (c->now_ms > s->floor_ms)
		s->floor_ms = c->now_ms;
	commit_done(s, STORE_OK);
}

static void
closing_over(struct store *s)
{
	commit_next(s, s->commit.outcome, (enum store_err)s->commit.txn.err);
}

/* A job is over. */
static void
commit_step(struct store *s)
{
	static void (*const steps[COMMIT__MAX])(struct store *) = {
		[COMMIT_OPENING] = opening_over,
		[COMMIT_WRITING] = writing_over,
		[COMMIT_CLOSING] = closing_over,
	};

	ASSERT(!s->reading && steps[s->commit.phase] != NULL);
	steps[s->commit.phase](s);
}

/* From outside. */

void
store_commit_start(struct store *s, int64_t now_ms)
{
	struct commit *c = &s->commit;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(c->phase == COMMIT_IDLE && !s->filling && !s->reading);
	if (TAILQ_EMPTY(&s->ops))
		return;
	TAILQ_CONCAT(&c->ops, &s->ops, link);
	TAILQ_CONCAT(&c->files, &s->files, link);
	for (struct file_sync *f = TAILQ_FIRST(&c->files); f != NULL;
	     f = TAILQ_NEXT(f, link)) {
		f->state = FILE_SYNC_RUNS;
		if (f->begin != NULL)
			f->begin(f);
	}
	s->queued = 0;
	s->deferred = 0;
	s->hurried = false;
	c->now_ms = now_ms;
	CRASH_POINT(commit_begun);
	commit_open(s);
}

bool
store_commit_go_on(struct store *s)
{
	MAGIC_CHECK(s, STORE_MAGIC);
	if (s->committer != NULL && committer_is_over(s->committer))
		commit_step(s);
	while (s->committer == NULL && s->commit.phase != COMMIT_IDLE &&
	    s->commit.phase != COMMIT_DONE)
		commit_step(s);
	return s->commit.phase == COMMIT_DONE;
}

enum store_err
store_commit_tell(struct store *s)
{
	enum store_err err = s->commit.result;
	struct store_ops ops;
	struct store_op *op;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(s->commit.phase == COMMIT_DONE);
	TAILQ_INIT(&ops);
	TAILQ_CONCAT(&ops, &s->commit.ops, link);
	s->commit.phase = COMMIT_IDLE;
	s->space_known = false;
	while ((op = TAILQ_FIRST(&ops)) != NULL) {
		TAILQ_REMOVE(&ops, op, link);
		if (err != STORE_OK)
			op->result = (int)err;
		if (op->done != NULL)
			op->done(op->done_arg, op->result);
		free(op);
		CRASH_POINT(commit_told_one);
	}
	CRASH_POINT(commit_told);
	return err;
}

bool
store_committing(const struct store *s)
{
	return s->commit.phase != COMMIT_IDLE;
}

void
store_commit_wait(struct store *s)
{
	while (s->commit.phase != COMMIT_IDLE && !store_commit_go_on(s))
		committer_wait(s->committer);
}

/* Waits for the one that is under way, if any, and tells. */
static enum store_err
commit_end(struct store *s)
{
	MAGIC_CHECK(s, STORE_MAGIC);
	store_commit_wait(s);
	return s->commit.phase == COMMIT_IDLE ? STORE_OK : store_commit_tell(s);
}

enum store_err
store_commit(struct store *s, int64_t now_ms)
{
	enum store_err err = commit_end(s);

	if (err != STORE_OK)
		return err;
	store_commit_start(s, now_ms);
	return commit_end(s);
}

/* The committer. */

int
store_committer_start(struct store *s)
{
	ASSERT(s->committer == NULL && s->commit.phase == COMMIT_IDLE);
	return committer_new(&s->committer);
}

int
store_committer_fd(const struct store *s)
{
	return s->committer == NULL ? -1 : committer_fd(s->committer);
}

void
file_sync_queue(struct store *s, struct file_sync *f)
{
	if (f->state != FILE_SYNC_NONE)
		return;
	f->state = FILE_SYNC_QUEUED;
	TAILQ_INSERT_TAIL(&s->files, f, link);
}

bool
file_sync_cancel(struct store *s, struct file_sync *f)
{
	if (f->state == FILE_SYNC_QUEUED)
		TAILQ_REMOVE(&s->files, f, link);
	else if (f->state == FILE_SYNC_RUNS)
		return false;
	f->state = FILE_SYNC_NONE;
	return true;
}
