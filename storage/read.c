/*
 * Read transactions of the store: one at a time, within one turn of the loop.
 * Runs in supervisord, backup and fsck. They see what was committed last, also
 * while the committer commits more.
 */
#include "common/panic.h"
#include "storage/store_impl.h"

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
	ASSERT(!s->reading && !s->filling);
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
