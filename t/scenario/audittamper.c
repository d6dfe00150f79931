/*
 * A helper of audit.t: changes the audit log of a store that nobody has open,
 * as somebody would who can write its files and knows their format: with
 * checksums of records, and hashes of rows where that is asked for, that fit.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/store_impl.h"

#define RECORD_BYTES 4096

struct order {
	const char *what;
	uint64_t row, other;
	bool good;
};

static size_t
take(struct store_txn *txn, uint64_t number, uint8_t *ret, struct key *ret_key)
{
	const uint8_t *p;
	size_t len;

	audit_key(ret_key, number);
	if (txn_get(txn, TABLE_AUDIT, ret_key, &p, &len) != STORE_OK ||
	    len > RECORD_BYTES)
		errx(1, "row %llu cannot be read", (unsigned long long)number);
	memcpy(ret, p, len);
	return len;
}

static void
edit(struct store_txn *txn, const struct order *o, bool rehash)
{
	uint8_t bytes[RECORD_BYTES], hash[AUDIT_HASH_BYTES];
	struct audit_record r;
	struct key k;
	size_t len = take(txn, o->row, bytes, &k);

	bytes[len - 1] ^= 1;
	if (rehash && audit_record_read(bytes, len, &r) == STORE_OK) {
		audit_record_hash(o->row, &r, hash);
		memcpy(bytes, hash, sizeof(hash));
	}
	txn_put(txn, TABLE_AUDIT, &k, bytes, len);
}

static void
swap(struct store_txn *txn, const struct order *o)
{
	uint8_t a[RECORD_BYTES], b[RECORD_BYTES];
	struct key ka, kb;
	size_t na = take(txn, o->row, a, &ka), nb = take(txn, o->other, b, &kb);

	txn_put(txn, TABLE_AUDIT, &ka, b, nb);
	txn_put(txn, TABLE_AUDIT, &kb, a, na);
}

static void
erase(struct store_txn *txn, uint64_t from, uint64_t to)
{
	struct key k;

	for (; from <= to; from++) {
		audit_key(&k, from);
		txn_delete(txn, TABLE_AUDIT, &k);
	}
}

/* The rows from one on, and the log's state is made to fit. */
static void
cut(struct store_txn *txn, const struct order *o)
{
	uint8_t bytes[RECORD_BYTES];
	struct key k;

	take(txn, o->row - 1, bytes, &k);
	if (audit_state(txn, &txn->audit) != STORE_OK)
		errx(1, "no state");
	erase(txn, o->row, txn->audit.rows);
	memcpy(txn->audit.head, bytes, sizeof(txn->audit.head));
	txn->audit.rows = o->row - 1;
	txn->audit_known = txn->audit_changed = true;
}

static void
forget(struct store_txn *txn)
{
	struct key k;

	key_init(&k);
	key_add(&k, "state", strlen("state"));
	txn_delete(txn, TABLE_AUDIT_STATE, &k);
}

static int
obey(struct store_txn *txn, void *arg)
{
	struct order *o = arg;

	if (strcmp(o->what, "edit") == 0)
		edit(txn, o, false);
	else if (strcmp(o->what, "forge") == 0)
		edit(txn, o, true);
	else if (strcmp(o->what, "delete") == 0)
		erase(txn, o->row, o->row);
	else if (strcmp(o->what, "swap") == 0)
		swap(txn, o);
	else if (strcmp(o->what, "cut") == 0)
		cut(txn, o);
	else if (strcmp(o->what, "forget") == 0)
		forget(txn);
	else
		errx(2, "%s: no such order", o->what);
	return txn->err;
}

static void
obeyed(void *arg, int error)
{
	struct order *o = arg;

	o->good = error == STORE_OK;
}

int
main(int argc, char **argv)
{
	struct store_options options = { 0 };
	struct store_error error;
	struct order order = { 0 };
	struct store *s = NULL;

	if (argc < 3)
		errx(2, "usage: audittamper STATEDIR ORDER [ROW [ROW]]");
	order.what = argv[2];
	order.row = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	order.other = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
	if (store_open(argv[1], &options, &s, &error) != STORE_OK)
		errx(1, "%s: %s", argv[1], error.text);
	store_write(s, obey, &order, obeyed, &order);
	store_commit(s, 0);
	store_free(&s);
	return order.good ? 0 : 1;
}
