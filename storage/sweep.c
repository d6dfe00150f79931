/* Retention in bounded batches. Runs in supervisord. */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "storage/artifact.h"
#include "storage/run.h"
#include "storage/session.h"
#include "storage/store_impl.h"
#include "storage/sweep.h"

#define STAMP_BYTES 8
#define DUE_ID_MAX  STORE_IDENTITY_BYTES
#define BATCH_MAX   10000u

struct due {
	struct key key; /* of the entry */
	bool valid;     /* the rest is set: the entry is one of ours */
	int64_t stamp_ms;
	enum expiry_kind kind;
	uint8_t id[DUE_ID_MAX];
};

struct sweep {
	struct store *store;
	int64_t now_ms;
	int64_t tombstone_ms;
	unsigned max;
	sweep_done_fn *done;
	sweep_ended_fn *ended_fn;
	void *arg;
	struct buf files; /* struct ulid each: to unlink after the commit */
	struct buf ended; /* likewise: sessions */
	struct sweep_result result;
};

static const size_t id_lens[EXPIRY__MAX] = {
	[EXPIRY_RUN] = ULID_BYTES,
	[EXPIRY_ARTIFACT] = ULID_BYTES,
	[EXPIRY_IDEM] = STORE_IDENTITY_BYTES,
	[EXPIRY_SESSION] = ULID_BYTES,
};

static void
due_read(const struct txn_entry *e, struct due *ret)
{
	size_t head = STAMP_BYTES + 1;

	memset(ret, 0, sizeof(*ret));
	key_init(&ret->key);
	key_add(&ret->key, e->key, e->key_len);
	if (e->key_len <= head || e->key[STAMP_BYTES] >= EXPIRY__MAX)
		return;
	ret->kind = e->key[STAMP_BYTES];
	if (e->key_len - head != id_lens[ret->kind])
		return;
	ret->stamp_ms = (int64_t)key_read_u64(e->key);
	memcpy(ret->id, e->key + head, id_lens[ret->kind]);
	ret->valid = ret->stamp_ms > 0;
}

/* The first entry, if it is due at now_ms; one that is not ours is, too. */
static int
due_next(struct store_txn *txn, int64_t now_ms, struct due *ret)
{
	int rc = STORE_NOT_FOUND;
	struct txn_walk w;
	struct key all;

	key_init(&all);
	walk_up(&w, txn, TABLE_EXPIRY, &all, NULL);
	if (walk_next(&w) && w.entry.key_len <= STORE_KEY_BYTES) {
		due_read(&w.entry, ret);
		if (!ret->valid || ret->stamp_ms <= now_ms)
			rc = STORE_OK;
	}
	walk_end(&w);
	return txn->err != STORE_OK ? txn->err : rc;
}

static int
sweep_artifact(struct store_txn *txn, struct sweep *sw, const struct ulid *id)
{
	bool file, gone;
	int rc;

	rc = artifact_expire(
	    txn, id, sw->now_ms, sw->tombstone_ms, &file, &gone);
	if (rc != STORE_OK)
		return rc;
	if (file && !buf_add(&sw->files, id, sizeof(*id)))
		return STORE_NO_MEMORY;
	if (gone)
		sw->result.tombstones++;
	else
		sw->result.artifacts++;
	return STORE_OK;
}

static int
sweep_session(struct store_txn *txn, struct sweep *sw, const struct ulid *id)
{
	int rc = session_delete(txn, id);

	if (rc != STORE_OK)
		return rc;
	sw->result.sessions++;
	return buf_add(&sw->ended, id, sizeof(*id)) ? STORE_OK
						    : STORE_NO_MEMORY;
}

static int
sweep_one(struct store_txn *txn, struct sweep *sw, const struct due *d,
    unsigned *budget)
{
	struct ulid id;
	int rc = STORE_OK;

	if (!d->valid) {
		(*budget)--;
		return STORE_OK;
	}
	memcpy(&id, d->id, sizeof(id));
	switch (d->kind) {
	case EXPIRY_RUN:
		rc = run_delete(txn, &id, budget);
		sw->result.runs += rc == STORE_OK;
		return rc;
	case EXPIRY_ARTIFACT:
		rc = sweep_artifact(txn, sw, &id);
		break;
	case EXPIRY_IDEM:
		rc = idem_expire(txn, d->id);
		sw->result.keys += rc == STORE_OK;
		break;
	case EXPIRY_SESSION:
		rc = sweep_session(txn, sw, &id);
		break;
	case EXPIRY__MAX:
		panic("a kind of expiry that due_read refused");
	}
	(*budget)--;
	return rc;
}

static int
sweep_write(struct store_txn *txn, void *arg)
{
	struct sweep *sw = arg;
	unsigned budget = sw->max;
	struct due d;
	int rc;

	memset(&sw->result, 0, sizeof(sw->result));
	buf_reset(&sw->files);
	buf_reset(&sw->ended);
	while ((rc = due_next(txn, sw->now_ms, &d)) == STORE_OK) {
		if (budget == 0) {
			sw->result.more = true;
			break;
		}
		rc = sweep_one(txn, sw, &d, &budget);
		if (rc == STORE_LIMIT && txn->err == STORE_OK)
			continue;
		if (rc != STORE_OK && rc != STORE_NOT_FOUND)
			return rc;
		/* Whatever the entry stood for is gone or moved on. */
		txn_delete(txn, TABLE_EXPIRY, &d.key);
	}
	sw->result.rows = sw->max - budget;
	return rc == STORE_NOT_FOUND ? txn->err : rc;
}

static void
sweep_written(void *arg, int err)
{
	struct sweep *sw = arg;
	struct ulid id;

	for (size_t at = 0; err == STORE_OK && at < sw->files.len;
	     at += sizeof(id)) {
		memcpy(&id, sw->files.data + at, sizeof(id));
		artifact_file_remove(sw->store, &id);
	}
	for (size_t at = 0; err == STORE_OK && at < sw->ended.len;
	     at += sizeof(id)) {
		memcpy(&id, sw->ended.data + at, sizeof(id));
		session_state_remove(sw->store, &id);
		if (sw->ended_fn != NULL)
			sw->ended_fn(sw->arg, &id);
	}
	if (sw->done != NULL)
		sw->done(sw->arg, err, &sw->result);
	buf_clear(&sw->files);
	buf_clear(&sw->ended);
	free(sw);
}

enum store_err
store_sweep(struct store *s, int64_t now_ms, int64_t tombstone_ms, unsigned max,
    sweep_done_fn *done, sweep_ended_fn *ended, void *arg)
{
	struct sweep *sw;

	ASSERT(max > 0 && max <= BATCH_MAX);
	if ((sw = calloc(1, sizeof(*sw))) == NULL)
		return STORE_NO_MEMORY;
	sw->store = s;
	sw->now_ms = now_ms;
	sw->tombstone_ms = tombstone_ms;
	sw->max = max;
	sw->done = done;
	sw->ended_fn = ended;
	sw->arg = arg;
	buf_init(&sw->files, BATCH_MAX * sizeof(struct ulid));
	buf_init(&sw->ended, BATCH_MAX * sizeof(struct ulid));
	store_write(s, sweep_write, sw, sweep_written, sw);
	return STORE_OK;
}

int
store_next_expiry(struct store_txn *txn, int64_t *ret_ms)
{
	struct due d;
	int rc;

	if ((rc = due_next(txn, INT64_MAX, &d)) == STORE_OK)
		*ret_ms = d.stamp_ms;
	return rc;
}
