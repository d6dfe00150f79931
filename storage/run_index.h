/*
 * run_index: for each of the sixteen combinations of the four filters (uid,
 * status, template, session) an ordered list of runs and a kept total, so that
 * every list costs offset + limit and every total one read. For storage/ alone.
 *
 * Changes are queued and written together, list by list, before the transaction
 * commits or reads the index: what a turn changes in one list are neighbours.
 */
#ifndef STORAGE_RUN_INDEX_H
#define STORAGE_RUN_INDEX_H

#include "storage/run.h"
#include "storage/txn.h"

#define INDEX_UID      1u
#define INDEX_STATUS   2u
#define INDEX_TEMPLATE 4u
#define INDEX_SESSION  8u
#define INDEX_FILTERS  16u

struct index_change {
	struct ulid id, session;
	uint32_t uid;
	enum run_status status;
	char template_id[STORE_TEMPLATE_CHARS + 1];
	unsigned with;
	bool gone;
	bool first; /* its session is new: nobody else is in its lists */
};

#define INDEX_QUEUE_MAX 128

/* Of the one write transaction there is; it begins with an empty one. */
struct index_queue {
	struct index_change list[INDEX_QUEUE_MAX];
	size_t count;
};

/* Writes what is queued, if the transaction can write. */
int run_index_flush(struct store_txn *);
/* Adds a run that is in no list yet; one that owns its session begins it. */
void run_index_add_new(struct store_txn *, const struct run_record *);
/* Adds (or removes) the run where the filter has all bits of with. */
void
run_index_add(struct store_txn *, const struct run_record *, unsigned with);
void
run_index_remove(struct store_txn *, const struct run_record *, unsigned with);
/* Removes every trace of a run whose record cannot be read: a full scan. */
int run_index_scrub(struct store_txn *, const struct ulid *);
/* Key of a filter's list; STORE_INVALID when no run can match. */
int run_index_prefix(const struct run_filter *, struct key *ret_prefix);
int run_index_total(
    struct store_txn *, const struct key *prefix, uint64_t *ret_total);
/* The same as it is kept: 0 when there is none, STORE_CORRUPT if damaged. */
int run_index_kept(
    struct store_txn *, const struct key *prefix, uint64_t *ret_total);
/* Key of the list of that filter, below INDEX_FILTERS, that the run is in. */
void run_index_list(
    const struct run_record *, unsigned filter, struct key *ret_prefix);

#endif
