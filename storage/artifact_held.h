/* artifact_held: how much artifacts hold, for trim. */
#ifndef STORAGE_ARTIFACT_HELD_H
#define STORAGE_ARTIFACT_HELD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct store_txn;

/* Users who hold something: a buf of them. */
struct owner {
	int64_t bytes;
	uint32_t uid;
};

size_t owners_count(const struct buf *owners);
/* Adds all that have a number, by uid; *ret_sum: what these are together. */
int owners_read(struct store_txn *, struct buf *owners, int64_t *ret_sum);
/*
 * Counts all artifacts and writes all numbers anew: stores from before have none
 * for each user, and one may be wrong. owners is what was read; who has a number
 * and no artifacts holds nothing from now on.
 */
int owners_correct(struct store_txn *, struct buf *owners, int64_t *ret_sum);

#endif
