/*
 * sweep: retention. The expiry index is walked in order of time, a bounded
 * number of rows per turn. Also the purge of files at start.
 */
#ifndef STORAGE_SWEEP_H
#define STORAGE_SWEEP_H

#include "storage/store.h"

struct sweep_result {
	unsigned rows;      /* removed or changed */
	unsigned runs;      /* records whose life ended */
	unsigned artifacts; /* turned into tombstones */
	unsigned tombstones;
	unsigned keys; /* idempotency rows with a window of their own */
	unsigned sessions;
	bool more; /* call again */
};

/*
 * Queues one batch of at most max rows that expire at or before now_ms. After
 * the commit the files of swept artifacts are unlinked, then done is called.
 * An artifact leaves a tombstone for tombstone_ms behind. ended (may be NULL)
 * is called before done for each session whose life is over.
 */
typedef void sweep_ended_fn(void *arg, const struct ulid *session);
typedef void sweep_done_fn(void *arg, int err, const struct sweep_result *);
enum store_err store_sweep(struct store *, int64_t now_ms, int64_t tombstone_ms,
    unsigned max, sweep_done_fn *done, sweep_ended_fn *ended, void *arg);
/*
 * Queues one batch that lets artifacts expire before their time, those first
 * that would be next, until all together hold at most budget bytes (at most
 * INT64_MAX). They are of the user whose artifacts hold the most, so that no
 * user loses any to another who has more. Those of runs that have not ended
 * stay; when the one who holds the most has no others, it is the next one's
 * turn. result.more: call again.
 */
enum store_err store_trim(struct store *, int64_t now_ms, int64_t tombstone_ms,
    uint64_t budget, unsigned max, sweep_done_fn *done, void *arg);
/* Stamp of the next expiry, for a timer; STORE_NOT_FOUND when none waits. */
int store_next_expiry(struct store_txn *, int64_t *ret_ms);

struct purge_result {
	unsigned incoming;
	unsigned artifacts;
	unsigned spools;
	unsigned states; /* of sessions */
};
/*
 * At start, before anything is written: removes files in incoming/, artifacts/,
 * sessions/ and spool/ that no row names (a spool is named by a run that is not
 * terminal). Never touches what it does not recognise as its own.
 */
enum store_err store_purge(struct store *, struct purge_result *ret);

#endif
