/*
 * backup: a copy of a store as it was at one moment, as a row of files, and a
 * store made from such a row. The files: "records", all entries of all tables
 * (browsertask-store(5)); those of artifacts, spools and sessions under the
 * names they have below the state directory; "gone", the artifacts whose files
 * retention removed while the copy was made.
 */
#ifndef STORAGE_BACKUP_H
#define STORAGE_BACKUP_H

#include "storage/store.h"

#define BACKUP_NAME_CHARS  64
#define BACKUP_PIECE_BYTES (256u << 10) /* at most, of one call of data */
#define BACKUP_SUM_BYTES   32

/* Where the files go; false ends it, with STORE_CLOSED. */
struct backup_sink {
	bool (*file)(void *arg, const char *name);
	bool (*data)(void *arg, const void *, size_t len);
	bool (*end)(void *arg, const uint8_t sha256[BACKUP_SUM_BYTES]);
	/* Bytes so far, and about how many there will be. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/* A file or record that is not as it should be; it is copied as it is
	 * or, if it is not there, left out. */
	void (*fault)(void *arg, const char *what);
	void *arg;
};

struct backup_totals {
	int64_t schema;
	int64_t stamp_ms; /* of the last commit that is in it */
	uint64_t records, runs, artifacts, sessions;
	uint64_t files, bytes;
	uint64_t gone;   /* files that retention removed meanwhile */
	uint64_t faults; /* what was not sound */
};

/* Of an open store, if need be beside the process that owns it. */
enum store_err store_backup(
    struct store *, const struct backup_sink *, struct backup_totals *ret);

/*
 * Makes a store in the existing, empty directory dir. What it is given is not
 * trusted: STORE_CORRUPT for what no backup has, STORE_EXISTS when something is
 * there already. After any failure only restore_free() may be called, which
 * removes what was made.
 */
struct restore;

enum store_err
restore_new(const char *dir, struct restore **ret, struct store_error *error);
/* size: of the file, 0: not known. */
enum store_err restore_file(struct restore *, const char *name, uint64_t size);
enum store_err restore_data(struct restore *, const void *, size_t len);
/* STORE_CORRUPT when the bytes have another sum. */
enum store_err
restore_end(struct restore *, const uint8_t sha256[BACKUP_SUM_BYTES]);
/*
 * All was given: brings the schema up to date and makes tombstones of what was
 * gone. STORE_NEWER when the backup is of a later version. The store may be
 * opened after it, and is removed all the same unless restore_keep() is called.
 */
enum store_err restore_finish(struct restore *, struct store_error *error);
/* The audit log of what was finished gets a row that tells of it. */
enum store_err restore_tell(struct restore *, int64_t now_ms);
/* The file that came last, for a message; "" before the first. */
const char *restore_name(const struct restore *);
void restore_keep(struct restore *);
void restore_free(struct restore **);

#endif
