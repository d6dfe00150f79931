/*
 * supervisord as it must not be: it tells whoever waits for a write before the
 * write is committed. For the test of the test (points.t): its crashes lose
 * what was told, and that must be found. Linked with --wrap in place of
 * store_commit().
 */
#include <stdlib.h>

#include "common/crashpoint.h"
#include "storage/store_impl.h"

enum store_err __wrap_store_commit(struct store *s, int64_t now_ms);

enum store_err
__wrap_store_commit(struct store *s, int64_t now_ms)
{
	struct store_txn txn = { .store = s, .writable = true };
	struct store_ops ops;
	struct store_op *op;

	if (TAILQ_EMPTY(&s->ops))
		return STORE_OK;
	TAILQ_INIT(&ops);
	TAILQ_CONCAT(&ops, &s->ops, link);
	s->deferred = 0;
	s->hurried = s->space_known = false;
	s->committing = true;
	spools_sync(s);
	s->index.count = 0;
	if (mdb_txn_begin(s->env, NULL, 0, &txn.mdb) != 0)
		return STORE_BROKEN;
	TAILQ_FOREACH(op, &ops, link)
		op->result = op->fn(&txn, op->arg);
	run_index_flush(&txn);
	audit_flush(&txn);
	s->committing = false;
	while ((op = TAILQ_FIRST(&ops)) != NULL) {
		TAILQ_REMOVE(&ops, op, link);
		if (op->done != NULL)
			op->done(op->done_arg, op->result);
		free(op);
	}
	CRASH_POINT(commit_told);
	return mdb_txn_commit(txn.mdb) == 0 ? STORE_OK : STORE_BROKEN;
}
