/* What both the workload and the oracle do with a store. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/sha2.h>

#include "storage/audit.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/sweep.h"
#include "storage/txn.h"
#include "t/torn/work.h"

uint64_t
work_random(struct work_rand *r)
{
	/* xorshift64* */
	r->x ^= r->x >> 12;
	r->x ^= r->x << 25;
	r->x ^= r->x >> 27;
	return r->x * 0x2545f4914f6cdd1dull;
}

unsigned
work_between(struct work_rand *r, unsigned low, unsigned high)
{
	return low +
	    (unsigned)((work_random(r) >> 32) % ((uint64_t)high - low + 1));
}

struct store *
work_open(const char *dir, enum store_err *ret_err)
{
	struct store_options opt = { .map_bytes = 1 << 20,
		.map_max_bytes = 16 << 20,
		.now_ms = WORK_NOW };
	struct store *s = NULL;
	struct store_error e = { 0 };

	*ret_err = store_open(dir, &opt, &s, &e);
	if (*ret_err != STORE_OK)
		printf("# open: %s: %s (%d)\n", e.text,
		    store_strerror((int)e.code), e.sys);
	return s;
}

static void
write_done(void *arg, int err)
{
	*(int *)arg = err;
}

int
work_write(struct store *s, store_write_fn *fn, void *arg, int64_t now_ms)
{
	int result = STORE_CLOSED;

	store_write(s, fn, arg, write_done, &result);
	store_commit(s, now_ms);
	return result;
}

static int
requeue(struct store_txn *txn, struct run_record *rec, int err, void *arg)
{
	(void)txn;
	(void)arg;
	if (err != STORE_OK)
		return err;
	rec->status = RUN_QUEUED;
	rec->attempt++;
	return STORE_OK;
}

enum store_err
work_recover(struct store *s, int64_t now_ms, struct purge_result *ret_purged)
{
	enum store_err rc = store_purge(s, ret_purged);

	return rc != STORE_OK
	    ? rc
	    : (enum store_err)store_recover(s, now_ms, requeue, NULL);
}

void
work_hash(struct store *s, uint8_t ret_hash[WORK_HASH_BYTES])
{
	struct sha256_ctx sha;
	struct store_txn *txn;
	struct txn_walk w;
	struct key all;

	if (store_read_begin(s, &txn) != STORE_OK)
		errx(1, "store_read_begin");
	sha256_init(&sha);
	key_init(&all);
	for (int t = 0; t < TABLE__MAX; t++) {
		walk_up(&w, txn, (enum store_table)t, &all, NULL);
		while (walk_next(&w)) {
			uint64_t lens[3] = { (uint64_t)t, w.entry.key_len,
				w.entry.value.mv_size };

			sha256_update(&sha, sizeof(lens), (uint8_t *)lens);
			sha256_update(&sha, w.entry.key_len, w.entry.key);
			sha256_update(
			    &sha, w.entry.value.mv_size, w.entry.value.mv_data);
		}
		walk_end(&w);
	}
	store_read_end(s);
	sha256_digest(&sha, WORK_HASH_BYTES, ret_hash);
}

static void
bytes_make(uint64_t seed, uint8_t *to, size_t len)
{
	struct work_rand r = { seed * 2654435761u + 1 };

	for (size_t i = 0; i < len; i++)
		to[i] = (uint8_t)(work_random(&r) >> 56);
}

size_t
work_version_bytes(size_t version, uint8_t ret[WORK_STATE_BYTES])
{
	size_t len = 600 + version * 7919 % (WORK_STATE_BYTES - 600);

	bytes_make(version + 1, ret, len);
	ret[0] = (uint8_t)(version >> 8);
	ret[1] = (uint8_t)version;
	return len;
}

long
work_version_of(const uint8_t *p, size_t len)
{
	static uint8_t want[WORK_STATE_BYTES];
	long version;

	if (len < 2)
		return -1;
	version = p[0] << 8 | p[1];
	return work_version_bytes((size_t)version, want) == len &&
		memcmp(want, p, len) == 0
	    ? version
	    : -1;
}

/* One write of several rows. */
struct item {
	const struct ulid *run;
	struct journal_row row;
	int64_t now_ms;
};

