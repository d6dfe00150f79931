/* backup_int: the form of a backup's files; for storage/ alone. */
#ifndef STORAGE_BACKUP_INT_H
#define STORAGE_BACKUP_INT_H

#include "storage/backup.h"
#include "storage/store_impl.h"

#define RECORDS_FILE "records"
#define GONE_FILE    "gone" /* lines of an artifact's ULID */
#define SHARD_CHARS  2

/*
 * Records begin with the magic. Then, all numbers with their highest byte
 * first: "T", the length of a table's name (1 byte) and the name: what follows
 * is of this table; "R", length of key (2) and value (4), key, value as it
 * stands in the database, in order of keys; at the end "E" and the number of
 * all entries (8).
 */
#define RECORDS_MAGIC     "browsertask records 1\n"
#define RECORDS_TABLE     "T"
#define RECORDS_ENTRY     "R"
#define RECORDS_END       "E"

#define RECORDS_NAME_MAX  64
#define RECORDS_VALUE_MAX (STORE_DOC_BYTES + 4096u)

/* The spool of a run that has not ended, as far as its journal names it. */
struct spool_copy {
	struct ulid run;
	int fd;
	uint64_t end;
};
/*
 * Opens those of all runs, appended to spools, to be closed by the other. *whole
 * is false when one is missing: its run may have ended since.
 */
enum store_err
spool_copies_open(struct store_txn *, struct buf *spools, bool *ret_whole);
void spool_copies_close(struct buf *spools);

/* Reads records that come in pieces, and hands on what is in them. */
struct records_sink {
	enum store_err (*table)(void *arg, const char *name);
	/* Of the table named last; of lengths that the store has. */
	enum store_err (*entry)(void *arg, const uint8_t *key, size_t key_len,
	    const uint8_t *value, size_t value_len);
};
struct records_reader {
	struct buf in; /* what is not complete yet */
	bool begun;    /* the magic was there */
	bool in_table, ended;
	uint64_t entries;
	const struct records_sink *sink;
	void *arg;
};
void records_reader_init(
    struct records_reader *, const struct records_sink *, void *arg);
void records_reader_clear(struct records_reader *);
/* STORE_CORRUPT for what no backup has, or what the sink says. */
enum store_err records_read(struct records_reader *, const uint8_t *, size_t);
/* Was the end there, and nothing behind it? */
bool records_reader_done(const struct records_reader *);

/* Takes the records of a backup into the new database of a directory. */
struct records;

/* size: of the file. */
enum store_err
records_new(const char *store_dir, uint64_t size, struct records **ret_records);
enum store_err records_take(struct records *, const uint8_t *, size_t len);
/* STORE_CORRUPT when the end is missing. */
enum store_err records_end(struct records *);
void records_free(struct records **);

#endif
