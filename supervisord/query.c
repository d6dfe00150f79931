/*
 * Questions of clients, answered by supervisord from what is committed. What a
 * client may not see does not exist for it.
 */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "storage/store.h"
#include "supervisord/client.h"
#include "supervisord/query.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/runjson.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

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
	    (err == STORE_OK &&
		(!client_may_see(client, ret_rec->uid) ||
		    run_record_expired(ret_rec, clock_stamp_ms()))))
		return ERR_RUN_NOT_FOUND;
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

static void
answer_run(struct client *client, uint32_t seq, const struct ulid *id,
    unsigned parts, const struct query_submission *submission)
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
			json_write_begin_object(&w);
			runjson_write(sup, txn, &rec, parts, &w);
			if (submission != NULL)
				json_put_bool(&w, "deduplicated",
				    submission->deduplicated);
			if (submission != NULL && submission->mismatch)
				json_put_bool(&w, "paramsMismatch", true);
			json_write_end_object(&w);
		}
		store_read_end(sup->store);
	}
	if (code == ERR_NONE)
		reply_json(client, seq, &w, &b);
	else
		reply_not_found(client, seq, code, id);
	buf_clear(&b);
}

void
query_answer_run(struct client *client, uint32_t seq, const struct ulid *id,
    const struct query_submission *submission)
{
	unsigned parts = submission != NULL && submission->brief
	    ? RUNJSON_BRIEF
	    : RUNJSON_RESULT;

	answer_run(client, seq, id, parts, submission);
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
	unsigned parts = RUNJSON_RESULT;
	struct ulid id;

	if (!query_run_id(client, seq, p, &id))
		return;
	if (include != NULL && list_has(include, "output"))
		parts |= RUNJSON_OUTPUT;
	answer_run(client, seq, &id, parts, NULL);
}

void
query_templates(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_write_key(&w, "templates");
	registry_write(client_sup(client)->registry, &w);
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
}

/* run.list */

struct query_list {
	struct sup *sup;
	struct store_txn *txn;
	struct json_writer *w;
	int64_t now_ms;
};

static bool
list_run(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	struct query_list *l = arg;

	json_write_begin_object(l->w);
	if (err == STORE_OK) {
		runjson_write(l->sup, l->txn, rec, RUNJSON_BRIEF, l->w);
		json_put_str(l->w, "errorCode",
		    rec->error_code[0] == '\0'
			? NULL
			: err_mcp_name(err_by_name(rec->error_code)));
	} else {
		json_put_id(l->w, "runId", "run_", id);
		json_put_str(l->w, "unreadable", store_strerror(err));
	}
	json_write_end_object(l->w);
	return true;
}

static bool
list_filter(struct client *client, const struct ipc_params *p,
    struct run_filter *f, struct ulid *session, struct refusal *r)
{
	const char *status = ipc_str(p, F_STATUS);
	const char *sess = ipc_str(p, F_SESSION_ID);

	memset(f, 0, sizeof(*f));
	f->uid = (uint32_t)client_uid(client);
	f->by_uid = !client_is_admin(client) && f->uid != 0;
	f->template_id = ipc_str(p, F_TEMPLATE_ID);
	f->by_status = status != NULL;
	if (status != NULL && !run_status_by_name(status, &f->status))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "status: \"%.32s\" is none of queued, running, succeeded,"
		    " partial_success, failed, canceled",
		    status);
	if (sess != NULL && !id_parse("sess_", sess, session))
		return refuse(r, ERR_SESSION_NOT_FOUND,
		    "sessionId is not of the form sess_ and 26 characters");
	f->session = sess == NULL ? NULL : session;
	return true;
}

