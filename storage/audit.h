/*
 * audit: the append-only log of who did what. A row is written in the
 * transaction of what it tells, so that there is no act without its row; rows
 * are numbered from 1 and each holds the hash of the one before it. The head
 * (number and hash of the last row) and the anchor (where the log begins after
 * old rows were removed) are kept in a table of their own.
 *
 * What a check finds by itself: a row that was changed, removed, put elsewhere
 * or added, rows missing at the end, at the beginning or altogether. Whoever can
 * write the database can also make the whole chain anew: only a head that was
 * noted elsewhere (supervisord logs it) tells that.
 */
#ifndef STORAGE_AUDIT_H
#define STORAGE_AUDIT_H

#include "model/audit.h"
#include "storage/store.h"

#define AUDIT_SERVICE      (-1) /* an actor that is no client */
#define AUDIT_DETAIL_BYTES 1024
#define AUDIT_HASH_BYTES   32
#define AUDIT_TRIM_CHARS   127 /* of the detail of a row audit.trim */

struct audit_entry {
	int64_t time_ms;
	int64_t actor; /* a uid, or AUDIT_SERVICE */
	enum audit_action action;
	struct ulid run;    /* all zero: it is about no run */
	const char *detail; /* plain text for people, no secrets; or NULL */
};

/*
 * Appends a row. What is longer than AUDIT_DETAIL_BYTES is cut at a character.
 * An error of it fails the transaction: nothing happens without its row.
 */
int audit_append(struct store_txn *, const struct audit_entry *);

struct audit_row {
	uint64_t number;
	int64_t time_ms;
	int64_t actor;
	enum audit_action action;
	struct ulid run;
	const uint8_t *detail; /* borrowed until the transaction ends */
	size_t detail_len;
	uint8_t hash[AUDIT_HASH_BYTES];
};

struct audit_state {
	uint64_t rows;  /* written in all, the number of the last */
	uint64_t first; /* number of the oldest that is kept, or rows + 1 */
	uint8_t head[AUDIT_HASH_BYTES];   /* hash of the last row */
	uint8_t anchor[AUDIT_HASH_BYTES]; /* of the row before the first */
};
/* STORE_CORRUPT also when it is not there. */
int audit_state(struct store_txn *, struct audit_state *ret_state);

/* The hash of a row; STORE_NOT_FOUND when it is not there. */
int audit_hash(
    struct store_txn *, uint64_t number, uint8_t ret_hash[AUDIT_HASH_BYTES]);

/* Every field that is set must match. */
struct audit_query {
	uint64_t before;  /* only lower numbers; 0: any */
	int64_t since_ms; /* at least; 0: any */
	int64_t until_ms; /* at most; 0: any */
	bool by_actor;
	int64_t actor;
	bool by_action;
	enum audit_action action;
	const struct ulid *run; /* NULL: any */
	unsigned looks;         /* rows looked at, at most */
};
/*
 * Called per row, newest first; row is NULL and err says why when it cannot be
 * read. Returns false to stop before this row.
 */
typedef bool audit_visit_fn(
    uint64_t number, const struct audit_row *row, int err, void *arg);
/* *ret_next: the before with which the list goes on; 0: it is at its end. */
int audit_list(struct store_txn *, const struct audit_query *,
    audit_visit_fn *fn, void *arg, uint64_t *ret_next);

/* Checks. */

enum audit_fault {
	AUDIT_SOUND,
	AUDIT_NO_STATE,   /* head or anchor cannot be read */
	AUDIT_MISSING,    /* the row is not there */
	AUDIT_DAMAGED,    /* its record does not match its checksum */
	AUDIT_EDITED,     /* its contents do not match its hash */
	AUDIT_UNLINKED,   /* it does not hold the hash of the one before */
	AUDIT_BAD_HEAD,   /* the last row is not the one that the head names */
	AUDIT_BAD_ANCHOR, /* the log does not begin where it says it does */
	AUDIT_EXTRA,      /* it stands outside of the log */
	AUDIT_BEHIND,     /* it tells of an older copy that was put back */
	AUDIT_RESUMED,    /* it tells that the end before it was lost */
	AUDIT_NOT_NOTED,  /* it has not the hash that was noted elsewhere */
	AUDIT_NOTE_GONE,  /* it was noted elsewhere, but is kept no more */
	AUDIT_FAULT__MAX
};
/* A sentence fragment about a row, for example "was changed". */
const char *audit_fault_text(enum audit_fault);

/* A check that goes on over several transactions. All zero at first. */
struct audit_check {
	/* What is wanted: a row that was noted elsewhere, 0: none. */
	uint64_t noted;
	uint8_t noted_hash[AUDIT_HASH_BYTES];
	/* The outcome. */
	bool done;
	enum audit_fault fault;
	uint64_t bad; /* number of the row at fault, 0: none */
	uint64_t checked;
	uint64_t restored; /* the last row that tells of a restore, 0: none */
	struct audit_state state;
	/* The check's own. */
	uint64_t next; /* number of the next row */
	uint8_t prev[AUDIT_HASH_BYTES];
	char trimmed[AUDIT_TRIM_CHARS + 1]; /* the last row on that */
};
/* At most max rows. An error of the store, else STORE_OK. */
int audit_check(struct store_txn *, struct audit_check *, unsigned max);

/*
 * Queues one batch that removes at most max rows from the old end: those from
 * before before_ms, and those beyond keep. It leaves a row by the service that
 * names the last one removed. more: call again.
 */
typedef void audit_trim_done_fn(void *arg, int err, unsigned rows, bool more);
enum store_err audit_trim(struct store *, int64_t now_ms, int64_t before_ms,
    uint64_t keep, unsigned max, audit_trim_done_fn *done, void *arg);

#endif
