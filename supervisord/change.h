/*
 * change: one write about one run: its record, events, documents, journal and
 * artifact rows together. Built in a turn, committed at its end; only then are
 * its events pushed and its owner told: persist, act, reply.
 */
#ifndef SUPERVISORD_CHANGE_H
#define SUPERVISORD_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "storage/artifact.h"
#include "storage/audit.h"
#include "storage/event.h"
#include "storage/idem.h"
#include "storage/journal.h"
#include "storage/run.h"

#define CHANGE_EVENTS     16
#define CHANGE_ARTIFACTS  12
#define CHANGE_AUDITS     3
#define CHANGE_AUDIT_TEXT 160

struct sup;

struct change_event {
	enum event_kind kind;
	int64_t stamp_ms;
	uint8_t *doc;
	size_t len;
	uint64_t seq; /* after the commit */
};

struct change_audit {
	struct audit_entry entry;
	char text[CHANGE_AUDIT_TEXT];
};

struct change_artifact {
	struct artifact_row row;
	struct artifact_writer *writer; /* holds the bytes until committed */
	const void *bytes;
};

enum change_record {
	CHANGE_KEEP, /* the record stays as it is */
	CHANGE_UPDATE,
	CHANGE_INSERT
};

/* What the end of a run means for its session. */
enum change_session {
	CHANGE_SESSION_NOT,
	CHANGE_SESSION_KEPT, /* the one it made: a row for it */
	CHANGE_SESSION_BACK  /* the one it was lent */
};

struct change;
/*
 * After the commit, whatever came of it; events were pushed before. Returns
 * true to keep the change, for change_commit() once more.
 */
typedef bool change_done_fn(struct sup *, struct change *, int err);

struct change {
	struct sup *sup;
	struct run_record rec;
	enum change_record record;
	struct change_event events[CHANGE_EVENTS];
	size_t nevents;
	struct {
		uint8_t *bytes;
		size_t len;
	} docs[RUN_DOC__MAX];
	struct change_audit audits[CHANGE_AUDITS];
	size_t naudits;
	struct journal_row *journal;       /* with bytes of its own, or NULL */
	struct collect_row *collect;       /* likewise */
	struct change_artifact *artifacts; /* few changes have any */
	size_t nartifacts;
	int64_t artifacts_expire_ms; /* 0: unchanged */
	enum change_session session;
	int64_t session_expires_ms;
	uint64_t ack; /* its worker's messages that are stored with it; or 0 */
	/* What is known only within the transaction, and may refuse it. */
	int (*guard)(struct store_txn *, struct change *);
	change_done_fn *done;
	void *arg; /* the owner's; for done and guard */
};

/* A snapshot of the record as it shall be. NULL when memory ran out. */
struct change *
change_new(struct sup *, const struct run_record *, enum change_record);
void change_free(struct change **);

/* Each takes the bytes out of the buf, which is empty afterwards. False, and
 * the commit will fail, when the buf had failed or there are too many. */
bool change_event(struct change *, enum event_kind, struct buf *data);
bool change_doc(struct change *, enum run_doc, struct buf *);
/*
 * Finishes the writer and, if that went well, takes it (set to NULL) and adds
 * the event artifact_created.
 */
enum store_err change_artifact(struct change *, enum artifact_kind,
    const char *mime, const char *name, struct artifact_writer **);
/* Of the last one: once a later write was committed, why its file is not on
 * the disk. */
enum store_err change_artifact_error(const struct change *);
/* Takes the last one out again, with its event. */
void change_artifact_drop(struct change *);
/* A row of the audit log about the run. */
void change_audit(struct change *, int64_t actor, enum audit_action,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Copies. */
bool change_journal(struct change *, const struct journal_row *);
bool change_collect(struct change *, const struct collect_row *);

/* Queues it for the end of this turn. done may be NULL. */
void change_commit(struct change *, change_done_fn *, void *arg);
/* Queues it for when store_hurry() is called, which the caller sees to. */
void change_commit_soon(struct change *, change_done_fn *, void *arg);
/* Queues what nobody waits for; it is committed with others, soon. */
void change_commit_later(struct change *, change_done_fn *, void *arg);

#endif
