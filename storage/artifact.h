/*
 * artifact: rows of artifacts, their inline bytes, and the writer that turns
 * arriving chunks into either. Up to LIMIT_INLINE_ARTIFACT_BYTES the bytes live
 * in LMDB, beyond that in DIR/artifacts/XX/ULID: written to DIR/incoming, synced
 * once, renamed, its directory synced, and only then named by a row.
 */
#ifndef STORAGE_ARTIFACT_H
#define STORAGE_ARTIFACT_H

#include "storage/run.h"

#define ARTIFACT_MIME_CHARS 128
#define ARTIFACT_NAME_CHARS 255

enum artifact_state {
	ARTIFACT_IN_ROW,    /* bytes in LMDB */
	ARTIFACT_IN_FILE,   /* bytes in a file */
	ARTIFACT_TOMBSTONE, /* bytes gone: ARTIFACT_EXPIRED */
	ARTIFACT_STATE__MAX
};

struct artifact_row {
	struct ulid id;
	struct ulid run;
	uint32_t uid;
	enum artifact_kind kind;
	enum artifact_state state;
	char mime[ARTIFACT_MIME_CHARS + 1];
	char name[ARTIFACT_NAME_CHARS + 1];
	uint64_t size;
	uint8_t sha256[32];
	int64_t created_ms;
	int64_t expires_ms; /* 0: not yet known (the run has not ended) */
};

/*
 * Inserts a row; bytes (row->size of them) are given for ARTIFACT_IN_ROW, else
 * NULL. STORE_EXISTS when the id is taken.
 */
int artifact_insert(
    struct store_txn *, const struct artifact_row *, const void *bytes);
int artifact_get(
    struct store_txn *, const struct ulid *, struct artifact_row *ret_row);
/*
 * The artifact at now_ms: as artifact_get, but one that has expired shows as a
 * tombstone even if it was not swept yet, and a tombstone that has is gone.
 */
int artifact_get_live(struct store_txn *, const struct ulid *, int64_t now_ms,
    struct artifact_row *ret_row);
/* Bytes of an ARTIFACT_IN_ROW, borrowed until the transaction ends. */
int artifact_bytes(struct store_txn *, const struct ulid *,
    const uint8_t **ret_bytes, size_t *ret_len);
/* Bytes of all artifacts that are no tombstones, a number that is kept. */
int artifact_total(struct store_txn *, uint64_t *ret_bytes);
/* The same of one user's. */
int artifact_total_of(struct store_txn *, uint32_t uid, uint64_t *ret_bytes);
/* Sets when all artifacts of a run expire: at the run's end. */
int artifact_set_expiry(
    struct store_txn *, const struct ulid *run, int64_t expires_ms);

typedef bool artifact_visit_fn(
    const struct ulid *, const struct artifact_row *row, int err, void *arg);
/* A run's artifacts, oldest first. */
int artifact_list(struct store_txn *, const struct ulid *run,
    artifact_visit_fn *fn, void *arg);

/*
 * Reads at most *len bytes at offset of an ARTIFACT_IN_FILE; *len becomes what
 * was there. STORE_CORRUPT when the file is missing or has another size; whether
 * the bytes are right is for artifact_sums.h, or whoever reads all of them.
 */
enum store_err artifact_file_read(struct store *, const struct artifact_row *,
    uint64_t offset, void *, size_t *len);

/* The writer. Nothing is left on disk unless it was finished and committed. */
struct artifact_writer;

enum store_err artifact_writer_new(struct store *, const struct ulid *id,
    uint64_t max_bytes, struct artifact_writer **ret_writer);
/* STORE_LIMIT beyond max_bytes, STORE_FULL, STORE_IO: only free it then. */
enum store_err
artifact_writer_append(struct artifact_writer *, const void *, size_t len);
/*
 * Sets id, state, size and sha256 of *row; the caller fills in the rest and
 * commits artifact_insert(row, bytes), with *ret_bytes (NULL for a file)
 * borrowed from the writer, which must live until that write is done. The
 * commit makes a file durable first; where that fails it refuses the row. A
 * file that no row names is removed at the next start.
 */
enum store_err artifact_writer_finish(
    struct artifact_writer *, struct artifact_row *row, const void **ret_bytes);
/* After a commit that followed: why the file could not be made durable. */
enum store_err artifact_writer_error(const struct artifact_writer *);
void artifact_writer_free(struct artifact_writer **);

#endif
