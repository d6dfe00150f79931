/*
 * The artifacts' share of the disk: how much they hold, and letting them expire
 * before their time when that is too much. Runs in supervisord.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/panic.h"
#include "storage/artifact.h"
#include "storage/store_impl.h"
#include "storage/sweep.h"

#define BATCH_MAX   10000u
#define LOOKS       20 /* entries looked at for each that may go */
#define TOTAL_NAME  "artifact_bytes"
#define OWNER_NAME  TOTAL_NAME "_" /* and the uid */
#define NAME_BYTES  32
#define STAMP_BYTES 8
#define PASSES      2 /* the first may have begun in the middle */

struct trim {
	struct store *store;
	int64_t now_ms;
	int64_t tombstone_ms;
	uint64_t budget;
	unsigned max;
	sweep_done_fn *done;
	void *arg;
	struct buf rows;  /* struct artifact_row each: those to go */
	struct buf files; /* struct ulid each: to unlink after the commit */
	struct key next;  /* where the next batch goes on */
	uint32_t uid;     /* whose are to go */
	unsigned passes;
	struct sweep_result result;
};

/* Counted row by row; what cannot be read holds nothing. uid -1: all. */
static int
count_all(struct store_txn *txn, int64_t uid, int64_t *ret_bytes)
{
	struct artifact_row row;
	struct txn_walk w;
	struct key all;
	struct ulid id;
	int64_t n = 0;

	key_init(&all);
	walk_up(&w, txn, TABLE_ARTIFACTS, &all, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key, sizeof(id));
		if (artifact_get(txn, &id, &row) == STORE_OK &&
		    row.state != ARTIFACT_TOMBSTONE &&
		    (uid == -1 || row.uid == (uint32_t)uid))
			n += (int64_t)row.size;
	}
	walk_end(&w);
	*ret_bytes = n;
	return txn->err;
}

static const char *
total_name(int64_t uid, char room[NAME_BYTES])
{
	if (uid == -1)
		return TOTAL_NAME;
	snprintf(room, NAME_BYTES, OWNER_NAME "%" PRId64, uid);
	return room;
}

/* uid -1: of all. */
static int
total_get(struct store_txn *txn, int64_t uid, int64_t *ret_bytes)
{
	char room[NAME_BYTES];
	int rc = meta_get(txn, total_name(uid, room), ret_bytes);

	if (rc == STORE_NOT_FOUND || rc == STORE_CORRUPT || rc == STORE_NEWER)
		rc = count_all(txn, uid, ret_bytes);
	return rc;
}

static int
total_add(struct store_txn *txn, int64_t uid, int64_t bytes)
{
	char room[NAME_BYTES];
	int64_t n = 0;
	int rc = total_get(txn, uid, &n);

	if (rc != STORE_OK)
		return rc;
	n += bytes;
	return meta_put(txn, total_name(uid, room), n > 0 ? n : 0);
}

int
artifact_total(struct store_txn *txn, uint64_t *ret_bytes)
{
	int64_t n = 0;
	int rc = total_get(txn, -1, &n);

	if (rc == STORE_OK)
		*ret_bytes = n > 0 ? (uint64_t)n : 0;
	return rc;
}

int
artifact_total_of(struct store_txn *txn, uint32_t uid, uint64_t *ret_bytes)
{
	int64_t n = 0;
	int rc = total_get(txn, uid, &n);

	if (rc == STORE_OK)
		*ret_bytes = n > 0 ? (uint64_t)n : 0;
	return rc;
}

int
artifact_total_add(struct store_txn *txn, uint32_t uid, int64_t bytes)
{
	int rc = total_add(txn, uid, bytes);

	return rc == STORE_OK ? total_add(txn, -1, bytes) : rc;
}

/* Who holds how much. */
struct owners {
	uint32_t uid; /* who holds the most */
	int64_t most, second, sum, count;
};

static void
owners_see(struct owners *o, uint32_t uid, int64_t bytes)
{
	o->sum += bytes;
	o->count += bytes > 0;
	if (bytes > o->most) {
		o->second = o->most;
		o->most = bytes;
		o->uid = uid;
	} else if (bytes > o->second) {
		o->second = bytes;
	}
}