static int
item_write(struct store_txn *txn, void *arg)
{
	struct item *it = arg;
	struct event_row e = { .kind = EVENT_PROGRESS,
		.stamp_ms = it->now_ms,
		.doc = (const uint8_t *)"{\"index\":1}",
		.doc_len = 11 };
	struct run_record r;
	uint64_t seq;
	int rc;

	if ((rc = journal_insert(txn, it->run, &it->row)) != STORE_OK ||
	    (rc = run_get(txn, it->run, &r)) != STORE_OK)
		return rc;
	r.done++;
	r.updated_ms = it->now_ms;
	if ((rc = run_update(txn, &r)) != STORE_OK)
		return rc;
	return event_append(txn, it->run, &e, &seq);
}

int
work_item(struct store *s, struct spool *sp, const struct ulid *run,
    uint32_t index, size_t len, int64_t now_ms)
{
	static uint8_t bytes[WORK_ITEM_BYTES];
	struct item it = { .run = run, .now_ms = now_ms };
	int rc;

	it.row = (struct journal_row){ .index = index,
		.ok = true,
		.record = (const uint8_t *)"{\"ok\":true}",
		.record_len = 11,
		.nextents = 2 };
	bytes_make(index + len, bytes, len);
	/* Two pieces: the page and what stands behind it. */
	if ((rc = (int)spool_append(
		 sp, bytes, len - 100, &it.row.extents[0])) != STORE_OK ||
	    (rc = (int)spool_append(
		 sp, bytes + len - 100, 100, &it.row.extents[1])) != STORE_OK)
		return rc;
	it.row.extents[1].part = 1;
	return work_write(s, item_write, &it, now_ms);
}

static void
id_make(struct ulid *id, unsigned number, int64_t now_ms, uint8_t kind)
{
	memset(id, 0, sizeof(*id));
	for (int i = 0; i < 6; i++)
		id->b[i] = (uint8_t)(now_ms >> (40 - 8 * i));
	id->b[6] = kind;
	id->b[8] = (uint8_t)(number >> 8);
	id->b[9] = (uint8_t)number;
	id->b[15] = (uint8_t)(number % 3);
}

void
work_run_make(struct run_record *r, unsigned number, int64_t now_ms)
{
	memset(r, 0, sizeof(*r));
	id_make(&r->id, number, now_ms, 'r');
	id_make(&r->session, number, now_ms, 's');
	r->owns_session = true;
	r->uid = 1000 + number % 2;
	r->attempt = 1;
	r->status = RUN_QUEUED;
	r->priority = PRIORITY_NORMAL;
	r->created_ms = r->updated_ms = now_ms;
	r->limit_ms = 300000;
	strlcpy(r->template_id, "batch_extract_pages", sizeof(r->template_id));
	strlcpy(r->template_version, "1.0.0", sizeof(r->template_version));
	r->has_identity = true;
	r->identity[0] = IDEM_MCP;
	r->identity[1] = (uint8_t)(number >> 8);
	r->identity[2] = (uint8_t)number;
}

static int
submit_write(struct store_txn *txn, void *arg)
{
	static uint8_t inputs[6000];
	struct run_record *r = arg;
	struct idem_row key = { .uid = r->uid, .run = r->id, .with_run = true };
	struct event_row e = { .kind = EVENT_RUN_CREATED,
		.stamp_ms = r->created_ms };
	struct audit_entry row = { .time_ms = r->created_ms,
		.actor = r->uid,
		.action = AUDIT_RUN_SUBMIT,
		.run = r->id };
	uint64_t seq;
	int rc;

	bytes_make(r->identity[2], inputs, sizeof(inputs));
	if ((rc = idem_reserve(txn, r->identity, r->created_ms, &key)) !=
		STORE_OK ||
	    (rc = run_insert(txn, r)) != STORE_OK ||
	    (rc = run_doc_put(txn, &r->id, RUN_DOC_INPUTS, inputs,
		 200 + r->identity[2] * 97u % 5800)) != STORE_OK ||
	    (rc = event_append(txn, &r->id, &e, &seq)) != STORE_OK)
		return rc;
	return audit_append(txn, &row);
}

int
work_submit(struct store *s, struct run_record *r, int64_t now_ms)
{
	return work_write(s, submit_write, r, now_ms);
}
