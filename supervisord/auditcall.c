/*
 * audit.list and audit.verify, in supervisord. A check of the whole log takes
 * as long as it takes: some rows in each turn of the loop.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "storage/audit.h"
#include "storage/store.h"
#include "supervisord/auditcall.h"
#include "supervisord/client.h"
#include "supervisord/noted.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

#define LOOKS       5000 /* rows looked at for one answer */
#define CHECK_BATCH 1000
#define UID_MAX     4294967294ll
#define NUMBER_MAX  INT64_MAX
#define CURSOR      'r' /* begins one: a text, whoever reads it */

/* audit.list */

struct listing {
	struct json_writer *w;
	int64_t left;
};

static void
put_actor(struct json_writer *w, int64_t actor)
{
	char text[24];

	if (actor == AUDIT_SERVICE)
		strlcpy(text, "service", sizeof(text));
	else
		snprintf(text, sizeof(text), "uid:%lld", (long long)actor);
	json_put_str(w, "actor", text);
}

static void
put_hash(
    struct json_writer *w, const char *key, const uint8_t h[AUDIT_HASH_BYTES])
{
	char hex[2 * AUDIT_HASH_BYTES + 1];

	for (size_t i = 0; i < AUDIT_HASH_BYTES; i++)
		snprintf(hex + 2 * i, 3, "%02x", h[i]);
	json_put_str(w, key, hex);
}

static void
put_row(struct json_writer *w, const struct audit_row *row)
{
	static const struct ulid none;

	json_put_str(w, "action", audit_action_name(row->action));
	put_actor(w, row->actor);
	json_put_int64(w, "createdAt", row->time_ms);
	if (memcmp(&row->run, &none, sizeof(none)) != 0)
		json_put_id(w, "runId", "run_", &row->run);
	if (row->detail_len > 0)
		json_put_strn(
		    w, "detail", (const char *)row->detail, row->detail_len);
	put_hash(w, "hash", row->hash);
}

static bool
list_row(uint64_t number, const struct audit_row *row, int err, void *arg)
{
	struct listing *l = arg;

	if (l->left-- == 0)
		return false;
	json_write_begin_object(l->w);
	json_put_int64(l->w, "id", (int64_t)number);
	if (row != NULL)
		put_row(l->w, row);
	else
		json_put_str(l->w, "unreadable", store_strerror(err));
	json_write_end_object(l->w);
	return true;
}

static bool
read_actor(const char *text, int64_t *ret_actor, struct refusal *r)
{
	const char *wrong;

	if (strcmp(text, "service") == 0) {
		*ret_actor = AUDIT_SERVICE;
		return true;
	}
	if (strncmp(text, "uid:", 4) == 0)
		text += 4;
	*ret_actor = strtonum(text, 0, UID_MAX, &wrong);
	return wrong == NULL ||
	    refuse(r, ERR_INVALID_PARAMETER,
		"actor: neither \"service\" nor a uid");
}

static bool
read_query(const struct ipc_params *p, struct audit_query *q, struct ulid *run,
    struct refusal *r)
{
	const char *actor = ipc_str(p, F_ACTOR), *run_id = ipc_str(p, F_RUN_ID);
	const char *action = ipc_str(p, F_ACTION), *wrong = NULL;
	const char *cursor = ipc_str(p, F_CURSOR);

	memset(q, 0, sizeof(*q));
	q->looks = LOOKS;
	q->since_ms = ipc_int(p, F_SINCE, 0);
	q->until_ms = ipc_int(p, F_UNTIL, 0);
	q->by_actor = actor != NULL;
	q->by_action = action != NULL;
	if (actor != NULL && !read_actor(actor, &q->actor, r))
		return false;
	if (action != NULL && !audit_action_by_name(action, &q->action))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "action: there is no action \"%.32s\" in the audit log",
		    action);
	if (run_id != NULL && !id_parse("run_", run_id, run))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "runId is not of the form run_ and 26 characters");
	q->run = run_id == NULL ? NULL : run;
	if (cursor != NULL)
		q->before = (uint64_t)strtonum(
		    cursor + (cursor[0] == CURSOR), 1, NUMBER_MAX, &wrong);
	if (wrong != NULL || (cursor != NULL && cursor[0] != CURSOR))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "cursor: not a nextCursor of an answer");
	return true;
}

