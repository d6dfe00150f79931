/* store_impl: the inside of struct store, for storage/ alone. */
#ifndef STORAGE_STORE_IMPL_H
#define STORAGE_STORE_IMPL_H

#include <nettle/hmac.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "storage/event.h"
#include "storage/committer.h"
#include "storage/run_index.h"
#include "storage/txn.h"

#define STORE_MAGIC 0x73746f72u

struct store_op {
	TAILQ_ENTRY(store_op) link;
	store_write_fn *fn;
	void *arg;
	store_done_fn *done;
	void *done_arg;
	int result;
	bool taken_out; /* refused after a put: not run again */
};
TAILQ_HEAD(store_ops, store_op);

enum turn_outcome {
	TURN_DONE,
	TURN_AGAIN,
	TURN_GROW,
	TURN_FAILED
};

/*
 * A file that must be on the disk before a commit whose rows name it. It is the
 * first member of what it is about, so that one becomes the other by a cast.
 */
struct file_sync {
	TAILQ_ENTRY(file_sync) link;
	/* On the loop, when the commit begins; may be NULL. */
	void (*begin)(struct file_sync *);
	/* Waits for the disk: on the committer, beside the loop. */
	enum store_err (*wait)(struct file_sync *);
	/* On the loop, before the functions of the commit run. */
	void (*over)(struct file_sync *, enum store_err);
	enum {
		FILE_SYNC_NONE,
		FILE_SYNC_QUEUED,
		FILE_SYNC_RUNS
	} state;
	enum store_err err;
};
TAILQ_HEAD(file_syncs, file_sync);

/* Before the next commit; nothing when it is queued already. */
void file_sync_queue(struct store *, struct file_sync *);
/* False: it runs; over() will be called, and it must live until then. */
bool file_sync_cancel(struct store *, struct file_sync *);

enum commit_phase {
	COMMIT_IDLE,
	COMMIT_OPENING, /* files are synced, the transaction is begun */
	COMMIT_WRITING, /* it is filled and is committed */
	COMMIT_CLOSING, /* it is aborted */
	COMMIT_DONE,    /* those that wait for it are to be told */
	COMMIT__MAX
};

struct commit {
	enum commit_phase phase;
	struct store_ops ops;
	struct file_syncs files;
	struct store_txn txn;
	int64_t now_ms;
	uint64_t writes;
	enum turn_outcome outcome; /* of the transaction that is aborted */
	enum store_err result;     /* once it is done */
	int rc;                    /* LMDB's, of the last job */
};

struct spool;
LIST_HEAD(spool_list, spool);
LIST_HEAD(writer_list, artifact_writer);

#define SCHEMA_VERSION 4

struct store {
	uint32_t magic;
	struct store_options opt;
	MDB_env *env;
	MDB_dbi dbi[TABLE__MAX];
	int dir_fd;
	int store_fd; /* of the database */
	int artifacts_fd;
	int incoming_fd;
	int spool_fd;
	int sessions_fd;
	struct store_ops ops;
	unsigned queued;   /* how many */
	unsigned deferred; /* of them, those that can wait */
	bool hurried;      /* on_pending was called for this turn */
	bool filling;      /* the functions of a commit run */
	bool given_up;
	struct commit commit;
	struct file_syncs files;     /* for the next commit */
	struct committer *committer; /* NULL: the loop waits for the disk */
	MDB_txn *read_mdb;           /* reset between turns */
	struct store_txn read_txn;
	bool reading;
	struct spool_list spools;
	struct writer_list writers; /* finished, with files */
	bool shards_dirty; /* a shard's name may not be on disk yet; only
			      whoever publishes artifacts looks here */
	bool reserve_held;
	bool space_known; /* since the last commit: */
	struct store_space space;
	int64_t floor_ms;
	uint32_t epoch;
	struct hmac_sha256_ctx digest; /* keyed */
	int64_t digest_since_ms;       /* when the key was made anew, or 0 */
	struct buf scratch;            /* see scratch_begin() */
	struct index_queue index;
	struct key trim_next; /* where trim.c looks next */
	uint32_t trim_uid;    /* whose artifacts it looks for */
	unsigned trim_passes; /* that ended without any effect */
	size_t trim_skip;     /* who hold more and have nothing that may go */
	struct store_stats stats;
};

