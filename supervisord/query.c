/*
 * Questions of clients, answered by supervisord from what is committed. What a
 * client may not see does not exist for it.
 */
#include "config.h"

#include <string.h>

#include "common/clock.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/query.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/runjson.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define BRIEF_BYTES 1000 /* of a Run without its result, mostly less */

bool
query_run_id(struct client *client, uint32_t seq, const struct ipc_params *p,
    struct ulid *ret_id)
{
	if (id_parse("run_", ipc_str(p, F_RUN_ID), ret_id))
		return true;
	reply_error(client, seq, ERR_RUN_NOT_FOUND, NULL,
	    "runId is not of the form run_ and 26 characters");
	return false;
}

/* In a transaction. */
static enum err_code
find_record(struct client *client, struct store_txn *txn, const struct ulid *id,
    struct run_record *ret_rec)
{
	int err = run_get(txn, id, ret_rec);

	if (err == STORE_NOT_FOUND ||
	    (err == STORE_OK && run_record_expired(ret_rec, clock_stamp_ms())))
		return ERR_RUN_NOT_FOUND;
	if (err == STORE_OK && !client_may_read(client, ret_rec->uid)) {
		auditlog_tell_client_often(client, AUDIT_ACCESS_REFUSE, id,
		    "run of uid %u", (unsigned)ret_rec->uid);
		return ERR_RUN_NOT_FOUND;
	}
	return err == STORE_OK ? ERR_NONE : ERR_STORAGE_ERROR;
}

static void
reply_not_found(struct client *client, uint32_t seq, enum err_code code,
    const struct ulid *id)
{
	reply_error(client, seq, code, id,
	    code == ERR_RUN_NOT_FOUND ? "there is no such run"
				      : "the run's record cannot be read");
}

bool
query_record(struct client *client, uint32_t seq, const struct ulid *id,
    struct run_record *ret_rec)
{
	struct sup *sup = client_sup(client);
	enum err_code code = ERR_STORAGE_ERROR;
	struct store_txn *txn;

	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		code = find_record(client, txn, id, ret_rec);
		store_read_end(sup->store);
	}
	if (code == ERR_NONE)
		return true;
	reply_not_found(client, seq, code, id);
	return false;
}

/* The Run object, with what an answer to a submission has besides. */
static void
write_run(struct sup *sup, struct store_txn *txn, const struct run_record *rec,
    const struct runjson_want *want, const struct query_submission *submission,
    struct json_writer *w)
{
	json_write_begin_object(w);
	runjson_write(sup, txn, rec, want, w);
	if (submission != NULL)
		json_put_bool(w, "deduplicated", submission->deduplicated);
	if (submission != NULL && submission->match == IDEM_OTHER)
		json_put_bool(w, "paramsMismatch", true);
	if (submission != NULL && submission->match == IDEM_UNKNOWN)
		json_put_null(w, "paramsMismatch");
	if (submission != NULL && submission->wait_ms > 0)
		json_put_int64(w, "waitMs", submission->wait_ms);
	json_write_end_object(w);
}

static void
answer_run(struct client *client, uint32_t seq, const struct ulid *id,
    const struct runjson_want *want, const struct query_submission *submission)
{
	struct sup *sup = client_sup(client);
	enum err_code code = ERR_STORAGE_ERROR;
	struct run_record rec;
	struct store_txn *txn;
	struct json_writer w;
	struct buf b;

	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		code = find_record(client, txn, id, &rec);
		if (code == ERR_NONE) {
			if (submission != NULL)
				rec.mode = submission->mode;
			write_run(sup, txn, &rec, want, submission, &w);
		}
		store_read_end(sup->store);
	}
	if (submission != NULL && code == ERR_STORAGE_ERROR)
		client_drop(client, "its run cannot be read");
	else if (code != ERR_NONE)
		reply_not_found(client, seq, code, id);
	else if (submission != NULL)
		reply_done(client, seq, &w, &b);
	else
		reply_json(client, seq, &w, &b);
	buf_clear(&b);
}

void
query_answer_run(struct client *client, uint32_t seq, const struct ulid *id,
    const struct query_submission *submission)
{
	struct runjson_want want = { .parts = RUNJSON_RESULT,
		.among_own = !client_reads_all(client) };

	if (submission != NULL) {
		want.parts = submission->brief ? RUNJSON_BRIEF : RUNJSON_RESULT;
		want.max_bytes = submission->max_bytes;
	}
	answer_run(client, seq, id, &want, submission);
}

void
query_answer_new(struct client *client, uint32_t seq,
    const struct run_record *rec, const struct query_submission *submission)
{
	static const struct runjson_want brief = { .parts = RUNJSON_BRIEF };
	struct json_writer w;
	struct buf b;

	buf_init(&b, REPLY_BYTES_MAX);
	buf_reserve(&b, BRIEF_BYTES);
	json_writer_init(&w, &b);
	write_run(client_sup(client), NULL, rec, &brief, submission, &w);
	reply_done(client, seq, &w, &b);
}

/* Is word one of the comma list's? */
static bool
list_has(const char *list, const char *word)
{
	size_t len = strlen(word);
	const char *p = list;

	while (p != NULL && *p != '\0') {
		if (strncmp(p, word, len) == 0 &&
		    (p[len] == ',' || p[len] == '\0'))
			return true;
		p = strchr(p, ',');
		if (p != NULL)
			p++;
	}
	return false;
}

void
query_run(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	const char *include = ipc_str(p, F_INCLUDE);
	struct runjson_want want = { .parts = RUNJSON_RESULT,
		.max_bytes = (size_t)ipc_int(p, F_MAX_BYTES, 0),
		.among_own = !client_reads_all(client) };
	struct ulid id;

	if (!query_run_id(client, seq, p, &id))
		return;
	if (include != NULL && list_has(include, "output"))
		want.parts |= RUNJSON_OUTPUT;
	answer_run(client, seq, &id, &want, NULL);
}

void
query_templates(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	const struct registry *registry = client_sup(client)->registry;
	const char *id = ipc_str(p, F_TEMPLATE_ID);
	struct refusal r = { 0 };
	struct json_writer w;
	struct buf b;

	if (id != NULL && registry_find(registry, id) == NULL) {
		refuse(&r, ERR_TEMPLATE_NOT_FOUND,
		    "there is no template \"%s\"", id);
		reply_error(client, seq, r.code, NULL, r.message);
		return;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_write_key(&w, "templates");
	registry_write(registry, id, &w);
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
}

bool
query_whose(struct client *client, const struct ipc_params *p, bool shared,
    bool *ret_by_uid, uint32_t *ret_uid, struct refusal *r)
{
	bool all = shared ? client_reads_all(client) : client_sees_all(client);
	int64_t own = (int64_t)client_uid(client);
	int64_t uid = ipc_int(p, F_UID, own);

	*ret_by_uid = ipc_has(p, F_UID) || !all;
	*ret_uid = (uint32_t)uid;
	if (all || uid == own)
		return true;
	auditlog_tell_client_often(client, AUDIT_ACCESS_REFUSE, NULL,
	    "list of uid %u", (unsigned)*ret_uid);
	return refuse(r, ERR_INVALID_PARAMETER,
	    "uid: what is another user's is root's and administrators' to see");
}
