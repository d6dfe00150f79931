/*
 * run.list, in supervisord: answered in steps, since a list of a thousand runs,
 * or one that begins behind many, takes longer than others should wait. It goes
 * on behind the last run seen; runs that come meanwhile are not in it.
 */
#include <stdlib.h>
#include <string.h>

#include "storage/store.h"
#include "supervisord/client.h"
#include "supervisord/fair.h"
#include "supervisord/query.h"
#include "supervisord/reply.h"
#include "supervisord/runjson.h"
#include "supervisord/runlist.h"
#include "supervisord/sup.h"

#define LIST_HEAD_BYTES  16  /* nothing is written yet */
#define LIST_ENTRY_BYTES 800 /* one of common length, and the end */
#define LIST_COUNT_MAX   10000
#define LIST_WORK        1600 /* of one step, see run_list_some() */

struct runlist {
	struct fair_work work;
	struct sup *sup;
	struct watch *watch; /* who asked; NULL when they went away */
	struct run_filter filter;
	char *template_id;
	struct ulid session, cursor;
	struct run_walk walk;
	struct store_txn *txn; /* of this step */
	struct json_writer w;
	struct buf out;
	int64_t limit, offset; /* as asked for */
	int64_t left;          /* entries that may still be written */
	size_t max_bytes;      /* of the answer; 0: no limit */
	bool more;
	struct ulid last;
	uint64_t total; /* that match, whatever part of them is listed */
	bool total_more;
};

static void
runlist_free(struct runlist **list)
{
	struct runlist *l = *list;

	watch_free(&l->watch);
	buf_clear(&l->out);
	free(l->template_id);
	free(l);
	*list = NULL;
}

static bool
list_run(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	static const struct runjson_want brief = { .parts = RUNJSON_BRIEF };
	struct runlist *l = arg;
	struct json_writer *w = &l->w;
	size_t len = l->out.len;

	l->more = l->left-- == 0 ||
	    (l->max_bytes > 0 && len > LIST_HEAD_BYTES &&
		len + LIST_ENTRY_BYTES > l->max_bytes);
	if (l->more)
		return false;
	l->last = *id;
	json_write_begin_object(w);
	if (err == STORE_OK) {
		runjson_write(l->sup, l->txn, rec, &brief, w);
		json_put_int64(w, "uid", rec->uid);
		json_put_str(w, "errorCode",
		    rec->error_code[0] == '\0'
			? NULL
			: err_mcp_name(err_by_name(rec->error_code)));
	} else {
		json_put_id(w, "runId", "run_", id);
		json_put_str(w, "unreadable", store_strerror(err));
	}
	json_write_end_object(w);
	return true;
}

/* The part of the request that says which stretch of the list is wanted. */
static bool
list_range(struct runlist *l, const struct ipc_params *p, struct refusal *r)
{
	const char *text = ipc_str(p, F_CURSOR);
	struct run_range *range = &l->walk.range;

	range->since_ms = ipc_int(p, F_SINCE, 0);
	range->until_ms = ipc_int(p, F_UNTIL, 0);
	if (text == NULL)
		return true;
	if (!id_parse("run_", text, &l->cursor))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "cursor: not a nextCursor of an answer");
	range->before = &l->cursor;
	return true;
}

static bool
list_filter(struct runlist *l, struct client *client,
    const struct ipc_params *p, struct refusal *r)
{
	const char *status = ipc_str(p, F_STATUS);
	const char *sess = ipc_str(p, F_SESSION_ID);
	const char *template_id = ipc_str(p, F_TEMPLATE_ID);
	struct run_filter *f = &l->filter;

	if (!query_whose(client, p, true, &f->by_uid, &f->uid, r))
		return false;
	if (template_id != NULL) {
		l->template_id = strdup(template_id);
		if (l->template_id == NULL)
			return refuse(r, ERR_INTERNAL, "no memory");
	}
	f->template_id = l->template_id;
	f->by_status = status != NULL;
	if (status != NULL && !run_status_by_name(status, &f->status))
		return refuse(r, ERR_INVALID_PARAMETER,
		    "status: \"%.32s\" is none of queued, running, succeeded,"
		    " partial_success, failed, canceled",
		    status);
	if (sess != NULL && !id_parse("sess_", sess, &l->session))
		return refuse(r, ERR_SESSION_NOT_FOUND,
		    "sessionId is not of the form sess_ and 26 characters");
	f->session = sess == NULL ? NULL : &l->session;
	return true;
}

