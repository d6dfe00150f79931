/*
 * run_index: for each of the sixteen combinations of the four filters (uid,
 * status, template, session) an ordered list of runs and a kept total, so that
 * every list costs offset + limit and every total one read. For storage/ alone.
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

#endif
