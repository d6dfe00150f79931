/*
 * store: the durable memory of supervisord: an LMDB environment in DIR/store
 * and files in DIR/artifacts, DIR/incoming, DIR/sessions and DIR/spool. One process opens it,
 * never across a fork.
 *
 * Writing: store_write() queues a function; store_commit(), called at the end
 * of a loop turn, makes the spools durable, runs all queued functions on one
 * transaction, commits it and then calls their done callbacks: persist, act,
 * reply. A function may be run more than once (the map grew, or another one of
 * the same turn was taken out): it must set its results anew each time, and
 * they count only once done was called with STORE_OK.
 *
 * Reading: store_read_begin/end within one turn, never across turns; reads see
 * what is committed.
 */
#ifndef STORAGE_STORE_H
#define STORAGE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ulid.h"

enum store_err {
	STORE_OK,
	STORE_NOT_FOUND, /* no such record */
	STORE_EXISTS,    /* the key is taken */
	STORE_INVALID,   /* a value that no record may hold */
	STORE_LIMIT,     /* too large or too many */
	STORE_CORRUPT,   /* this record does not match its checksum or shape */
	STORE_NEWER,     /* written by a newer version of this program */
	STORE_OLDER,     /* of an earlier schema, and nobody may upgrade it */
	STORE_FULL,      /* the disk refused the bytes; later writes may work */
	STORE_IO,        /* anything else the system refused */
	STORE_NO_MEMORY,
	STORE_CLOSED, /* store_free() came before the commit */
	STORE_BROKEN, /* a commit failed half-way: only a new start knows */
	STORE__MAX    /* values from here on are the caller's own refusals */
};

/* A sentence fragment, for example "the disk is full". */
const char *store_strerror(int err);

struct store_error {
	enum store_err code;
	int sys;       /* errno or LMDB's code, 0 when there is none */
	char text[96]; /* what was tried */
};

struct store;
struct store_txn;

struct store_options {
	uint64_t map_bytes;     /* first map size; 0: 64 MiB */
	uint64_t map_max_bytes; /* it doubles up to here; 0: 64 GiB */
	uint64_t reserve_bytes; /* given up when the disk is full; 0: none */
	int64_t now_ms;         /* stamp for a new store */
	/*
	 * Opens what is there and changes nothing, beside the process that owns
	 * it if need be, which must be of the same PID namespace. Only reads
	 * are allowed then. STORE_OLDER when it is to be upgraded first.
	 */
	bool read_only;
	/* Called when the first function of a turn is queued; may be NULL. */
	void (*on_pending)(void *);
	/*
	 * Called when a function is queued that can wait, and nothing else is:
	 * store_commit() is wanted within a fraction of a second. NULL:
	 * nothing waits.
	 */
	void (*on_deferred)(void *);
	void *on_pending_arg; /* of both */
};

/*
 * Opens or creates the store in the existing directory dir (taken as it is;
 * what is made inside is 0700 and 0600). STORE_NEWER when its schema is from
 * the future. On failure *ret_store is untouched and error, when not NULL, is
 * filled in.
 */
enum store_err store_open(const char *dir, const struct store_options *,
    struct store **ret_store, struct store_error *error);
/*
 * Nothing more is committed: writes that wait, or come later, get
 * done(STORE_CLOSED). What the store has open stays so until store_free().
 */
void store_give_up(struct store *);
/* Gives up first. Spools and writers must have been freed. */
void store_free(struct store **);

/*
 * A write. Returns STORE_OK, or refuses with any other value: best before its
 * first put, which costs nothing; after one, the turn is run again without it.
 * It must not call store_write, store_commit or store_read_begin.
 */
typedef int store_write_fn(struct store_txn *, void *arg);
/* err: STORE_OK, the function's own refusal, or why the commit failed. */
typedef void store_done_fn(void *arg, int err);

/* done may be NULL. It may queue writes; they belong to the next commit. */
void store_write(struct store *, store_write_fn *fn, void *arg,
    store_done_fn *done, void *done_arg);