static int
owners_read(struct store_txn *txn, struct owners *ret)
{
	const size_t head = strlen(OWNER_NAME);
	char name[NAME_BYTES];
	struct txn_walk w;
	struct key prefix;
	int64_t bytes;

	memset(ret, 0, sizeof(*ret));
	key_init(&prefix);
	key_add(&prefix, OWNER_NAME, head);
	walk_up(&w, txn, TABLE_META, &prefix, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len >= sizeof(name))
			continue;
		memcpy(name, w.entry.key, w.entry.key_len);
		name[w.entry.key_len] = '\0';
		if (meta_get(txn, name, &bytes) == STORE_OK)
			owners_see(ret,
			    (uint32_t)strtoul(name + head, NULL, 10), bytes);
	}
	walk_end(&w);
	return txn->err;
}

/* Stores from before have no number for each, or one may be wrong. */
static int
owners_count(struct store_txn *txn, struct owners *ret)
{
	struct artifact_row row;
	char room[NAME_BYTES];
	struct txn_walk w;
	struct key all;
	struct ulid id;
	struct buf uids; /* uint32_t each */
	int64_t bytes;
	uint32_t uid;
	int rc = STORE_OK;

	key_init(&all);
	buf_init(&uids, SIZE_MAX);
	walk_up(&w, txn, TABLE_ARTIFACTS, &all, NULL);
	while (walk_next(&w)) {
		size_t at = 0;

		if (w.entry.key_len != ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key, sizeof(id));
		if (artifact_get(txn, &id, &row) != STORE_OK)
			continue;
		while (at < uids.len &&
		    memcmp(uids.data + at, &row.uid, sizeof(uid)) != 0)
			at += sizeof(uid);
		if (at == uids.len)
			buf_add(&uids, &row.uid, sizeof(row.uid));
	}
	walk_end(&w);
	if (uids.failed)
		rc = STORE_NO_MEMORY;
	for (size_t at = 0; rc == STORE_OK && at < uids.len;
	     at += sizeof(uid)) {
		memcpy(&uid, uids.data + at, sizeof(uid));
		if ((rc = count_all(txn, uid, &bytes)) == STORE_OK)
			rc = meta_put(txn, total_name(uid, room), bytes);
	}
	buf_clear(&uids);
	return rc == STORE_OK ? owners_read(txn, ret) : rc;
}

/*
 * Who is to lose artifacts, and how much: down to what the next one has, and a
 * share of what all have to lose then.
 */
static int
trim_owner(
    struct trim *t, struct store_txn *txn, int64_t total, int64_t *ret_excess)
{
	int64_t excess = total - (int64_t)t->budget;
	struct store *s = txn->store;
	struct owners o;
	int rc = owners_read(txn, &o);

	if (rc == STORE_OK && excess > 0 && o.sum != total)
		rc = owners_count(txn, &o);
	if (rc != STORE_OK)
		return rc;
	if (excess > o.most - o.second && o.second > 0) {
		int64_t beyond = excess - (o.most - o.second);

		excess -= beyond - (beyond + o.count - 1) / o.count;
	}
	*ret_excess = excess;
	t->uid = o.uid;
	t->next = s->trim_next;
	if (t->uid != s->trim_uid)
		key_init(&t->next);
	return STORE_OK;
}

/* Looks at one entry of the expiry index; true: its artifact may go. */
static bool
trim_look(struct trim *t, struct txn_walk *w, struct artifact_row *ret_row)
{
	size_t head = STAMP_BYTES + 1;
	struct ulid id;

	if (w->entry.key_len != head + ULID_BYTES ||
	    w->entry.key[STAMP_BYTES] != EXPIRY_ARTIFACT)
		return false;
	memcpy(&id, w->entry.key + head, sizeof(id));
	return artifact_get(w->txn, &id, ret_row) == STORE_OK &&
	    ret_row->state != ARTIFACT_TOMBSTONE && ret_row->uid == t->uid &&
	    buf_add(&t->rows, ret_row, sizeof(*ret_row));
}

/*
 * Those that would expire next, until enough is freed. *ret_end: the index ends
 * here.
 */
static int
trim_choose(
    struct trim *t, struct store_txn *txn, int64_t excess, bool *ret_end)
{
	unsigned looks = 0, found = 0;
	struct artifact_row row;
	struct txn_walk w;
	struct key all;

