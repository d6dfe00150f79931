/*
 * artifact_sums: what holds the file of an artifact to what was written, wherever
 * its reading begins. Its row has one SHA-256 of all bytes, so it is read once
 * as a whole, step by step. If that agrees, the checksums of its blocks, taken
 * on the way, are as good: every later read is held to those, and finds what
 * the disk has changed since.
 */
#ifndef STORAGE_ARTIFACT_SUMS_H
#define STORAGE_ARTIFACT_SUMS_H

#include "storage/artifact.h"

#define ARTIFACT_STEP_BYTES (256u << 10)

struct artifact_scan;
struct artifact_sums;

/* Of an ARTIFACT_IN_FILE; nothing is kept open. STORE_NO_MEMORY. */
enum store_err artifact_scan_new(struct store *, const struct artifact_row *,
    struct artifact_scan **ret_scan);
/*
 * Reads at most ARTIFACT_STEP_BYTES. *ret_sums stays NULL while there is more to
 * read, and is the caller's then. STORE_CORRUPT when the file is not what was
 * written, STORE_IO; after these, only free the scan.
 */
enum store_err
artifact_scan_step(struct artifact_scan *, struct artifact_sums **ret_sums);
void artifact_scan_free(struct artifact_scan **);

const struct ulid *artifact_sums_id(const struct artifact_sums *);
/* As artifact_file_read(); STORE_CORRUPT also for bytes that have changed. */
enum store_err artifact_sums_read(const struct artifact_sums *, struct store *,
    const struct artifact_row *, uint64_t offset, void *, size_t *len);
void artifact_sums_free(struct artifact_sums **);

/* All row->size bytes at once, held to their SHA-256: for those that are few. */
enum store_err
artifact_file_whole(struct store *, const struct artifact_row *, void *to);

#endif
