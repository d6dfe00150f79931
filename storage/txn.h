/*
 * txn: what storage's own modules use inside a transaction: keys, checked
 * records, marks and walks over a prefix. Not for use outside storage/.
 *
 * The first system or LMDB error sticks to the transaction: later calls answer
 * the same and change nothing, so that a chain of puts is checked once.
 */
#ifndef STORAGE_TXN_H
#define STORAGE_TXN_H

#include <lmdb.h>

#include "storage/audit.h"
#include "storage/store.h"

enum store_table {
#define TABLE(name, database, key, value) TABLE_##name,
#include "storage/tables.def"
#undef TABLE
	TABLE__MAX
};

struct store_txn {
	struct store *store;
	MDB_txn *mdb;
	int err; /* sticky enum store_err */
	int sys; /* what LMDB or the system said */
	bool writable;
	bool map_full;
	uint64_t puts; /* changes made */
	/* The run that was inserted last, if it is still there. */
	struct ulid run;
	bool run_known;
	/* Of the audit log: read once, written when all rows are. */
	struct audit_state audit;
	bool audit_known, audit_changed;
	/* What is put next is often where the last put was: no search. */
	MDB_cursor *put[TABLE__MAX];
};

#define STORE_KEY_BYTES 160

struct key {
	uint8_t b[STORE_KEY_BYTES];
	size_t len;
};

void key_init(struct key *);
void key_add(struct key *, const void *, size_t len);
void key_add_u8(struct key *, uint8_t);
void key_add_u32(struct key *, uint32_t);
void key_add_u64(struct key *, uint64_t);
void key_add_ulid(struct key *, const struct ulid *);
/* Big-endian number at p. */
uint64_t key_read_u64(const uint8_t *p);
uint32_t key_read_u32(const uint8_t *p);

/*
 * The payload is borrowed until the next change. STORE_NOT_FOUND, STORE_CORRUPT
 * and STORE_NEWER concern this record only and do not stick.
 */
int txn_get(struct store_txn *, enum store_table, const struct key *,
    const uint8_t **ret_payload, size_t *ret_len);
bool txn_has(struct store_txn *, enum store_table, const struct key *);
/* payload must not point into the store's own pages. */
int txn_put(struct store_txn *, enum store_table, const struct key *,
    const void *payload, size_t len);
/* As txn_put() for a new key; STORE_EXISTS, which does not stick. */
int txn_insert(struct store_txn *, enum store_table, const struct key *,
    const void *payload, size_t len);
/*
 * The same for a key behind all others; STORE_EXISTS when it is not, which
 * does not stick.
 */
int txn_append(struct store_txn *, enum store_table, const struct key *,
    const void *payload, size_t len);
int txn_mark(struct store_txn *, enum store_table, const struct key *);
/* STORE_NOT_FOUND when there was nothing, which does not stick. */
int txn_delete(struct store_txn *, enum store_table, const struct key *);
/* Deletes at most *budget entries below prefix and lowers it. STORE_LIMIT when
 * some are left. */
int txn_delete_prefix(struct store_txn *, enum store_table,
    const struct key *prefix, unsigned *budget);

/* An entry met by a walk; both are borrowed until the next change or step. */
struct txn_entry {
	const uint8_t *key;
	size_t key_len;
	MDB_val value; /* as stored: txn_entry_payload() checks it */
};

struct txn_walk {
	struct store_txn *txn;
	enum store_table table;
	struct key prefix;
	struct key from;
	bool down;
	bool started;
	MDB_cursor *cursor;
	struct txn_entry entry; /* the current one */
};

/*
 * Walks the entries that begin with prefix: upward from the first one at or
 * after from (NULL: prefix), or downward from the last one below before (NULL:
 * the last of all). walk_next() returns false at the end and on errors
 * (txn->err). Nothing may be changed meanwhile. walk_end() is always called.
 */
void walk_up(struct txn_walk *, struct store_txn *, enum store_table,
    const struct key *prefix, const struct key *from);
void walk_down(struct txn_walk *, struct store_txn *, enum store_table,
    const struct key *prefix, const struct key *before);
bool walk_next(struct txn_walk *);
void walk_end(struct txn_walk *);
/* The checked payload of the walk's current record. */
int walk_payload(
    const struct txn_walk *, const uint8_t **ret_payload, size_t *ret_len);

/* Notes an LMDB result on the transaction and translates it. */
int txn_note(struct store_txn *, int rc);
enum store_err store_err_of(int rc);
/* Makes err stick: the whole transaction is lost. */
void txn_fail(struct store_txn *, int err);

/* Things that expire, see sweep.h. */
enum expiry_kind {
	EXPIRY_RUN,
	EXPIRY_ARTIFACT,
	EXPIRY_IDEM,
	EXPIRY_SESSION,
	EXPIRY__MAX
};
void expiry_key(struct key *, int64_t stamp_ms, enum expiry_kind,
    const void *id, size_t id_len);
/* Moves a thing in the expiry index; stamps of 0 stand for not in it. */
int expiry_move(struct store_txn *, enum expiry_kind, const void *id,
    size_t id_len, int64_t old_ms, int64_t new_ms);

#endif
