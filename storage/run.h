/*
 * run records: what is kept of a run, its large documents, its indexes and the
 * totals of every filter, all changed in the same transaction.
 */
#ifndef STORAGE_RUN_H
#define STORAGE_RUN_H

#include "model/run.h"
#include "storage/store.h"

#define STORE_TEMPLATE_CHARS 64
#define STORE_VERSION_CHARS  32
#define STORE_TRACE_CHARS    32
#define STORE_FACTS_CHARS    128
#define STORE_CODE_CHARS     48
#define STORE_PHASE_CHARS    24
#define STORE_LABEL_CHARS    64 /* of a client */
#define STORE_IDENTITY_BYTES 33 /* scope and digest, see idem.h */

enum run_intent {
	INTENT_NONE,
	INTENT_CANCEL,
	INTENT_TIMEOUT,
	INTENT__MAX
};

/* Small and without pointers: copied by assignment, kept by whoever wants. */
struct run_record {
	struct ulid id; /* its time is createdAt */
	struct ulid session;
	bool owns_session;
	uint32_t uid;
	char template_id[STORE_TEMPLATE_CHARS + 1];
	char template_version[STORE_VERSION_CHARS + 1];
	enum run_status status;
	enum run_mode mode;
	enum run_priority priority;
	uint32_t attempt;   /* from 1 */
	uint32_t epoch;     /* of the start that last ran it */
	int64_t created_ms; /* always ulid_time_ms(&id) */
	int64_t updated_ms;
	int64_t started_ms; /* 0: not yet; first attempt */
	int64_t ended_ms;   /* 0: not terminal */
	int64_t expires_ms; /* 0: never; set with a terminal state */
	int64_t limit_ms;   /* run time allowed in all */
	int64_t spent_ms;   /* of it, when the record was written */
	uint32_t done;      /* progress */
	uint32_t total;
	enum run_intent intent;
	int64_t intent_ms;
	char phase[STORE_PHASE_CHARS + 1];
	char trace_id[STORE_TRACE_CHARS + 1];
	char facts_snapshot_id[STORE_FACTS_CHARS + 1];
	char error_code[STORE_CODE_CHARS + 1]; /* internal name or "" */
	bool has_identity; /* an idempotency row that lives with the run */
	uint8_t identity[STORE_IDENTITY_BYTES];
	enum trust_level trust; /* of the client that submitted it */
	uint64_t
	    heard; /* the last message of its worker that is in the store */
	int64_t spent_mono_ms; /* the monotonic clock when spent_ms was so */
	char owner[STORE_LABEL_CHARS + 1]; /* of a session that it makes */
	bool share_session;                /* with clients of all labels */
	bool acted; /* it may have changed something: never executed again */
};

/* Has its record's life ended? Such a run is answered as not found. */
static inline bool
run_record_expired(const struct run_record *r, int64_t now_ms)
{
	return r->expires_ms != 0 && now_ms >= r->expires_ms;
}

/*
 * STORE_EXISTS when the id is taken, STORE_INVALID for impossible values. One
 * that owns its session is the first in it.
 */
int run_insert(struct store_txn *, const struct run_record *);
/*
 * Replaces the record and moves indexes, totals and expiry along. id, session,
 * uid, template and identity must not change (STORE_INVALID), nor may a
 * terminal status or a status follow that model's table does not allow.
 */
int run_update(struct store_txn *, const struct run_record *);
int run_get(struct store_txn *, const struct ulid *, struct run_record *ret);

/* Documents, opaque bytes (JSON); kept apart, so that updates stay small. */
enum run_doc {
	RUN_DOC_INPUTS,
	RUN_DOC_OPTIONS,
	RUN_DOC_RESULT,
	RUN_DOC_ERROR, /* {errorCode, message, ..., details} */
	RUN_DOC_STEPS,
	RUN_DOC_WARNINGS,
	RUN_DOC_END,    /* what its worker said last; until it is terminal */
	RUN_DOC_OUTPUT, /* its worker's result; likewise */
	RUN_DOC__MAX
};
#define STORE_DOC_BYTES (16u << 20)