void
query_runs(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t limit = ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT);
	int64_t offset = ipc_int(p, F_OFFSET, 0);
	struct query_list list = { .sup = client_sup(client) };
	struct refusal refusal = { 0 };
	struct run_filter filter;
	struct json_writer w;
	struct ulid session;
	uint64_t total = 0;
	struct buf b;
	int err;

	if (!list_filter(client, p, &filter, &session, &refusal)) {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
		return;
	}
	if (store_read_begin(list.sup->store, &list.txn) != STORE_OK) {
		reply_error(client, seq, ERR_STORAGE_ERROR, NULL,
		    "the runs cannot be read");
		return;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	list.w = &w;
	json_write_begin_object(&w);
	json_write_key(&w, "runs");
	json_write_begin_array(&w);
	err = run_list(list.txn, &filter, (uint64_t)offset, (uint64_t)limit,
	    list_run, &list, &total);
	store_read_end(list.sup->store);
	json_write_end_array(&w);
	json_put_int64(&w, "total", (int64_t)total);
	json_put_int64(&w, "limit", limit);
	json_put_int64(&w, "offset", offset);
	json_write_end_object(&w);
	if (err == STORE_OK)
		reply_json(client, seq, &w, &b);
	else
		reply_error(
		    client, seq, ERR_STORAGE_ERROR, NULL, store_strerror(err));
	buf_clear(&b);
}

/* profile.get */

static void
profile_contract(const struct settings *s, struct json_writer *w)
{
	json_put_int64(w, "maxConcurrentRuns", s->maxConcurrentRuns);
	json_put_int64(w, "maxUrls", LIMIT_ITEMS);
	json_put_int64(w, "maxTabsPerSession", s->maxTabsPerSession);
	json_put_int64(w, "syncTimeoutMs", s->syncTimeoutMs);
	json_put_int64(w, "asyncTimeoutMs", s->asyncTimeoutMs);
	json_put_int64(w, "artifactMaxChunkSize", LIMIT_ARTIFACT_CHUNK_BYTES);
	json_put_int64(w, "artifactTtlMs", s->artifactTtlMs);
	json_put_int64(w, "runTtlMs", s->runTtlMs);
	json_write_key(w, "supportedModes");
	json_write_begin_array(w);
	json_write_str(w, "sync");
	json_write_str(w, "async");
	json_write_str(w, "auto");
	json_write_end_array(w);
	json_put_str(w, "trustLevel", "local");
	json_put_bool(w, "isRemote", false);
}

static void
profile_totals(struct sup *sup, struct client *client, struct json_writer *w)
{
	struct run_filter f = { .by_status = true,
		.uid = (uint32_t)client_uid(client) };
	struct store_txn *txn;
	uint64_t total;

	f.by_uid = !client_is_admin(client) && f.uid != 0;
	json_write_key(w, "runs");
	json_write_begin_object(w);
	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		for (int i = 0; i < RUN__MAX; i++) {
			f.status = (enum run_status)i;
			if (run_total(txn, &f, &total) == STORE_OK)
				json_put_int64(w, run_status_name(f.status),
				    (int64_t)total);
		}
		store_read_end(sup->store);
	}
	json_write_end_object(w);
}

void
query_profile(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);
	struct store_stats stats = store_stats(sup->store);
	struct store_space space = { 0, 0 };
	struct json_writer w;
	struct buf b;

	store_space_ok(sup->store, 0, 0, &space);
	buf_init(&b, 65536);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	profile_contract(&sup->settings, &w);
	json_put_str(&w, "version", PACKAGE_VERSION);
	json_put_int64(&w, "epoch", store_epoch(sup->store));
	json_put_int64(&w, "uptimeMs", clock_mono_ms() - sup->started_mono_ms);
	json_put_int64(&w, "pid", getpid());
	json_put_int64(&w, "templates", (int64_t)registry_count(sup->registry));
	json_put_int64(&w, "activeRuns", (int64_t)tasks_active(sup->tasks));
	json_put_int64(&w, "queuedRuns", (int64_t)tasks_queued(sup->tasks));
	json_put_int64(&w, "maxQueuedRuns", sup->settings.maxQueuedRuns);
	json_put_int64(&w, "clients", (int64_t)clients_count(sup->clients));
	profile_totals(sup, client, &w);
	json_put_int64(&w, "storeBytes", (int64_t)stats.map_bytes);
	json_put_int64(&w, "freeBytes", (int64_t)space.free_bytes);
	json_put_bool(&w, "admin", client_is_admin(client));
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
}
