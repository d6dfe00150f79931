/*
 * Rows of the audit log that supervisord writes by themselves, and what is done
 * with the log as time passes. A peer that is refused again and again must not
 * fill the disk: what is alike is counted.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "launch/launch.h"
#include "storage/audit.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/link.h"
#include "supervisord/noted.h"
#include "supervisord/sup.h"

#define TEXT_BYTES   192
#define KINDS        256 /* told apart at once */
#define ACTOR_KINDS  16  /* of one actor */
#define WINDOW_MS    60000
#define LOOK_MIN_MS  1000
#define LOOK_MAX_MS  3600000
#define HOUR_S       3600
#define TRIM_BATCH   500
#define RECORD_MS    250 /* rows are that long without a record */
#define TRIM_WAIT_MS 10  /* between two batches: others come first */

/* What was told within this window, and how often again. */
struct kind {
	int64_t actor;
	enum audit_action action;
	struct ulid run;
	char text[TEXT_BYTES];
	uint64_t again;
};

struct auditlog {
	struct sup *sup;
	struct event *window; /* armed while there are kinds */
	struct event *look;
	struct event *record; /* armed while rows may be unrecorded */
	struct event *hour;   /* of what each user may cause */
	bool trimming;
	uint64_t noted;    /* the last row that was logged */
	uint64_t recorded; /* and that the launcher was told */
	uint64_t other;    /* beyond those told apart */
	size_t n;
	struct kind kinds[KINDS];
};

struct told {
	struct audit_entry entry;
	char text[TEXT_BYTES];
	struct watch *watch; /* whose answers wait for it; NULL: nobody's */
};

/* Who did it, and whether something waits until it is told. */
struct actor {
	struct sup *sup;
	struct client *client; /* or NULL */
	int64_t uid;           /* or AUDIT_SERVICE */
	bool urgent;
};

static int
told_write(struct store_txn *txn, void *arg)
{
	const struct told *t = arg;

	return audit_append(txn, &t->entry);
}

static void
told_written(void *arg, int err)
{
	struct told *t = arg;
	struct client *client = t->watch == NULL ? NULL : t->watch->client;

	watch_free(&t->watch);
	if (client != NULL)
		client_hold(client, false);
	if (err != STORE_OK)
		log_err("audit: %s \"%s\" was not written: %s",
		    audit_action_name(t->entry.action), t->text,
		    store_strerror(err));
	free(t);
}

/* Its answers wait, as long as it is connected. */
static void
told_await(struct told *t, struct client *client)
{
	static const struct ulid none;

	t->watch = watch_new(WATCH_OTHER, client, NULL, &none, 0);
	if (t->watch == NULL)
		return;
	t->watch->owner = &t->watch;
	client_hold(client, true);
}

static void
tell(const struct actor *by, enum audit_action action, const struct ulid *run,
    const char *text)
{
	struct told *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		log_err("audit: %s \"%s\" was not written: no memory",
		    audit_action_name(action), text);
		return;
	}
	strlcpy(t->text, text, sizeof(t->text));
	t->entry = (struct audit_entry){ .time_ms = clock_stamp_ms(),
		.actor = by->uid,
		.action = action,
		.detail = t->text };
	if (run != NULL)
		t->entry.run = *run;
	if (by->client != NULL)
		told_await(t, by->client);
	(by->urgent ? store_write : store_write_later)(
	    by->sup->store, told_write, t, told_written, t);
}

void
auditlog_tell(struct sup *sup, int64_t actor, enum audit_action action,
    const struct ulid *run, const char *fmt, ...)
{
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell(&(struct actor){ .sup = sup, .uid = actor }, action, run, text);
}

void
auditlog_tell_client(struct client *client, enum audit_action action,
    const struct ulid *run, const char *fmt, ...)
{
	const struct actor by = { client_sup(client), client,
		(int64_t)client_uid(client), true };
	char text[TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	tell(&by, action, run, text);
}

/* What can happen often. */

static void
kinds_flush(struct auditlog *a)
{
	char text[TEXT_BYTES];

	for (size_t i = 0; i < a->n; i++) {
		const struct kind *k = &a->kinds[i];

		if (k->again == 0)
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 " times more: %.128s",
		    k->again, k->text);
		auditlog_tell(a->sup, k->actor, k->action, &k->run, "%s", text);
	}
	if (a->other > 0) {
		snprintf(text, sizeof(text),
		    "%" PRIu64 " times more: not told apart", a->other);
		auditlog_tell(a->sup, AUDIT_SERVICE, AUDIT_ACCESS_REFUSE, NULL,
		    "%s", text);
	}
	a->n = 0;
	a->other = 0;
}

