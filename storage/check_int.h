/* check_int: what the parts of a check share; nobody else includes it. */
#ifndef STORAGE_CHECK_INT_H
#define STORAGE_CHECK_INT_H

#include "common/buf.h"
#include "storage/artifact.h"
#include "storage/check.h"
#include "storage/store_impl.h"

/* An artifact whose file is to be read when the transaction is over. */
struct check_file {
	struct ulid id, run;
	uint64_t size;
	uint8_t sha256[32];
};

/* The entries of the run whose events, or list whose runs, are met now. */
struct check_group {
	bool begun;
	struct key prefix;
	uint64_t count, bytes, last;
};

struct check {
	struct store *store;
	struct store_txn *txn;
	const struct check_watch *watch;
	bool live;
	unsigned looks; /* at commits that were overwritten then */
	struct check_totals totals;
	uint64_t entries, entries_done; /* for the progress */
	/* Of runs, asked for again and again. */
	struct ulid run_known;
	bool run_is_known;
	int run_err;
	struct run_record run;
	struct check_group group;
	uint64_t artifact_bytes; /* of those that are no tombstones */
	struct buf files;        /* struct check_file each */
	struct buf spools;       /* struct ulid each: runs whose spool is bad */
	struct buf sessions;     /* struct ulid each: their states are next */
	uint64_t file_bytes, file_bytes_done;
};

typedef void check_entry_fn(struct check *, const struct txn_walk *);

/* What the tables of runs, and all others, are checked by. */
void check_meta(struct check *, const struct txn_walk *);
void check_run(struct check *, const struct txn_walk *);
void check_run_doc(struct check *, const struct txn_walk *);
void check_run_index(struct check *, const struct txn_walk *);
void check_run_total(struct check *, const struct txn_walk *);
void check_event(struct check *, const struct txn_walk *);
void check_event_head(struct check *, const struct txn_walk *);
void check_journal(struct check *, const struct txn_walk *);
void check_collect(struct check *, const struct txn_walk *);
void check_idem(struct check *, const struct txn_walk *);
void check_artifact(struct check *, const struct txn_walk *);
void check_artifact_bytes(struct check *, const struct txn_walk *);
void check_artifact_by_run(struct check *, const struct txn_walk *);
void check_expiry(struct check *, const struct txn_walk *);
void check_session(struct check *, const struct txn_walk *);
void check_session_by_uid(struct check *, const struct txn_walk *);
/* The last group of run_index or events is over. */
void check_index_end(struct check *);
void check_events_end(struct check *);
/*
 * The pages below the tables. False: this transaction's commit is overwritten
 * by now, and another transaction is to be looked at.
 */
bool check_pages(struct check *);
/* What no entry shows by itself. */
void check_artifact_total(struct check *);
void check_audit(struct check *);
/* Of a run that has not ended: are its items there? Notes it if not. */
void check_spool(struct check *, const struct ulid *run);
/* When the transaction is over. */
enum store_err check_files(struct check *);

/* Tells a fault of the walk's entry. */
struct check_fault check_fault_new(
    enum fault, enum store_table, const uint8_t *key, size_t key_len);
void check_tell(struct check *, struct check_fault *);
void check_tell_entry(struct check *, const struct txn_walk *, enum fault,
    const struct ulid *run, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* One that a read answered with an error. */
void check_tell_err(
    struct check *, const struct txn_walk *, int err, const struct ulid *run);
/* Reads the run, unless it is the one read last. */
int check_find_run(struct check *, const struct ulid *);
/* Its id in the entry's key, at this place; false: the key is too short. */
bool check_key_id(
    const struct txn_walk *, size_t at, size_t len, struct ulid *ret_id);
/* Is it in the index of what expires? Tells if not. */
void check_expires(struct check *, const struct txn_walk *, int64_t stamp_ms,
    enum expiry_kind, const void *id, size_t id_len, const struct ulid *run);
void check_progress(struct check *, const char *what, uint64_t done,
    uint64_t before, uint64_t total);

#endif
