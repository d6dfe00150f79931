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
		auditlog_tell_often(client_sup(client),
		    (int64_t)client_uid(client), AUDIT_ACCESS_REFUSE, id,
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
	if (submission != NULL && submission->mismatch)
		json_put_bool(w, "paramsMismatch", true);
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

/* run.list */

#define LIST_HEAD_BYTES  16  /* nothing is written yet */
#define LIST_ENTRY_BYTES 800 /* one of common length, and the end */
#define LIST_COUNT_MAX   10000

struct query_list {
	struct sup *sup;
	struct store_txn *txn;
	struct json_writer *w;
	int64_t left;     /* entries that may still be written */
	size_t max_bytes; /* of the answer; 0: no limit */
	bool more;
	struct ulid last;
	uint64_t total; /* that match, whatever part of them is listed */
	bool total_more;
};

static bool
list_run(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	static const struct runjson_want brief = { .parts = RUNJSON_BRIEF };
	struct query_list *l = arg;
	size_t len = l->w->out->len;

	l->more = l->left-- == 0 ||
	    (l->max_bytes > 0 && len > LIST_HEAD_BYTES &&
		len + LIST_ENTRY_BYTES > l->max_bytes);
	if (l->more)
		return false;
	l->last = *id;
	json_write_begin_object(l->w);
	if (err == STORE_OK) {
		runjson_write(l->sup, l->txn, rec, &brief, l->w);
		json_put_int64(l->w, "uid", rec->uid);
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

/* The part of the request that says which stretch of the list is wanted. */
static bool
list_range(const struct ipc_params *p, struct run_range *range,
    struct ulid *cursor, struct refusal *r)
{
	const char *text = ipc_str(p, F_CURSOR);

	memset(range, 0, sizeof(*range));
	range->since_ms = ipc_int(p, F_SINCE, 0);
	range->until_ms = ipc_int(p, F_UNTIL, 0);
	if (text == NULL)
		return true;
	if (!id_parse("run_", text, cursor))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "cursor: not a nextCursor of an answer");
	range->before = cursor;
	return true;
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
	auditlog_tell_often(client_sup(client), own, AUDIT_ACCESS_REFUSE, NULL,
	    "list of uid %u", (unsigned)*ret_uid);
	return refuse(r, ERR_INVALID_PARAMETER,
	    "uid: what is another user's is root's and administrators' to see");
}

static bool
list_filter(struct client *client, const struct ipc_params *p,
    struct run_filter *f, struct ulid *session, struct refusal *r)
{
	const char *status = ipc_str(p, F_STATUS);
	const char *sess = ipc_str(p, F_SESSION_ID);

	memset(f, 0, sizeof(*f));
	if (!query_whose(client, p, true, &f->by_uid, &f->uid, r))
		return false;
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

/*
 * Totals of filters are kept; those of times are counted, and only so far that
 * the loop is not held up.
 */
static int
list_total(struct query_list *l, const struct run_filter *filter,
    const struct run_range *range)
{
	if (range->since_ms == 0 && range->until_ms == 0)
		return run_total(l->txn, filter, &l->total);
	return run_count_range(
	    l->txn, filter, range, LIST_COUNT_MAX, &l->total, &l->total_more);
}

static void
list_finish(struct query_list *l, const struct ipc_params *p)
{
	struct json_writer *w = l->w;

	json_write_end_array(w);
	json_put_int64(w, "total", (int64_t)l->total);
	if (l->total_more)
		json_put_bool(w, "totalIsMore", true);
	json_put_int64(w, "limit", ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT));
	json_put_int64(w, "offset", ipc_int(p, F_OFFSET, 0));
	if (l->more)
		json_put_id(w, "nextCursor", "run_", &l->last);
	else
		json_put_null(w, "nextCursor");
	json_write_end_object(w);
}

void
query_runs(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t limit = ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT);
	struct query_list list = { .sup = client_sup(client),
		.left = limit,
		.max_bytes = (size_t)ipc_int(p, F_MAX_BYTES, 0) };
	struct refusal refusal = { 0 };
	struct run_filter filter;
	struct run_range range;
	struct json_writer w;
	struct ulid session, cursor;
	struct buf b;
	int err;

	if (!list_filter(client, p, &filter, &session, &refusal) ||
	    !list_range(p, &range, &cursor, &refusal)) {
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
	/* One more, to know whether there is one. */
	err = run_list_range(list.txn, &filter, &range,
	    (uint64_t)ipc_int(p, F_OFFSET, 0), (uint64_t)limit + 1, list_run,
	    &list, NULL);
	if (err == STORE_OK)
		err = list_total(&list, &filter, &range);
	store_read_end(list.sup->store);
	list_finish(&list, p);
	if (err == STORE_OK)
		reply_json(client, seq, &w, &b);
	else
		reply_error(
		    client, seq, ERR_STORAGE_ERROR, NULL, store_strerror(err));
	buf_clear(&b);
}
