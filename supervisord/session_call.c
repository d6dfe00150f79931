/*
 * Lists and closes kept sessions for clients, in supervisord. A session is
 * closed by deleting its row; what else there is of it goes when that is
 * committed, and then it is answered.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "storage/audit.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/query.h"
#include "supervisord/reply.h"
#include "supervisord/session.h"
#include "supervisord/session_call.h"
#include "supervisord/sup.h"

/* session.list */

/* Its user's, as far as trust and label go. */
static bool
may_use(const struct client *client, const struct session_record *rec)
{
	return session_record_for(rec, client_trust(client)) &&
	    session_record_of(rec, client_label(client));
}

struct listing {
	struct sup *sup;
	struct json_writer *w;
	int64_t left, now_ms;
	bool more;
	const struct client *client;
	struct ulid last;
};

static void
put_stamp(struct json_writer *w, const char *key, int64_t ms)
{
	if (ms != 0)
		json_put_int64(w, key, ms);
	else
		json_put_null(w, key);
}

static void
put_session(struct listing *l, const struct session_record *rec)
{
	struct json_writer *w = l->w;
	struct session_view view;

	session_look(l->sup, &rec->id, &view);
	json_put_int64(w, "uid", rec->uid);
	json_put_str(w, "templateId", rec->template_id);
	json_put_str(w, "label", rec->owner);
	json_put_bool(w, "shared", rec->shared);
	json_put_int64(w, "createdAt", rec->created_ms);
	json_put_int64(w, "lastUsedAt", rec->last_used_ms);
	put_stamp(w, "expiresAt", rec->expires_ms);
	json_put_id(w, "lastRunId", "run_", &rec->last_run);
	json_put_bool(w, "living", view.living);
	json_put_bool(w, "busy", view.busy);
	json_put_int64(w, "waitingRuns", (int64_t)view.waiting);
}

static bool
list_session(
    const struct ulid *id, const struct session_record *rec, int err, void *arg)
{
	struct listing *l = arg;

	if (rec != NULL &&
	    (session_record_expired(rec, l->now_ms) ||
		!may_use(l->client, rec)))
		return true;
	l->more = l->left-- == 0;
	if (l->more)
		return false;
	l->last = *id;
	json_write_begin_object(l->w);
	json_put_id(l->w, "sessionId", "sess_", id);
	if (rec != NULL)
		put_session(l, rec);
	else
		json_put_str(l->w, "unreadable", store_strerror(err));
	json_write_end_object(l->w);
	return true;
}

static int
list_write(struct listing *l, bool by_uid, uint32_t uid,
    const struct ulid *before, int64_t limit)
{
	struct json_writer *w = l->w;
	struct store_txn *txn;
	int err = store_read_begin(l->sup->store, &txn);

	if (err != STORE_OK)
		return err;
	json_write_begin_object(w);
	json_write_key(w, "sessions");
	json_write_begin_array(w);
	err = session_list(txn, by_uid, uid, before, list_session, l);
	store_read_end(l->sup->store);
	json_write_end_array(w);
	json_put_int64(w, "limit", limit);
	if (l->more)
		json_put_id(w, "nextCursor", "sess_", &l->last);
	else
		json_put_null(w, "nextCursor");
	json_write_end_object(w);
	return err;
}

void
session_call_list(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t limit = ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT);
	const char *cursor = ipc_str(p, F_CURSOR);
	struct listing l = { .sup = client_sup(client),
		.left = limit,
		.now_ms = clock_stamp_ms(),
		.client = client };
	struct refusal refusal = { 0 };
	struct ulid before;
	struct json_writer w;
	bool by_uid, good;
	uint32_t uid;
	struct buf b;
	int err;

	good = query_whose(client, p, false, &by_uid, &uid, &refusal);
	if (good && cursor != NULL && !id_parse("sess_", cursor, &before))
		good = refuse(&refusal, ERR_INVALID_PARAMETER,
		    "cursor: not a nextCursor of an answer");
	if (!good) {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
		return;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	l.w = &w;
	err =
	    list_write(&l, by_uid, uid, cursor == NULL ? NULL : &before, limit);
	if (err == STORE_OK)
		reply_json(client, seq, &w, &b);
	else
		reply_error(
		    client, seq, ERR_STORAGE_ERROR, NULL, store_strerror(err));
	buf_clear(&b);
}

/* What is asked about one session, until it is answered. */

struct asking {
	struct sup *sup;
	struct watch *watch; /* who asked; NULL when they went away */
	struct ulid id;
	char name[ID_CHARS + 1];
	uid_t uid;
	bool flag; /* of a close: force; else: shared */
};

/* What a client may not see does not exist for it. */
static bool
session_find(struct client *client, const struct ulid *id)
{
	struct sup *sup = client_sup(client);
	struct session_record rec;
	struct store_txn *txn;
	int err;

	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return false;
	err = session_get(txn, id, &rec);
	store_read_end(sup->store);
	if (err == STORE_OK && session_record_expired(&rec, clock_stamp_ms()))
		return false;
	if (err == STORE_OK &&
	    (!client_may_see(client, rec.uid) || !may_use(client, &rec))) {
		auditlog_tell_client_often(client, AUDIT_ACCESS_REFUSE, NULL,
		    "session of uid %u", (unsigned)rec.uid);
		return false;
	}
	if (err == STORE_OK)
		return true;
	/* One that cannot be read: for those who may close any. */
	return err != STORE_NOT_FOUND && client_may_command(client);
}

