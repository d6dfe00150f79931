/*
 * Records of a backup into a new database. Runs in a process of supervisord's
 * program that does nothing else. What is read may be a stranger's: every key
 * must rise, every table must be one of ours. Whether the records are sound, a
 * check of the new store tells.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storage/backup_int.h"

#define MAP_LEAST   (64ull << 20)
#define BATCH_BYTES (32ull << 20)

static const char *const table_names[] = {
#define TABLE(name, database, key, value) database,
#include "storage/tables.def"
#undef TABLE
};

struct records {
	MDB_env *env;
	MDB_txn *txn;
	MDB_dbi dbi;           /* of the table that comes */
	bool seen[TABLE__MAX]; /* tables that came */
	uint64_t batch;        /* bytes since the last commit */
	struct records_reader reader;
};

static enum store_err take_table(void *, const char *);
static enum store_err
take_entry(void *, const uint8_t *, size_t, const uint8_t *, size_t);

static const struct records_sink sink = { take_table, take_entry };

enum store_err
records_new(const char *store_dir, uint64_t size, struct records **ret_records)
{
	struct records *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return STORE_NO_MEMORY;
	records_reader_init(&r->reader, &sink, r);
	/* Pages are not always full; what is not written takes no space. */
	size = MAP_LEAST + (size > UINT64_MAX / 8 ? 0 : size * 4);
	if ((rc = mdb_env_create(&r->env)) == 0 &&
	    (rc = mdb_env_set_maxdbs(r->env, TABLE__MAX)) == 0 &&
	    (rc = mdb_env_set_mapsize(r->env, size)) == 0 &&
	    (rc = mdb_env_open(
		 r->env, store_dir, MDB_NOTLS | MDB_NOSYNC, 0600)) == 0)
		rc = mdb_txn_begin(r->env, NULL, 0, &r->txn);
	if (rc != 0) {
		records_free(&r);
		return rc == MDB_INVALID ? STORE_EXISTS : store_err_of(rc);
	}
	*ret_records = r;
	return STORE_OK;
}

static enum store_err
records_commit(struct records *r, bool more)
{
	int rc = mdb_txn_commit(r->txn);

	r->txn = NULL;
	r->batch = 0;
	if (rc == 0 && more)
		rc = mdb_txn_begin(r->env, NULL, 0, &r->txn);
	return store_err_of(rc);
}

/* A table of ours, each once. */
static enum store_err
take_table(void *arg, const char *name)
{
	struct records *r = arg;

	for (int t = 0; t < TABLE__MAX; t++) {
		if (strcmp(name, table_names[t]) != 0)
			continue;
		if (r->seen[t])
			return STORE_CORRUPT;
		r->seen[t] = true;
		return store_err_of(
		    mdb_dbi_open(r->txn, name, MDB_CREATE, &r->dbi));
	}
	return STORE_NEWER;
}

/* Keys rise, or LMDB refuses them. */
static enum store_err
take_entry(void *arg, const uint8_t *key, size_t key_len, const uint8_t *value,
    size_t value_len)
{
	/* LMDB writes through neither; their type just is not const. */
	MDB_val k = { key_len, (void *)(uintptr_t)key };
	MDB_val v = { value_len, (void *)(uintptr_t)value };
	struct records *r = arg;
	int rc = mdb_put(r->txn, r->dbi, &k, &v, MDB_APPEND);

	if (rc == MDB_KEYEXIST)
		return STORE_CORRUPT;
	r->batch += key_len + value_len;
	if (rc == 0 && r->batch >= BATCH_BYTES)
		return records_commit(r, true);
	return store_err_of(rc);
}

enum store_err
records_take(struct records *r, const uint8_t *bytes, size_t len)
{
	return records_read(&r->reader, bytes, len);
}

enum store_err
records_end(struct records *r)
{
	enum store_err err;

	if (!records_reader_done(&r->reader))
		return STORE_CORRUPT;
	if ((err = records_commit(r, false)) != STORE_OK)
		return err;
	return store_err_of(mdb_env_sync(r->env, 1));
}

void
records_free(struct records **records)
{
	struct records *r = *records;

	if (r == NULL)
		return;
	if (r->txn != NULL)
		mdb_txn_abort(r->txn);
	if (r->env != NULL)
		mdb_env_close(r->env);
	records_reader_clear(&r->reader);
	free(r);
	*records = NULL;
}
