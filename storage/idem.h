/*
 * idem: the one idempotency table. A key is reserved by the same write that
 * creates what it stands for; the row keeps who asked, a keyed digest of the
 * parameters and the frozen first answer.
 */
#ifndef STORAGE_IDEM_H
#define STORAGE_IDEM_H

#include "storage/run.h"

enum idem_scope {
	IDEM_MCP,
	IDEM_GW,
	IDEM_ACTION,
	IDEM__MAX
};

#define IDEM_ANSWER_BYTES 65536

struct idem_row {
	uint32_t uid; /* actor */
	struct ulid run;
	uint8_t params[32];    /* store_digest() of the canonical parameters */
	bool with_run;         /* lives as long as the run's record */
	int64_t expires_ms;    /* else: first stamp at which it is gone */
	const uint8_t *answer; /* frozen first answer; may be NULL */
	size_t answer_len;
};

/* Scope and SHA-256 of the parts, each with its length; NULL ends them. */
void idem_identity(enum idem_scope, const char *const *parts,
    uint8_t ret_identity[STORE_IDENTITY_BYTES]);
/*
 * The live row: STORE_NOT_FOUND when there is none or its window has ended at
 * now_ms. answer is borrowed until the transaction ends.
 */
int idem_get(struct store_txn *, const uint8_t identity[STORE_IDENTITY_BYTES],
    int64_t now_ms, struct idem_row *ret_row);
enum idem_match {
	IDEM_SAME,
	IDEM_OTHER,
	IDEM_UNKNOWN /* the digest is from before the store was restored */
};
/* Whether what was asked has the parameters of the row. */
enum idem_match idem_compare(
    const struct store *, const struct idem_row *, const uint8_t params[32]);
/* ", with other parameters" and the like; "" for the same. */
const char *idem_match_text(enum idem_match);
/*
 * Reserves a key: STORE_EXISTS when a live row is there (decided before the
 * first put; read it with idem_get). An ended row is replaced. A row with_run
 * needs the run inserted with the same identity, in the same write.
 */
int
idem_reserve(struct store_txn *, const uint8_t identity[STORE_IDENTITY_BYTES],
    int64_t now_ms, const struct idem_row *);
/* Freezes the first answer of a live row. */
int idem_set_answer(struct store_txn *,
    const uint8_t identity[STORE_IDENTITY_BYTES], int64_t now_ms,
    const void *answer, size_t len);

#endif