/* Who asks for what is not there, or when there is no memory, was told so. */
static struct asking *
asking_new(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct ulid no_run;
	struct asking *a;
	struct ulid id;

	if (!id_parse("sess_", ipc_str(p, F_SESSION_ID), &id) ||
	    !session_find(client, &id)) {
		reply_error(
		    client, seq, ERR_SESSION_NOT_FOUND, NULL, SESSION_NONE);
		return NULL;
	}
	a = calloc(1, sizeof(*a));
	if (a != NULL)
		a->watch = watch_new(WATCH_OTHER, client, NULL, &no_run, seq);
	if (a == NULL || a->watch == NULL) {
		free(a);
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		return NULL;
	}
	a->watch->owner = &a->watch;
	a->sup = client_sup(client);
	a->id = id;
	id_format("sess_", &id, a->name);
	a->uid = client_uid(client);
	return a;
}

static void
asking_free(struct asking *a)
{
	if (a->watch != NULL)
		a->watch->owner = NULL;
	watch_free(&a->watch);
	free(a);
}

static void
asking_fail(struct asking *a, enum err_code code, const char *message)
{
	if (a->watch != NULL)
		reply_error(
		    a->watch->client, a->watch->seq, code, NULL, message);
	asking_free(a);
}

static void
asking_fail_store(struct asking *a, int err)
{
	if (err == STORE_CLOSED)
		asking_free(a);
	else if (err == STORE_NOT_FOUND)
		asking_fail(a, ERR_SESSION_NOT_FOUND, SESSION_NONE);
	else
		asking_fail(a, reply_store_code(err), store_strerror(err));
}

/* With its flag under that name, unless it is NULL. */
static void
asking_succeed(struct asking *a, const char *flag)
{
	struct json_writer w;
	struct buf b;

	if (a->watch != NULL) {
		buf_init(&b, 1024);
		json_writer_init(&w, &b);
		json_write_begin_object(&w);
		json_put_str(&w, "sessionId", a->name);
		json_put_bool(&w, "success", true);
		if (flag != NULL)
			json_put_bool(&w, flag, a->flag);
		json_write_end_object(&w);
		reply_json(a->watch->client, a->watch->seq, &w, &b);
	}
	asking_free(a);
}

static int
asking_audit(const struct asking *a, struct store_txn *txn,
    enum audit_action action, const char *detail)
{
	struct audit_entry e = { .time_ms = clock_stamp_ms(),
		.actor = (int64_t)a->uid,
		.action = action,
		.detail = detail };

	return audit_append(txn, &e);
}

/* session.close */

/* Nothing of it is left. */
static void
closing_done(void *arg)
{
	asking_succeed(arg, NULL);
}

static int
closing_write(struct store_txn *txn, void *arg)
{
	const struct asking *a = arg;
	int err = session_delete_idle(txn, &a->id);

	return err == STORE_OK
	    ? asking_audit(a, txn, AUDIT_SESSION_CLOSE, a->name)
	    : err;
}

static void closing_empty(void *arg);

static void
closing_written(void *arg, int err)
{
	struct asking *a = arg;
	struct session_view view;

	CRASH_POINT(close_written);
	if (err == STORE_OK) {
		log_info("%s: closed by uid %u", a->name, (unsigned)a->uid);
		session_end(a->sup, &a->id, closing_done, a);
		return;
	}
	if (err != STORE_EXISTS) {
		asking_fail_store(a, err);
		return;
	}
	session_look(a->sup, &a->id, &view);
	/* One was submitted meanwhile. */
	if (a->flag && (view.busy || view.waiting > 0))
		session_empty(
		    a->sup, &a->id, (int64_t)a->uid, closing_empty, a);
	else
		asking_fail(a, ERR_SESSION_IN_USE,
		    "a run uses the session or waits for it; force cancels"
		    " such runs");
}

static void
closing_empty(void *arg)
{
	struct asking *a = arg;

	store_write(a->sup->store, closing_write, a, closing_written, a);
}

void
session_call_close(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct asking *a = asking_new(client, seq, p);

	if (a == NULL)
		return;
	a->flag = ipc_bool(p, F_FORCE, false);
	if (a->flag)
		session_empty(
		    a->sup, &a->id, (int64_t)a->uid, closing_empty, a);
	else
		closing_empty(a);
}

/* session.share */

static int
sharing_write(struct store_txn *txn, void *arg)
{
	const struct asking *a = arg;
	char detail[ID_CHARS + 16];
	int err = session_share(txn, &a->id, a->flag);

	snprintf(detail, sizeof(detail), "%s, %s", a->name,
	    a->flag ? "shared" : "not shared");
	return err == STORE_OK
	    ? asking_audit(a, txn, AUDIT_SESSION_SHARE, detail)
	    : err;
}

static void
sharing_written(void *arg, int err)
{
	if (err == STORE_OK)
		asking_succeed(arg, "shared");
	else
		asking_fail_store(arg, err);
}

void
session_call_share(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct asking *a = asking_new(client, seq, p);

	if (a == NULL)
		return;
	a->flag = ipc_bool(p, F_SHARED, true);
	store_write(a->sup->store, sharing_write, a, sharing_written, a);
}
