/*
 * spool: item bytes of one running run, in DIR/spool/ULID. Appended as they
 * arrive, made durable by store_commit() before the rows that name them.
 */
#ifndef STORAGE_SPOOL_H
#define STORAGE_SPOOL_H

#include "storage/artifact.h"
#include "storage/journal.h"

struct spool;

/*
 * Opens or creates. end is where to go on (journal_spool_end, 0 for a new
 * run): bytes behind it are cut off. At most max_bytes in all. On failure errno
 * is what the system said, 0 when it said nothing.
 */
enum store_err spool_open(struct store *, const struct ulid *run, uint64_t end,
    uint64_t max_bytes, struct spool **ret_spool);
/* Fills in offset, len and sha256 of *extent; part is the caller's. */
enum store_err spool_append(
    struct spool *, const void *, size_t len, struct journal_extent *extent);
/* Appends an extent to an artifact; STORE_CORRUPT when its bytes changed. */
enum store_err spool_copy(
    struct spool *, const struct journal_extent *, struct artifact_writer *);
/* Closes; the file stays for the next attempt. */
void spool_free(struct spool **);
/* Removes the file of a run that has ended (after that was committed). */
enum store_err spool_remove(struct store *, const struct ulid *run);

#endif