/*
 * Totals of filters are kept; those of times are counted, and only so far that
 * the loop is not held up.
 */
static int
list_total(struct runlist *l)
{
	struct run_range range = l->walk.range;

	if (range.since_ms == 0 && range.until_ms == 0)
		return run_total(l->txn, &l->filter, &l->total);
	return run_count_range(l->txn, &l->filter, &range, LIST_COUNT_MAX,
	    &l->total, &l->total_more);
}

static void
list_finish(struct runlist *l)
{
	struct json_writer *w = &l->w;

	json_write_end_array(w);
	json_put_int64(w, "total", (int64_t)l->total);
	if (l->total_more)
		json_put_bool(w, "totalIsMore", true);
	json_put_int64(w, "limit", l->limit);
	json_put_int64(w, "offset", l->offset);
	if (l->more)
		json_put_id(w, "nextCursor", "run_", &l->last);
	else
		json_put_null(w, "nextCursor");
	json_write_end_object(w);
	reply_json(l->watch->client, l->watch->seq, w, &l->out);
}

static void
list_begin(struct runlist *l)
{
	buf_init(&l->out, REPLY_BYTES_MAX);
	json_writer_init(&l->w, &l->out);
	json_write_begin_object(&l->w);
	json_write_key(&l->w, "runs");
	json_write_begin_array(&l->w);
}

/* True: it is over, answered or not wanted any more. */
static bool
list_step(struct fair_work *work)
{
	struct runlist *l = (struct runlist *)(void *)work;
	int err;

	if (l->watch == NULL) {
		runlist_free(&l);
		return true;
	}
	if (l->out.max == 0)
		list_begin(l);
	err = store_read_begin(l->sup->store, &l->txn);
	if (err == STORE_OK) {
		err = run_list_some(
		    l->txn, &l->filter, &l->walk, LIST_WORK, list_run, l);
		if (err == STORE_OK && l->walk.done)
			err = list_total(l);
		store_read_end(l->sup->store);
	}
	if (err == STORE_OK && !l->walk.done)
		return false;
	if (err == STORE_OK)
		list_finish(l);
	else
		reply_error(l->watch->client, l->watch->seq, ERR_STORAGE_ERROR,
		    NULL, store_strerror(err));
	runlist_free(&l);
	return true;
}

void
runlist_call(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct ulid none;
	struct runlist *l = calloc(1, sizeof(*l));
	struct refusal refusal = { 0 };

	if (l == NULL) {
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		return;
	}
	l->sup = client_sup(client);
	l->work.step = list_step;
	l->left = l->limit = ipc_int(p, F_LIMIT, LIMIT_LIST_DEFAULT);
	l->offset = ipc_int(p, F_OFFSET, 0);
	l->walk.offset = (uint64_t)l->offset;
	l->max_bytes = (size_t)ipc_int(p, F_MAX_BYTES, 0);
	if (list_filter(l, client, p, &refusal) && list_range(l, p, &refusal)) {
		l->watch = watch_new(WATCH_OTHER, client, NULL, &none, seq);
		if (l->watch == NULL)
			refuse(&refusal, ERR_INTERNAL, "no memory");
	}
	if (l->watch == NULL) {
		reply_error(client, seq, refusal.code, NULL, refusal.message);
		runlist_free(&l);
		return;
	}
	l->watch->owner = &l->watch;
	fair_start(l->sup->fair, client_share(client), &l->work);
}
