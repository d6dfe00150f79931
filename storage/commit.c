/*
 * Group commit: the functions queued in a loop turn run on one transaction.
 * Runs in supervisord. Nothing here acts on the world before the commit: done
 * callbacks come last.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/crashpoint.h"
#include "common/panic.h"
#include "storage/store_impl.h"

#define DEFERRED_MAX 32 /* bounds what waits in memory */

enum turn_outcome {
	TURN_DONE,
	TURN_AGAIN,
	TURN_GROW,
	TURN_FAILED
};

static bool
op_queue(struct store *s, store_write_fn *fn, void *arg, store_done_fn *done,
    void *done_arg)
{
	struct store_op *op;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->committing && !s->opt.read_only);
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
store_pending(const struct store *s)
{
	return !TAILQ_EMPTY(&s->ops);
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

static enum turn_outcome
turn_try(struct store *s, struct store_ops *ops, int64_t now_ms, int *ret_err)
{
	struct store_txn txn = { .store = s, .writable = true };
	enum turn_outcome outcome;
	uint64_t writes = 0;

	s->index.count = 0;
	if (txn_note(&txn, mdb_txn_begin(s->env, NULL, 0, &txn.mdb)) !=
	    STORE_OK) {
		*ret_err = txn.err;
		return TURN_FAILED;
	}
	outcome = turn_fill(&txn, ops, now_ms, &writes);
	if (outcome != TURN_DONE || txn.puts == 0) {
		mdb_txn_abort(txn.mdb);
		*ret_err = txn.err;
		return outcome;
	}
	CRASH_POINT(commit_filled);
	if (txn_note(&txn, mdb_txn_commit(txn.mdb)) != STORE_OK) {
		*ret_err = (int)commit_err(s, &txn);
		return txn.map_full ? TURN_GROW : TURN_FAILED;
	}
	CRASH_POINT(commit_written);
	s->stats.commits++;
	s->stats.writes += writes;
	if (now_ms > s->floor_ms)
		s->floor_ms = now_ms;
	return TURN_DONE;
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

enum store_err
turn_commit(struct store *s, struct store_ops *ops, int64_t now_ms)
{
	for (;;) {
		int err = STORE_OK;

		switch (turn_try(s, ops, now_ms, &err)) {
		case TURN_DONE:
			return STORE_OK;
		case TURN_AGAIN:
			break;
		case TURN_GROW:
			if (!map_grow(s))
				return STORE_FULL;
			break;
		case TURN_FAILED:
			ASSERT(err != STORE_OK);
			if (err != STORE_FULL || !reserve_give_up(s))
				return (enum store_err)err;
			break;
		}
		s->stats.reruns++;
	}
}

enum store_err
store_commit(struct store *s, int64_t now_ms)
{
	struct store_ops ops;
	struct store_op *op;
	enum store_err err;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->committing && !s->reading);
	if (TAILQ_EMPTY(&s->ops))
		return STORE_OK;
	TAILQ_INIT(&ops);
	TAILQ_CONCAT(&ops, &s->ops, link);
	s->deferred = 0;
	s->hurried = false;
	s->space_known = false;
	s->committing = true;
	CRASH_POINT(commit_begun);
	spools_sync(s);
	CRASH_POINT(commit_spooled);
	err = turn_commit(s, &ops, now_ms);
	s->committing = false;
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

static int
read_mdb_begin(struct store *s)
{
	if (s->read_mdb != NULL)
		return mdb_txn_renew(s->read_mdb);
	return mdb_txn_begin(s->env, NULL, MDB_RDONLY, &s->read_mdb);
}

/* The owner of the store has made the map larger. */
static int
read_mdb_again(struct store *s)
{
	int rc;

	if (s->read_mdb != NULL)
		mdb_txn_abort(s->read_mdb);
	s->read_mdb = NULL;
	rc = mdb_env_set_mapsize(s->env, 0);
	return rc == 0 ? read_mdb_begin(s) : rc;
}

enum store_err
store_read_begin(struct store *s, struct store_txn **ret_txn)
{
	struct store_txn *txn = &s->read_txn;
	int rc;

	MAGIC_CHECK(s, STORE_MAGIC);
	ASSERT(!s->reading && !s->committing);
	rc = read_mdb_begin(s);
	if (rc == MDB_MAP_RESIZED && s->opt.read_only)
		rc = read_mdb_again(s);
	if (rc != 0)
		return store_err_of(rc);
	*txn = (struct store_txn){ .store = s, .mdb = s->read_mdb };
	s->reading = true;
	*ret_txn = txn;
	return STORE_OK;
}

void
store_read_end(struct store *s)
{
	ASSERT(s->reading);
	s->reading = false;
	mdb_txn_reset(s->read_mdb);
}