/*
 * The same for what nobody waits for: it may be committed some turns later,
 * with the first write that cannot wait, in the order of queueing. A commit
 * costs two flushes of the disk; this way several writes share them.
 */
void store_write_later(struct store *, store_write_fn *fn, void *arg,
    store_done_fn *done, void *done_arg);
/*
 * The same for a caller that sees to it that store_hurry() is called soon, as
 * the next store_write() does.
 */
void store_write_soon(struct store *, store_write_fn *fn, void *arg,
    store_done_fn *done, void *done_arg);
/* What waits is committed at the end of this turn. */
void store_hurry(struct store *);
bool store_hurried(const struct store *);
/*
 * So much waits for the commit under way that it is to be waited for. on_pending
 * is called again then.
 */
bool store_crowded(const struct store *);
/* Is anything queued or under way? */
bool store_pending(const struct store *);
/*
 * Ends the turn. now_ms is kept as the stamp no later start may be below.
 * Returns the commit's own result; refusals of single functions do not count.
 * After STORE_BROKEN everything fails: the process must start anew, and may
 * then find the writes that were answered so done or not done.
 */
enum store_err store_commit(struct store *, int64_t now_ms);

/*
 * The same without waiting for the disk, once there is a committer: a thread of
 * the store's own, that must be started before the filter of system calls is
 * loaded and needs futex(2). 0 or an errno value.
 */
int store_committer_start(struct store *);
/* Readable when store_commit_go_on() has something to do; -1: no committer. */
int store_committer_fd(const struct store *);
/* Takes what is queued; later writes are for the next commit. None may be
 * under way. */
void store_commit_start(struct store *, int64_t now_ms);
/* Not within a read. True: the commit is over, store_commit_tell() is due. */
bool store_commit_go_on(struct store *);
/* Calls the done callbacks; its result is that of store_commit(). */
enum store_err store_commit_tell(struct store *);
/* Is one under way, or not told? */
bool store_committing(const struct store *);
/* Until the one that is under way, if any, is over. */
void store_commit_wait(struct store *);

/* At most one at a time; ret_txn is borrowed until store_read_end. */
enum store_err store_read_begin(struct store *, struct store_txn **ret_txn);
void store_read_end(struct store *);

/* Stamps handed out must not be below this one (clock_set_floor). */
int64_t store_floor_ms(const struct store *);
/* Counts the starts; 0 until store_recover() was called. */
uint32_t store_epoch(const struct store *);

struct store_space {
	uint64_t free_bytes;
	uint64_t total_bytes;
};
/*
 * Is there room for new submissions: more than min_percent and min_bytes free?
 * ret may be NULL; then what was seen since the last commit will do. False also when the system does not tell.
 */
bool store_space_ok(struct store *, unsigned min_percent, uint64_t min_bytes,
    struct store_space *ret);
#define STORE_MIN_FREE_PERCENT 5
#define STORE_MIN_FREE_BYTES   (64ull << 20)

/*
 * A number that outlives a start, by its name of at most 32 characters; 0 until
 * it was put. Put within a write, got within a read or write.
 */
int store_number_put(struct store_txn *, const char *name, int64_t);
int store_number_get(struct store_txn *, const char *name, int64_t *ret_value);

/*
 * Lets go of what readers in other processes held when they were killed: until
 * then their pages are not used again.
 */
void store_clear_readers(struct store *);

/* Counted since open; for status and tests. */
struct store_stats {
	uint64_t commits;
	uint64_t writes; /* functions committed */
	uint64_t reruns; /* turns run again */
	uint64_t map_growths;
	uint64_t map_bytes;
	uint64_t disk_bytes;   /* what the database occupies now */
	uint64_t cursor_steps; /* entries visited by lists */
};
struct store_stats store_stats(const struct store *);

/*
 * Keyed digest (HMAC-SHA256) of canonical bytes. The key is made with the store
 * and in no backup: one that was restored has another.
 */
void store_digest(
    const struct store *, const void *, size_t len, uint8_t ret_digest[32]);

#endif