static int
list_write(struct sup *sup, const struct audit_query *q, int64_t limit,
    struct json_writer *w)
{
	struct listing l = { .w = w, .left = limit };
	struct store_txn *txn;
	uint64_t next = 0;
	char cursor[24];
	int err = store_read_begin(sup->store, &txn);

	if (err != STORE_OK)
		return err;
	json_write_begin_object(w);
	json_write_key(w, "rows");
	json_write_begin_array(w);
	err = audit_list(txn, q, list_row, &l, &next);
	store_read_end(sup->store);
	json_write_end_array(w);
	json_put_int64(w, "limit", limit);
	snprintf(
	    cursor, sizeof(cursor), "%c%llu", CURSOR, (unsigned long long)next);
	json_put_str(w, "nextCursor", next == 0 ? NULL : cursor);
	json_write_end_object(w);
	return err;
}

void
auditcall_list(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t limit = ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT);
	struct refusal refusal = { 0 };
	struct audit_query query;
	struct json_writer w;
	struct ulid run;
	struct buf b;
	int err;

	if (!read_query(p, &query, &run, &refusal)) {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
		return;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	err = list_write(client_sup(client), &query, limit, &w);
	if (err == STORE_OK)
		reply_json(client, seq, &w, &b);
	else
		reply_error(
		    client, seq, ERR_STORAGE_ERROR, NULL, store_strerror(err));
	buf_clear(&b);
}

/* audit.verify */

static void
verify_answer(struct watch *w, const struct audit_check *c)
{
	struct json_writer json;
	struct buf b;

	buf_init(&b, 4096);
	json_writer_init(&json, &b);
	json_write_begin_object(&json);
	json_put_bool(&json, "sound", c->fault == AUDIT_SOUND);
	json_put_int64(&json, "checked", (int64_t)c->checked);
	if (c->fault != AUDIT_SOUND) {
		json_put_int64(&json, "badRow", (int64_t)c->bad);
		json_put_str(&json, "fault", audit_fault_text(c->fault));
	}
	if (c->restored != 0)
		json_put_int64(&json, "restoredRow", (int64_t)c->restored);
	if (c->fault != AUDIT_NO_STATE) {
		json_put_int64(&json, "oldestRow", (int64_t)c->state.first);
		json_put_int64(&json, "lastRow", (int64_t)c->state.rows);
		put_hash(&json, "lastHash", c->state.head);
	}
	json_write_end_object(&json);
	reply_json(w->client, w->seq, &json, &b);
}

static void
verify_on_turn(int fd, short what, void *arg)
{
	struct watch *w = arg;
	struct audit_check *c = w->state;
	struct sup *sup = client_sup(w->client);
	struct timeval at_once = { 0, 0 };
	struct store_txn *txn;
	int err = store_read_begin(sup->store, &txn);

	if (err == STORE_OK) {
		err = audit_check(txn, c, CHECK_BATCH);
		store_read_end(sup->store);
	}
	if (err == STORE_OK && !c->done) {
		evtimer_add(w->timer, &at_once);
		return;
	}
	if (err == STORE_OK)
		verify_answer(w, c);
	else
		reply_error(w->client, w->seq, ERR_STORAGE_ERROR, NULL,
		    store_strerror(err));
	watch_free(&w);
}

void
auditcall_verify(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct ulid none;
	struct audit_check check = { 0 };
	struct watch *w;

	if (ipc_has(p, F_NOTED) && !noted_read(ipc_str(p, F_NOTED), &check)) {
		reply_error(client, seq, ERR_INVALID_PARAMETER, NULL,
		    "noted: expected a row's number, a colon and its hash of 64"
		    " digits, as the system log has them");
		return;
	}
	w = watch_new(WATCH_OTHER, client, NULL, &none, seq);
	if (w != NULL)
		w->state = malloc(sizeof(check));
	if (w == NULL || w->state == NULL ||
	    !watch_arm(w, client_sup(client)->base, 0, verify_on_turn)) {
		watch_free(&w);
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		return;
	}
	memcpy(w->state, &check, sizeof(check));
}
