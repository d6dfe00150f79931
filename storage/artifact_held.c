/*
 * How much of the disk artifacts hold: all of them, and each user's. The numbers
 * are kept with every change, and counted where there is none. Runs in
 * supervisord.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "storage/artifact.h"
#include "storage/artifact_held.h"
#include "storage/store_impl.h"

#define TOTAL_NAME "artifact_bytes"
#define OWNER_NAME TOTAL_NAME "_" /* and the uid */
#define NAME_BYTES 32

/* What cannot be read holds nothing. */
static int
each_held(struct store_txn *txn,
    void (*see)(void *arg, const struct artifact_row *), void *arg)
{
	struct artifact_row row;
	struct txn_walk w;
	struct key all;
	struct ulid id;

	key_init(&all);
	walk_up(&w, txn, TABLE_ARTIFACTS, &all, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len != ULID_BYTES)
			continue;
		memcpy(&id, w.entry.key, sizeof(id));
		if (artifact_get(txn, &id, &row) == STORE_OK &&
		    row.state != ARTIFACT_TOMBSTONE)
			see(arg, &row);
	}
	walk_end(&w);
	return txn->err;
}

struct counted {
	int64_t uid; /* -1: all */
	int64_t bytes;
};

static void
count_row(void *arg, const struct artifact_row *row)
{
	struct counted *c = arg;

	if (c->uid == -1 || row->uid == (uint32_t)c->uid)
		c->bytes += (int64_t)row->size;
}

/* Row by row. */
static int
count_all(struct store_txn *txn, int64_t uid, int64_t *ret_bytes)
{
	struct counted c = { .uid = uid };
	int rc = each_held(txn, count_row, &c);

	*ret_bytes = c.bytes;
	return rc;
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

size_t
owners_count(const struct buf *owners)
{
	return owners->len / sizeof(struct owner);
}

/* NULL: no memory, which the buf knows. */
static struct owner *
owners_get(struct buf *owners, uint32_t uid)
{
	struct owner *list = (void *)owners->data, new = { .uid = uid };
	size_t low = 0, high = owners_count(owners);

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (list[mid].uid < uid)
			low = mid + 1;
		else
			high = mid;
	}
	high = owners_count(owners);
	if (low < high && list[low].uid == uid)
		return &list[low];
	if (!buf_add(owners, &new, sizeof(new)))
		return NULL;
	list = (void *)owners->data;
	memmove(&list[low + 1], &list[low], (high - low) * sizeof(new));
	list[low] = new;
	return &list[low];
}

int
owners_read(struct store_txn *txn, struct buf *owners, int64_t *ret_sum)
{
	const size_t head = strlen(OWNER_NAME);
	char name[NAME_BYTES];
	struct txn_walk w;
	struct key prefix;
	struct owner *o;
	int64_t bytes;

	*ret_sum = 0;
	key_init(&prefix);
	key_add(&prefix, OWNER_NAME, head);
	walk_up(&w, txn, TABLE_META, &prefix, NULL);
	while (walk_next(&w)) {
		if (w.entry.key_len >= sizeof(name))
			continue;
		memcpy(name, w.entry.key, w.entry.key_len);
		name[w.entry.key_len] = '\0';
		if (meta_get(txn, name, &bytes) != STORE_OK || bytes <= 0)
			continue;
		o = owners_get(
		    owners, (uint32_t)strtoul(name + head, NULL, 10));
		if (o != NULL)
			o->bytes = bytes;
		*ret_sum += bytes;
	}
	walk_end(&w);
	return owners->failed ? STORE_NO_MEMORY : txn->err;
}

static void
owners_see(void *arg, const struct artifact_row *row)
{
	struct owner *o = owners_get(arg, row->uid);

	if (o != NULL)
		o->bytes += (int64_t)row->size;
}

int
owners_correct(struct store_txn *txn, struct buf *owners, int64_t *ret_sum)
{
	struct owner *list = (void *)owners->data;
	char room[NAME_BYTES];
	int64_t sum = 0;
	int rc;

	for (size_t i = 0; i < owners_count(owners); i++)
		list[i].bytes = 0;
	rc = each_held(txn, owners_see, owners);
	if (rc == STORE_OK && owners->failed)
		rc = STORE_NO_MEMORY;
	list = (void *)owners->data;
	for (size_t i = 0; rc == STORE_OK && i < owners_count(owners); i++) {
		sum += list[i].bytes;
		rc =
		    meta_put(txn, total_name(list[i].uid, room), list[i].bytes);
	}
	*ret_sum = sum;
	return rc == STORE_OK ? meta_put(txn, TOTAL_NAME, sum) : rc;
}