	key_init(&all);
	*ret_end = false;
	walk_up(&w, txn, TABLE_EXPIRY, &all, &t->next);
	while (excess > 0 && found < t->max && looks++ < t->max * LOOKS) {
		if (!walk_next(&w)) {
			*ret_end = true;
			break;
		}
		if (w.entry.key_len <= STORE_KEY_BYTES) {
			key_init(&t->next);
			key_add(&t->next, w.entry.key, w.entry.key_len);
		}
		if (trim_look(t, &w, &row)) {
			found++;
			excess -= (int64_t)row.size;
		}
	}
	walk_end(&w);
	return t->rows.failed ? STORE_NO_MEMORY : txn->err;
}

static int
trim_row(struct trim *t, struct store_txn *txn, const struct artifact_row *row)
{
	bool file, gone;
	struct key k;
	int rc;

	/* Its own entry goes; the tombstone gets another. */
	expiry_key(&k, row->expires_ms, EXPIRY_ARTIFACT, row->id.b, ULID_BYTES);
	txn_delete(txn, TABLE_EXPIRY, &k);
	rc = artifact_expire(
	    txn, &row->id, t->now_ms, t->tombstone_ms, &file, &gone);
	if (rc != STORE_OK)
		return rc;
	t->result.artifacts++;
	t->result.rows++;
	if (file && !buf_add(&t->files, &row->id, sizeof(row->id)))
		return STORE_NO_MEMORY;
	return STORE_OK;
}

static int
trim_write(struct store_txn *txn, void *arg)
{
	struct trim *t = arg;
	struct artifact_row row;
	int64_t total = 0, excess = 0;
	bool end = false;
	int rc;

	memset(&t->result, 0, sizeof(t->result));
	buf_reset(&t->rows);
	buf_reset(&t->files);
	if ((rc = total_get(txn, -1, &total)) == STORE_OK &&
	    (rc = trim_owner(t, txn, total, &excess)) == STORE_OK)
		rc = trim_choose(t, txn, excess, &end);
	for (size_t at = 0; rc == STORE_OK && at < t->rows.len;
	     at += sizeof(row)) {
		memcpy(&row, t->rows.data + at, sizeof(row));
		rc = trim_row(t, txn, &row);
	}
	if (rc != STORE_OK || (rc = total_get(txn, -1, &total)) != STORE_OK)
		return rc;
	t->passes = t->rows.len > 0 || t->uid != txn->store->trim_uid
	    ? 0
	    : txn->store->trim_passes;
	if (end) {
		key_init(&t->next);
		t->passes++;
	}
	if (total <= (int64_t)t->budget)
		return STORE_OK;
	t->result.more = t->passes < PASSES;
	/* Nothing can go and yet too much is held: the number may be wrong. */
	if (!t->result.more && (rc = count_all(txn, -1, &total)) == STORE_OK)
		rc = meta_put(txn, TOTAL_NAME, total);
	return rc;
}

static void
trim_written(void *arg, int err)
{
	struct trim *t = arg;
	struct ulid id;

	if (err == STORE_OK) {
		t->store->trim_next = t->next;
		t->store->trim_uid = t->uid;
		t->store->trim_passes = t->result.more ? t->passes : 0;
	}
	for (size_t at = 0; err == STORE_OK && at < t->files.len;
	     at += sizeof(id)) {
		memcpy(&id, t->files.data + at, sizeof(id));
		artifact_file_remove(t->store, &id);
	}
	if (t->done != NULL)
		t->done(t->arg, err, &t->result);
	buf_clear(&t->rows);
	buf_clear(&t->files);
	free(t);
}

enum store_err
store_trim(struct store *s, int64_t now_ms, int64_t tombstone_ms,
    uint64_t budget, unsigned max, sweep_done_fn *done, void *arg)
{
	struct trim *t;

	ASSERT(max > 0 && max <= BATCH_MAX && budget <= INT64_MAX);
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return STORE_NO_MEMORY;
	t->store = s;
	t->now_ms = now_ms;
	t->tombstone_ms = tombstone_ms;
	t->budget = budget;
	t->max = max;
	t->done = done;
	t->arg = arg;
	buf_init(&t->rows, BATCH_MAX * sizeof(struct artifact_row));
	buf_init(&t->files, BATCH_MAX * sizeof(struct ulid));
	store_write(s, trim_write, t, trim_written, t);
	return STORE_OK;
}