int run_doc_put(struct store_txn *, const struct ulid *, enum run_doc,
    const void *, size_t len);
/* Borrowed until the transaction ends. */
int run_doc_get(struct store_txn *, const struct ulid *, enum run_doc,
    const uint8_t **ret_bytes, size_t *ret_len);
int run_doc_delete(struct store_txn *, const struct ulid *, enum run_doc);

/* A filter: every field that is set must match. */
struct run_filter {
	bool by_uid;
	uint32_t uid;
	bool by_status;
	enum run_status status;
	const char *template_id;    /* NULL: any */
	const struct ulid *session; /* NULL: any */
};

/* A stretch of a list; ids sort by createdAt, so that it costs no walk to it. */
struct run_range {
	const struct ulid *before; /* only older ids; NULL: any */
	int64_t since_ms;          /* createdAt at least; 0: any */
	int64_t until_ms;          /* createdAt at most; 0: any */
};

/*
 * Called per run; rec is NULL and err says why when the record cannot be read.
 * Returns false to stop. Must not write.
 */
typedef bool run_visit_fn(
    const struct ulid *, const struct run_record *rec, int err, void *arg);

/*
 * Newest first (createdAt, then id), at the cost of offset + limit entries.
 * limit 0 visits none. *ret_total (may be NULL) counts all that match.
 */
int run_list(struct store_txn *, const struct run_filter *, uint64_t offset,
    uint64_t limit, run_visit_fn *fn, void *arg, uint64_t *ret_total);
/* The same within a range; *ret_total counts what the filter alone matches. */
int run_list_range(struct store_txn *, const struct run_filter *,
    const struct run_range *, uint64_t offset, uint64_t limit, run_visit_fn *fn,
    void *arg, uint64_t *ret_total);
/* A list that goes on over several transactions. All zero at first. */
struct run_walk {
	struct run_range range;
	uint64_t offset; /* to skip; lowered as it is done */
	bool begun;
	struct ulid last; /* seen, once it is begun */
	bool done;
};
#define RUN_WORK_VISIT 16 /* a visit costs as much as so many skips */
/* As much of it as work pays for, 1 for an entry that is skipped. */
int run_list_some(struct store_txn *, const struct run_filter *,
    struct run_walk *, unsigned work, run_visit_fn *fn, void *arg);
/*
 * How many there are in a range, whatever its before: at most max are looked
 * at, *ret_more tells whether there are more than that.
 */
int run_count_range(struct store_txn *, const struct run_filter *,
    const struct run_range *, uint64_t max, uint64_t *ret_count,
    bool *ret_more);
/* Oldest first and all of them: the queue at start. */
int run_list_oldest(
    struct store_txn *, const struct run_filter *, run_visit_fn *fn, void *arg);
int run_total(struct store_txn *, const struct run_filter *, uint64_t *ret);

/*
 * Removes a run with all that belongs to it except artifacts, also when its
 * record cannot be read. At most *budget rows; STORE_LIMIT when rows are left
 * and it must be called again. *budget is lowered by the rows removed.
 */
int run_delete(struct store_txn *, const struct ulid *, unsigned *budget);

/*
 * The first write after opening: raises the epoch and calls fn for every run
 * that was running, so that it decides what becomes of it: change *rec and
 * return STORE_OK (it is stored), anything else fails the recovery. err is not
 * STORE_OK for a record that cannot be read; *rec then holds only the id and
 * nothing is stored (run_delete may be called). May be run more than once.
 */
typedef int
run_recover_fn(struct store_txn *, struct run_record *rec, int err, void *arg);
int
store_recover(struct store *, int64_t now_ms, run_recover_fn *fn, void *arg);

#endif