static void
on_window(evutil_socket_t fd, short what, void *arg)
{
	kinds_flush(arg);
}

/* True: it is the first of its kind. */
static bool
kinds_count(struct auditlog *a, const struct kind *seen)
{
	struct timeval tv = { .tv_sec = WINDOW_MS / 1000 };
	size_t actors = 0;

	for (size_t i = 0; i < a->n; i++) {
		struct kind *k = &a->kinds[i];

		if (k->actor != seen->actor)
			continue;
		actors++;
		if (k->action == seen->action &&
		    memcmp(&k->run, &seen->run, sizeof(k->run)) == 0 &&
		    strcmp(k->text, seen->text) == 0) {
			k->again++;
			return false;
		}
	}
	if (actors >= ACTOR_KINDS || a->n == KINDS) {
		a->other++;
		return false;
	}
	if (a->n == 0)
		evtimer_add(a->window, &tv);
	a->kinds[a->n++] = *seen;
	return true;
}

static void __attribute__((format(printf, 4, 0)))
tell_often(const struct actor *by, enum audit_action action,
    const struct ulid *run, const char *fmt, va_list ap)
{
	struct kind seen = { .actor = by->uid, .action = action };

	if (run != NULL)
		seen.run = *run;
	vsnprintf(seen.text, sizeof(seen.text), fmt, ap);
	if (kinds_count(by->sup->auditlog, &seen))
		tell(by, action, run, seen.text);
}

void
auditlog_tell_often(struct sup *sup, int64_t actor, enum audit_action action,
    const struct ulid *run, const char *fmt, ...)
{
	const struct actor by = { sup, NULL, actor, true };
	va_list ap;

	va_start(ap, fmt);
	tell_often(&by, action, run, fmt, ap);
	va_end(ap);
}

void
auditlog_tell_client_often(struct client *client, enum audit_action action,
    const struct ulid *run, const char *fmt, ...)
{
	const struct actor by = { client_sup(client), client,
		(int64_t)client_uid(client), true };
	va_list ap;

	va_start(ap, fmt);
	tell_often(&by, action, run, fmt, ap);
	va_end(ap);
}

/* As time passes. */

void
auditlog_spend(struct share *share, unsigned rows)
{
	share_grow_hourly(share, SHARE_AUDIT_ROWS, rows);
}

static void
on_hour(evutil_socket_t fd, short what, void *arg)
{
	struct auditlog *a = arg;

	share_end_hour(&a->sup->shares, SHARE_AUDIT_ROWS);
}

/* What is committed; an error was logged. */
static bool
last_row(struct sup *sup, struct audit_state *ret)
{
	struct store_txn *txn;
	int err = store_read_begin(sup->store, &txn);

	if (err == STORE_OK) {
		err = audit_state(txn, ret);
		store_read_end(sup->store);
	}
	if (err != STORE_OK)
		log_err("audit: the end of the log cannot be read: %s",
		    store_strerror(err));
	return err == STORE_OK;
}

static void
record_last(struct auditlog *a, const struct audit_state *s)
{
	struct launch_row_told told = { .row = s->rows };

	if (s->rows == a->recorded)
		return;
	a->recorded = s->rows;
	memcpy(told.hash, s->head, sizeof(told.hash));
	link_record(a->sup->link, &told);
}

void
auditlog_committed(void *arg)
{
	static const struct timeval soon = { .tv_usec = RECORD_MS * 1000 };
	struct sup *sup = arg;

	if (!evtimer_pending(sup->auditlog->record, NULL))
		evtimer_add(sup->auditlog->record, &soon);
}

static void
on_record(evutil_socket_t fd, short what, void *arg)
{
	struct auditlog *a = arg;
	struct audit_state s;

	if (last_row(a->sup, &s))
		record_last(a, &s);
}

void
auditlog_compare(struct sup *sup, const char *recorded)
{
	struct audit_check c = { 0 };
	uint8_t hash[AUDIT_HASH_BYTES];
	struct audit_state s;
	struct store_txn *txn;
	int err = STORE_OK;

	/* Its next row tells that, with number and hash of what was found. */
	if (!last_row(sup, &s)) {
		auditlog_tell(sup, AUDIT_SERVICE, AUDIT_AUDIT_BEHIND, NULL,
		    "the end cannot be read; recorded was row %.90s",
		    recorded == NULL ? "none" : recorded);
		(void)store_commit(sup->store, clock_stamp_ms());
		return;
	}
	sup->auditlog->recorded = s.rows;
	/* What was removed since, as it was old, says nothing. */
	if (recorded == NULL || !noted_read(recorded, &c) || c.noted < s.first)
		return;
	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return;
	err = audit_hash(txn, c.noted, hash);
	store_read_end(sup->store);
	if (err == STORE_OK && memcmp(hash, c.noted_hash, sizeof(hash)) == 0)
		return;
	log_err("audit: row %" PRIu64 " was recorded, but the log %s: an older"
		" copy of the store was put back, or rows were changed or"
		" removed",
	    c.noted,
	    c.noted > s.rows ? "ends before it" : "has another one there");
	auditlog_tell(sup, AUDIT_SERVICE, AUDIT_AUDIT_BEHIND, NULL,
	    "the log ended with row %" PRIu64 "; recorded was row %.90s",
	    s.rows, recorded);
	/* No record is made before this is stored. */
	(void)store_commit(sup->store, clock_stamp_ms());
}

