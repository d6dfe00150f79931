/*
 * auditlog: the audit log in supervisord: rows for what has no transaction of
 * its own, retention, and the log's last hash in the system log. Where there is
 * a transaction, audit_append() of storage/audit.h is called in it instead.
 */
#ifndef SUPERVISORD_AUDITLOG_H
#define SUPERVISORD_AUDITLOG_H

#include <stdint.h>

#include "common/ulid.h"
#include "model/audit.h"

struct auditlog;
struct client;
struct share;
struct sup;

struct auditlog *auditlog_new(struct sup *);
/* Writes what was counted; then the last rows are to be committed. */
void auditlog_stop(struct sup *);
void auditlog_free(struct auditlog **);
/* Serving begins: logs the last hash and lets old rows go, now and later. */
void auditlog_start(struct sup *);
/* The settings changed: other rows may be old. */
void auditlog_reload(struct sup *);
/*
 * Before the first write: whether the log has the row that was recorded outside,
 * "ROW:HASH" or NULL. If not, a row that no check passes over says so.
 */
void auditlog_compare(struct sup *, const char *recorded);
/* Something was committed: the launcher is told the last row soon. sup is arg. */
void auditlog_committed(void *arg);
/* Number and hash of the last row, for the system log. */
void auditlog_note(struct sup *);

/*
 * Tells it once, with the next commit; the loop sees to it that there is one
 * soon, and a clean stop writes what waits. actor is a uid or AUDIT_SERVICE, run
 * may be NULL, and the text has no secrets in it.
 */
void auditlog_tell(struct sup *, int64_t actor, enum audit_action,
    const struct ulid *run, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/*
 * The same for what a peer can have happen as often as it likes: the first is
 * written, and what is alike within a minute is counted and written as one row
 * with the count.
 */
void auditlog_tell_often(struct sup *, int64_t actor, enum audit_action,
    const struct ulid *run, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/*
 * The same two for what a client asked: what is sent to it waits until the row
 * is stored. Without memory, or a disk that takes it, the log has an error.
 */
void
auditlog_tell_client(struct client *, enum audit_action, const struct ulid *run,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void auditlog_tell_client_often(struct client *, enum audit_action,
    const struct ulid *run, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* One user's request causes so many rows. */
void auditlog_spend(struct share *, unsigned rows);

#endif
