/*
 * The spools that a backup copies: opened while their runs are certain to live,
 * so that they can be read when those have ended. Runs where backup.c does.
 */
#include <fcntl.h>
#include <string.h>

#include "common/fdio.h"
#include "storage/backup_int.h"
#include "storage/journal.h"

struct opening {
	struct store_txn *txn;
	struct buf *spools;
	bool whole;
};

static bool
open_one(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	struct spool_copy s = { .run = *id, .fd = -1 };
	struct opening *o = arg;
	char name[ULID_CHARS + 1];

	(void)err;
	if (rec == NULL || journal_spool_end(o->txn, id, &s.end) != STORE_OK ||
	    s.end == 0)
		return true;
	ulid_format(id, name);
	s.fd = openat(o->txn->store->spool_fd, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (s.fd == -1)
		o->whole = false;
	else if (!buf_add(o->spools, &s, sizeof(s)))
		fd_close(&s.fd);
	return o->whole && !o->spools->failed;
}

enum store_err
spool_copies_open(struct store_txn *txn, struct buf *spools, bool *ret_whole)
{
	static const enum run_status live[] = { RUN_QUEUED, RUN_RUNNING };
	struct opening o = { txn, spools, true };
	int rc = STORE_OK;

	for (int i = 0; i < 2 && rc == STORE_OK; i++) {
		struct run_filter f = { .by_status = true, .status = live[i] };

		rc = run_list_oldest(txn, &f, open_one, &o);
	}
	*ret_whole = o.whole;
	return spools->failed ? STORE_NO_MEMORY : (enum store_err)rc;
}

void
spool_copies_close(struct buf *spools)
{
	struct spool_copy s;

	for (size_t at = 0; at + sizeof(s) <= spools->len; at += sizeof(s)) {
		memcpy(&s, spools->data + at, sizeof(s));
		fd_close(&s.fd);
	}
	buf_reset(spools);
}
