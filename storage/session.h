/*
 * session: sessions that were kept: browser identities that outlived the run
 * that made them. A row per session, and a file with the state of its browser.
 *
 * A session that a run uses or waits for never expires: taking it clears its
 * expiry, and the terminal write of the last such run sets it again.
 */
#ifndef STORAGE_SESSION_H
#define STORAGE_SESSION_H

#include <string.h>

#include "common/buf.h"
#include "model/limits.h"
#include "storage/run.h"

/* Small and without pointers, as run_record. */
struct session_record {
	struct ulid id; /* its time is createdAt */
	uint32_t uid;
	int64_t created_ms; /* always ulid_time_ms(&id) */
	int64_t last_used_ms;
	int64_t expires_ms; /* 0: not while a run uses or waits for it */
	char
	    template_id[STORE_TEMPLATE_CHARS + 1]; /* of the run that made it */
	struct ulid last_run;
	enum trust_level trust;            /* of the client whose run made it */
	char owner[STORE_LABEL_CHARS + 1]; /* label of that client; "": none */
	bool shared;                       /* for clients of all labels */
};

/* The label of a client that uses all sessions of its user. */
#define SESSION_ALL_LABELS "*"

/* Sessions of another label are nothing for a client unless they are shared. */
static inline bool
session_record_of(const struct session_record *r, const char *label)
{
	return r->shared || strcmp(label, SESSION_ALL_LABELS) == 0 ||
	    strcmp(r->owner, label) == 0;
}

/* What a trusted client's run made is nothing for one that is trusted less. */
static inline bool
session_record_for(const struct session_record *r, enum trust_level trust)
{
	return trust == TRUST_LOCAL || r->trust == trust;
}

/* Has its life ended? Such a session is answered as not found. */
static inline bool
session_record_expired(const struct session_record *r, int64_t now_ms)
{
	return r->expires_ms != 0 && now_ms >= r->expires_ms;
}

/* STORE_EXISTS when the id is taken, STORE_INVALID for impossible values. */
int session_insert(struct store_txn *, const struct session_record *);
int session_get(
    struct store_txn *, const struct ulid *, struct session_record *ret);
/*
 * For a submission: STORE_NOT_FOUND when there is no live session of that id
 * that is this uid's, for that level of trust and of that label. Clears its
 * expiry.
 */
int session_take(struct store_txn *, const struct ulid *, uint32_t uid,
    enum trust_level, const char *label, int64_t now_ms);
/* STORE_NOT_FOUND when there is none. */
int session_share(struct store_txn *, const struct ulid *, bool shared);
/*
 * For the terminal write of a run, after run_update(): notes it as the last
 * one, and when no other run uses or waits for the session, its new expiry.
 * A session that is gone or cannot be read is left alone.
 */
int session_give_back(struct store_txn *, const struct ulid *,
    const struct ulid *run, int64_t now_ms, int64_t expires_ms);
/* How many runs use or wait for it. */
int
session_live_runs(struct store_txn *, const struct ulid *, uint64_t *ret_count);
/* Also when its row cannot be read. */
int session_delete(struct store_txn *, const struct ulid *);
/* STORE_EXISTS when runs use it or wait for it. */
int session_delete_idle(struct store_txn *, const struct ulid *);

/* Called per session as run_visit_fn. */
typedef bool session_visit_fn(
    const struct ulid *, const struct session_record *rec, int err, void *arg);
/*
 * Newest first; of one uid, or of all when by_uid is false. before: only older
 * ids; NULL: any.
 */
int session_list(struct store_txn *, bool by_uid, uint32_t uid,
    const struct ulid *before, session_visit_fn *fn, void *arg);

/*
 * The state of a session's browser when its last run ended: opaque bytes in
 * sessions/ULID, and behind them a seal that they are held to. A writer that was
 * not committed leaves nothing behind.
 */
#define STATE_SEAL_BYTES 5
#define STATE_FILE_BYTES (LIMIT_STATE_BYTES + STATE_SEAL_BYTES)

struct session_state;

enum store_err session_state_new(
    struct store *, const struct ulid *, struct session_state **ret);
/* STORE_LIMIT beyond LIMIT_STATE_BYTES. */
enum store_err
session_state_append(struct session_state *, const void *, size_t len);
/* Durably in the place of an earlier one. The writer stays to be freed. */
enum store_err session_state_commit(struct session_state *);
/*
 * The same with the next commit, before its rows; done is called then, with
 * STORE_CLOSED when there was none. STORE_OK: the writer is taken.
 */
typedef void session_state_fn(void *arg, enum store_err);
enum store_err
session_state_queue(struct session_state **, session_state_fn *done, void *arg);
void session_state_free(struct session_state **);

/*
 * Appends the state to a buffer with room for STATE_FILE_BYTES. STORE_NOT_FOUND
 * when there is none; STORE_CORRUPT when it is not what was written, and the
 * buffer is as it was.
 */
enum store_err
session_state_read(struct store *, const struct ulid *, struct buf *ret);
/*
 * The file with its seal, for who copies it: sound or not. *ret_fd is the
 * caller's; STORE_NOT_FOUND when there is none.
 */
enum store_err session_state_open(
    struct store *, const struct ulid *, int *ret_fd, size_t *ret_len);
void session_state_remove(struct store *, const struct ulid *);

#endif
