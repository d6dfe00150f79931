/*
 * supervisord as it must not be: it tells whoever waits for a write before the
 * write is committed. For the test of the test (points.t): its crashes lose
 * what was told, and that must be found. Linked with --wrap in place of
 * store_commit_start().
 */
#include <stdlib.h>

#include "common/crashpoint.h"
#include "storage/store_impl.h"

void __wrap_store_commit_start(struct store *s, int64_t now_ms);

void
__wrap_store_commit_start(struct store *s, int64_t now_ms)
{
	struct store_txn txn = { .store = s, .writable = true };
	struct store_ops ops;
	struct file_sync *f;
	struct store_op *op;

	if (TAILQ_EMPTY(&s->ops))
		return;
	TAILQ_INIT(&ops);
	TAILQ_CONCAT(&ops, &s->ops, link);
	s->deferred = 0;
	s->hurried = s->space_known = false;
	while ((f = TAILQ_FIRST(&s->files)) != NULL) {
		file_sync_cancel(s, f);
		if (f->begin != NULL)
			f->begin(f);
		f->over(f, f->wait(f));
	}
	s->index.count = 0;
	if (mdb_txn_begin(s->env, NULL, 0, &txn.mdb) != 0)
		abort();
	s->filling = true;
	TAILQ_FOREACH(op, &ops, link)
		op->result = op->fn(&txn, op->arg);
	run_index_flush(&txn);
	audit_flush(&txn);
	s->filling = false;
	while ((op = TAILQ_FIRST(&ops)) != NULL) {
		TAILQ_REMOVE(&ops, op, link);
		if (op->done != NULL)
			op->done(op->done_arg, op->result);
		free(op);
	}
	CRASH_POINT(commit_told);
	if (mdb_txn_commit(txn.mdb) != 0)
		abort();
}
