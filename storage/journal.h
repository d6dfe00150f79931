/*
 * journal: which items of a running run are done, where their bytes lie in the
 * run's spool, and which artifacts will be assembled from them. A row is
 * committed only after the spool was synced (store_commit sees to it).
 */
#ifndef STORAGE_JOURNAL_H
#define STORAGE_JOURNAL_H

#include "model/limits.h"
#include "storage/store.h"

#define JOURNAL_EXTENTS    LIMIT_ITEM_PIECES /* parts may have several */
#define COLLECT_TEXT_BYTES 4096
#define COLLECT_NAME_CHARS 255

struct journal_extent {
	uint8_t part;    /* below LIMIT_ARTIFACT_PARTS */
	uint64_t offset; /* in the spool */
	uint64_t len;
	uint8_t sha256[32];
};

struct journal_row {
	uint32_t index;
	uint8_t digest[8]; /* of the item's input */
	bool ok;
	const uint8_t *record; /* JSON, opaque here */
	size_t record_len;
	unsigned nextents;
	struct journal_extent extents[JOURNAL_EXTENTS]; /* in order */
};

/* STORE_EXISTS when the index was journaled: items are never done twice. */
int journal_insert(
    struct store_txn *, const struct ulid *run, const struct journal_row *);
int journal_get(struct store_txn *, const struct ulid *run, uint32_t index,
    struct journal_row *ret_row);
typedef bool journal_visit_fn(
    uint32_t index, const struct journal_row *row, int err, void *arg);
/* In order of index. */
int journal_list(struct store_txn *, const struct ulid *run,
    journal_visit_fn *fn, void *arg);
/* End of the last byte named; the spool goes on from there. */
int journal_spool_end(
    struct store_txn *, const struct ulid *run, uint64_t *ret_offset);

/* An artifact assembled from parts: prefix, part, separator, part, suffix. */
struct collect_row {
	uint8_t part;
	char kind[32];
	char mime[129];
	char name[COLLECT_NAME_CHARS + 1];
	const uint8_t *prefix, *separator, *suffix;
	size_t prefix_len, separator_len, suffix_len;
};

/* Declares or, after a restart, declares again. */
int collect_put(
    struct store_txn *, const struct ulid *run, const struct collect_row *);
/* STORE_NOT_FOUND when the part was not declared. */
int collect_get(struct store_txn *, const struct ulid *run, uint8_t part,
    struct collect_row *ret_row);

#endif