void
auditlog_note(struct sup *sup)
{
	char hex[2 * AUDIT_HASH_BYTES + 1];
	struct auditlog *a = sup->auditlog;
	struct audit_state s;

	if (!last_row(sup, &s))
		return;
	record_last(a, &s);
	if (s.rows == a->noted)
		return;
	a->noted = s.rows;
	for (size_t i = 0; i < sizeof(s.head); i++)
		snprintf(hex + 2 * i, 3, "%02x", s.head[i]);
	log_info("audit: the last row is %" PRIu64 ":%s", s.rows, hex);
}

static void
look_in(struct auditlog *a, int64_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000,
		.tv_usec = ms % 1000 * 1000 };

	evtimer_add(a->look, &tv);
}

/* Often enough that nothing is kept for much longer than it should be. */
static int64_t
look_interval(const struct auditlog *a)
{
	int64_t ms = a->sup->settings.auditTtlMs / 4;

	if (ms < LOOK_MIN_MS)
		return LOOK_MIN_MS;
	return ms > LOOK_MAX_MS ? LOOK_MAX_MS : ms;
}

static void
on_trimmed(void *arg, int err, unsigned rows, bool more)
{
	struct auditlog *a = arg;

	a->trimming = false;
	if (err == STORE_CLOSED)
		return;
	if (err != STORE_OK)
		log_warn("audit: old rows were not removed: %s",
		    store_strerror(err));
	else if (rows > 0)
		log_info("audit: %u old rows were removed", rows);
	look_in(a, err == STORE_OK && more ? TRIM_WAIT_MS : look_interval(a));
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct auditlog *a = arg;
	const struct settings *set = &a->sup->settings;
	int64_t now = clock_stamp_ms();

	if (a->trimming)
		return;
	auditlog_note(a->sup);
	a->trimming = audit_trim(a->sup->store, now, now - set->auditTtlMs,
			  (uint64_t)set->auditMaxRows, TRIM_BATCH, on_trimmed,
			  a) == STORE_OK;
	if (!a->trimming)
		look_in(a, LOOK_MIN_MS);
}

void
auditlog_start(struct sup *sup)
{
	static const struct timeval hour = { .tv_sec = HOUR_S };

	evtimer_add(sup->auditlog->hour, &hour);
	auditlog_tell(sup, AUDIT_SERVICE, AUDIT_SERVICE_START, NULL, "epoch %u",
	    store_epoch(sup->store));
	auditlog_note(sup);
	look_in(sup->auditlog, LOOK_MIN_MS);
}

void
auditlog_reload(struct sup *sup)
{
	look_in(sup->auditlog, 0);
}

void
auditlog_stop(struct sup *sup)
{
	kinds_flush(sup->auditlog);
	auditlog_tell(sup, AUDIT_SERVICE, AUDIT_SERVICE_STOP, NULL, "%s",
	    sup->exit_code == 0                         ? "as told"
		: sup->exit_code == LAUNCH_EXIT_RESTART ? "to be started anew"
							: "after a failure");
}

struct auditlog *
auditlog_new(struct sup *sup)
{
	struct auditlog *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->sup = sup;
	a->window = evtimer_new(sup->base, on_window, a);
	a->look = evtimer_new(sup->base, on_look, a);
	a->record = evtimer_new(sup->base, on_record, a);
	a->hour = event_new(sup->base, -1, EV_PERSIST, on_hour, a);
	if (a->window == NULL || a->look == NULL || a->record == NULL ||
	    a->hour == NULL)
		auditlog_free(&a);
	return a;
}

void
auditlog_free(struct auditlog **auditlog)
{
	struct auditlog *a = *auditlog;

	if (a == NULL)
		return;
	if (a->window != NULL)
		event_free(a->window);
	if (a->look != NULL)
		event_free(a->look);
	if (a->record != NULL)
		event_free(a->record);
	if (a->hour != NULL)
		event_free(a->hour);
	free(a);
	*auditlog = NULL;
}
