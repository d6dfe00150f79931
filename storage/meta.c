/*
 * The meta records of a store: schema version, epoch, last stamp, digest key,
 * numbers. Runs in supervisord. An upgrade of the schema is a step in the
 * transaction that opens the store.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/mp.h"
#include "storage/store_impl.h"

#define META_BYTES 32

static const char *const table_names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
};

static void
meta_key(struct key *k, const char *name)
{
	key_init(k);
	key_add(k, name, strlen(name));
}

int
meta_put(struct store_txn *txn, const char *name, int64_t value)
{
	struct buf b;
	struct key k;
	int rc;

	buf_init(&b, META_BYTES);
	meta_key(&k, name);
	mp_put_array(&b, 1);
	mp_put_int(&b, value);
	if (b.failed)
		txn_fail(txn, STORE_NO_MEMORY);
	rc = txn_put(txn, TABLE_META, &k, b.data, b.len);
	buf_clear(&b);
	return rc;
}

int
meta_get(struct store_txn *txn, const char *name, int64_t *ret_value)
{
	struct mp_reader r;
	const uint8_t *p;
	struct key k;
	uint32_t n;
	int64_t v;
	size_t len;
	int rc;

	meta_key(&k, name);
	if ((rc = txn_get(txn, TABLE_META, &k, &p, &len)) != STORE_OK)
		return rc;
	mp_reader_init(&r, p, len);
	if (!mp_get_array(&r, &n) || n != 1 || !mp_get_int(&r, &v) ||
	    !mp_done(&r))
		return STORE_CORRUPT;
	*ret_value = v;
	return STORE_OK;
}

static void
number_name(char ret[64], const char *name)
{
	snprintf(ret, 64, "number.%.32s", name);
}

int
store_number_put(struct store_txn *txn, const char *name, int64_t value)
{
	char key[64];

	number_name(key, name);
	return meta_put(txn, key, value);
}

int
store_number_get(struct store_txn *txn, const char *name, int64_t *ret_value)
{
	char key[64];
	int rc;

	number_name(key, name);
	rc = meta_get(txn, key, ret_value);
	if (rc == STORE_NOT_FOUND) {
		*ret_value = 0;
		rc = STORE_OK;
	}
	return rc;
}

static int
meta_key_bytes(struct store_txn *txn, bool create)
{
	struct store *s = txn->store;
	uint8_t key[META_DIGEST_KEY_BYTES];
	const uint8_t *p = key;
	size_t len = sizeof(key);
	struct key k;
	int rc;

	meta_key(&k, META_DIGEST_KEY);
	if (create) {
		arc4random_buf(key, sizeof(key));
		rc = txn_put(txn, TABLE_META, &k, key, sizeof(key));
	} else {
		rc = txn_get(txn, TABLE_META, &k, &p, &len);
	}
	if (rc == STORE_OK && len != sizeof(key))
		rc = STORE_CORRUPT;
	if (rc == STORE_OK)
		hmac_sha256_set_key(&s->digest, len, p);
	explicit_bzero(key, sizeof(key));
	return rc;
}

/*
 * A backup has no key, so that a restored store makes one. What was digested
 * before, of runs with earlier ids, cannot be compared with it.
 */
static int
meta_key_again(struct store_txn *txn)
{
	struct store *s = txn->store;

	s->digest_since_ms = s->floor_ms + 1;
	meta_put(txn, META_DIGEST_SINCE, s->digest_since_ms);
	return meta_key_bytes(txn, true);
}

/* Missing meta records in a store that has a schema are damage. */
static int
meta_read(struct store_txn *txn)
{
	struct store *s = txn->store;
	int64_t epoch;
	int rc;

	if ((rc = meta_get(txn, "stamp", &s->floor_ms)) == STORE_OK &&
	    (rc = meta_get(txn, "last_epoch", &epoch)) == STORE_OK &&
	    (rc = meta_key_bytes(txn, false)) == STORE_NOT_FOUND &&
	    txn->writable)
		return meta_key_again(txn);
	if (rc == STORE_OK &&
	    (rc = meta_get(txn, META_DIGEST_SINCE, &s->digest_since_ms)) ==
		STORE_NOT_FOUND)
		return STORE_OK;
	return rc == STORE_NOT_FOUND ? STORE_CORRUPT : rc;
}

static int
meta_create(struct store_txn *txn)
{
	struct store *s = txn->store;

	s->floor_ms = s->opt.now_ms;
	meta_put(txn, "schema", SCHEMA_VERSION);
	meta_put(txn, "stamp", s->opt.now_ms);
	meta_put(txn, "last_epoch", 0);
	audit_create(txn);
	return meta_key_bytes(txn, true);
}

/*
 * Schema 1 had no audit log. In 2 a run's record ended before what is known of
 * its worker's messages: such records are read as they are. Up to 3 the states
 * of sessions had no seal. They are files, which this transaction does not hold:
 * what it sealed before it failed is passed over the next time.
 */
static int
meta_upgrade(struct store_txn *txn, int64_t schema)
{
	enum store_err err;

	if (schema == SCHEMA_VERSION)
		return STORE_OK;
	if (schema < 2)
		audit_create(txn);
	if (schema < 4 && (err = session_states_seal(txn->store)) != STORE_OK)
		return (int)err;
	return meta_put(txn, "schema", SCHEMA_VERSION);
}

/* Of a reader: all tables are there, since the schema is this one. */
int
meta_look(struct store *s, MDB_txn *mdb)
{
	struct store_txn txn = { .store = s, .mdb = mdb };
	int64_t schema;
	int rc;

	rc = mdb_dbi_open(mdb, table_names[TABLE_META], 0, &s->dbi[TABLE_META]);
	if (rc != 0)
		return rc == MDB_NOTFOUND ? STORE_CORRUPT : txn_note(&txn, rc);
	if ((rc = meta_get(&txn, "schema", &schema)) != STORE_OK)
		return rc == STORE_NOT_FOUND ? STORE_CORRUPT : rc;
	if (schema != SCHEMA_VERSION)
		return schema > SCHEMA_VERSION ? STORE_NEWER : STORE_OLDER;
	for (int t = 0; t < TABLE__MAX; t++) {
		rc = mdb_dbi_open(mdb, table_names[t], 0, &s->dbi[t]);
		if (rc != 0)
			return rc == MDB_NOTFOUND ? STORE_CORRUPT
						  : txn_note(&txn, rc);
	}
	return meta_read(&txn);
}

int
meta_open(struct store *s, MDB_txn *mdb)
{
	struct store_txn txn = { .store = s, .mdb = mdb, .writable = true };
	int64_t schema;
	int rc;

	for (int t = 0; t < TABLE__MAX; t++) {
		rc = mdb_dbi_open(mdb, table_names[t], MDB_CREATE, &s->dbi[t]);
		if (rc != 0)
			return txn_note(&txn, rc);
	}
	rc = meta_get(&txn, "schema", &schema);
	if (rc == STORE_NOT_FOUND) {
		MDB_stat st;

		/* Data without a schema is not a new store. */
		if (txn_note(&txn, mdb_stat(mdb, s->dbi[TABLE_META], &st)) !=
		    STORE_OK)
			return txn.err;
		return st.ms_entries != 0 ? STORE_CORRUPT : meta_create(&txn);
	}
	if (rc != STORE_OK)
		return rc;
	if (schema > SCHEMA_VERSION)
		return STORE_NEWER;
	if (schema < 1)
		return STORE_CORRUPT;
	rc = meta_read(&txn);
	return rc == STORE_OK ? meta_upgrade(&txn, schema) : rc;
}