/*
 * An empty buf for one small record, kept between uses so that the many puts of
 * a transaction do not allocate. One at a time: not across calls that put.
 */
struct buf *scratch_begin(struct store_txn *);
#define SCRATCH_BYTES (EVENT_DOC_BYTES + 128) /* an event, the longest */

/* Opens the tables, checks or makes the schema, reads the meta records. */
int meta_open(struct store *, MDB_txn *);
#define META_DIGEST_KEY_BYTES 32
#define META_DIGEST_KEY       "digest_key"
#define META_DIGEST_SINCE     "digest_since"
/* The same of a reader, which writes nothing. */
int meta_look(struct store *, MDB_txn *);
int meta_put(struct store_txn *, const char *name, int64_t value);
int meta_get(struct store_txn *, const char *name, int64_t *ret_value);

/* Bytes set aside, given up once when the disk is full, taken back later. */
void reserve_take(struct store *);
bool reserve_give_up(struct store *);

/* May rows name the run's spool bytes up to end? A failed sync stays. */
int spool_check(struct store *, const struct ulid *run, uint64_t end);

/* The directory artifacts/XX of an id; made when create. */
enum store_err
shard_open(struct store *, const struct ulid *, bool create, int *ret_fd);
void artifact_file_remove(struct store *, const struct ulid *);
/* May a row name this file, as far as a writer knows of it? */
int artifact_file_check(struct store *, const struct ulid *);
/* STORE_CORRUPT when there is none; *ret_fd is the caller's. */
enum store_err
artifact_file_open(struct store *, const struct ulid *, int *ret_fd);
enum store_err store_err_of_errno(int);
/* Gives the states of sessions their seals, those that have none. */
enum store_err session_states_seal(struct store *);

/* The audit log of a store that has none; writes its state. */
int audit_create(struct store_txn *);
/* Behind the last row of a transaction. */
int audit_flush(struct store_txn *);
void audit_key(struct key *, uint64_t number);
/* What a record of the log holds; STORE_CORRUPT when it is too short. */
struct audit_record {
	const uint8_t *hash, *prev, *body; /* borrowed */
	size_t body_len;
};
int audit_record_read(const uint8_t *payload, size_t, struct audit_record *);
void audit_record_hash(uint64_t number, const struct audit_record *,
    uint8_t ret_hash[AUDIT_HASH_BYTES]);
int audit_row_decode(
    uint64_t number, const struct audit_record *, struct audit_row *ret_row);
/* The detail of the row that a removal of all rows before the first leaves. */
void
audit_trim_text(const struct audit_state *, char ret[AUDIT_TRIM_CHARS + 1]);

/* What a check looks at beside the modules' own functions. */
struct event_row;
struct event_totals {
	uint64_t last_seq, count, bytes;
};
int event_row_read(const uint8_t *payload, size_t, struct event_row *ret_row);
/* All 0 for a run without events. */
int event_totals(
    struct store_txn *, const struct ulid *run, struct event_totals *ret);
bool run_exists(struct store_txn *, const struct ulid *);

/* A row, whether its window has ended or not. */
struct idem_row;
int idem_read(
    struct store_txn *, const uint8_t *identity, struct idem_row *ret_row);

/* Files that rows name, by their directories. */
enum file_kind {
	FILE_INCOMING,
	FILE_ARTIFACT,
	FILE_SPOOL,
	FILE_STATE,
	FILE_KIND__MAX
};
/*
 * Calls fn for each file in its place that no row names: dir is its directory,
 * name what it is called there. One whose row cannot be read is named.
 */
typedef void
files_unnamed_fn(void *arg, enum file_kind, int dir, const char *name);
enum store_err
files_unnamed(struct store_txn *, files_unnamed_fn *fn, void *arg);

/* A change of what all artifacts hold. */
int artifact_total_add(struct store_txn *, uint32_t uid, int64_t bytes);

/* artifact.c for the sweep: *ret_file says whether a file must go. */
int artifact_expire(struct store_txn *, const struct ulid *, int64_t now_ms,
    int64_t tombstone_ms, bool *ret_file, bool *ret_gone);
int idem_expire(struct store_txn *, const uint8_t *identity);
/* Removes the row of a run that goes, unless it is another run's by now. */
int idem_forget(
    struct store_txn *, const uint8_t *identity, const struct ulid *run);

#endif
