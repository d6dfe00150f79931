/*
 * Events of supervisord's runs. What a client gets is read from the store after
 * the commit, so that what was pushed can be read again. A follower that is
 * slow costs nothing: it is passed over until its queue has drained, told which
 * numbers it missed (gap) and sent the latest ones from the store.
 */
#include <string.h>

#include "json/writer.h"
#include "storage/event.h"
#include "storage/store.h"
#include "supervisord/change.h"
#include "supervisord/client.h"
#include "supervisord/feed.h"
#include "supervisord/query.h"
#include "supervisord/reply.h"
#include "supervisord/runjson.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define FEED_BATCH       256 /* events per look into the store */
#define FEED_BACKLOG     256 /* sent after a gap */
#define EVENT_BYTES      (EVENT_DOC_BYTES + 1024)
#define EVENT_HEAD_BYTES 160 /* what is about a document, and the end */

static void
event_write(struct json_writer *w, const struct ulid *run, uint64_t seq,
    enum event_kind kind, int64_t stamp_ms, const void *doc, size_t len)
{
	json_write_begin_object(w);
	json_put_id(w, "runId", "run_", run);
	json_put_int64(w, "seq", (int64_t)seq);
	json_put_str(w, "type", event_name(kind));
	json_put_int64(w, "time", stamp_ms);
	json_put_raw(w, "data", doc, len);
	json_write_end_object(w);
}

/* Sends one event as a notification. */
static void
feed_send(struct watch *watch, uint64_t seq, enum event_kind kind,
    int64_t stamp_ms, const void *doc, size_t len)
{
	char name[ID_CHARS + 1];
	struct json_writer w;
	struct ipc_params p;
	struct buf b;

	buf_init(&b, EVENT_BYTES);
	json_writer_init(&w, &b);
	event_write(&w, &watch->run, seq, kind, stamp_ms, doc, len);
	if (json_writer_finish(&w)) {
		id_format("run_", &watch->run, name);
		ipc_params_init(&p, MSG_EVENT);
		ipc_set_str(&p, F_RUN_ID, name);
		ipc_set_int(&p, F_SEQ, (int64_t)seq);
		ipc_set_bin(&p, F_EVENT, b.data, b.len);
		client_send_note(watch->client, &p);
	}
	buf_clear(&b);
}

struct feed_pump {
	struct watch *watch;
	unsigned sent;
	bool full;
};

static bool
feed_pump_event(uint64_t seq, const struct event_row *row, int err, void *arg)
{
	struct feed_pump *pump = arg;

	if (!client_has_room(pump->watch->client)) {
		pump->full = true;
		return false;
	}
	pump->sent++;
	pump->watch->sent = seq;
	if (err == STORE_OK)
		feed_send(pump->watch, seq, row->kind, row->stamp_ms, row->doc,
		    row->doc_len);
	return true;
}

/* Sends a follower what the store has for it, as far as its queue takes it. */
static void
feed_pump(struct sup *sup, struct watch *watch)
{
	struct feed_pump pump = { .watch = watch };
	struct store_txn *txn;

	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return;
	do {
		pump.sent = 0;
		event_list(txn, &watch->run, watch->sent, FEED_BATCH,
		    feed_pump_event, &pump);
	} while (pump.sent == FEED_BATCH && !pump.full);
	store_read_end(sup->store);
	watch->lagging = pump.full;
}

/* A gap when too much was missed. */
static void
feed_skip(struct sup *sup, struct watch *watch)
{
	char name[ID_CHARS + 1];
	struct store_txn *txn;
	struct ipc_params p;
	uint64_t next = 0;

	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return;
	event_next_seq(txn, &watch->run, &next);
	store_read_end(sup->store);
	if (next <= watch->sent + FEED_BACKLOG + 1)
		return;
	id_format("run_", &watch->run, name);
	ipc_params_init(&p, MSG_GAP);
	ipc_set_str(&p, F_RUN_ID, name);
	ipc_set_int(&p, F_FROM_SEQ, (int64_t)watch->sent + 1);
	watch->sent = next - 1 - FEED_BACKLOG;
	ipc_set_int(&p, F_TO_SEQ, (int64_t)watch->sent);
	client_send_note(watch->client, &p);
}

void
feed_resume(struct client *client)
{
	struct sup *sup = client_sup(client);
	struct watch *w, *next;

	TAILQ_FOREACH_SAFE(w, client_watches(client), by_client, next) {
		if (w->kind != WATCH_FOLLOW || !w->lagging)
			continue;
		feed_skip(sup, w);
		feed_pump(sup, w);
		if (!w->lagging && w->task == NULL)
			watch_free(&w);
	}
}

/* run.events */

struct feed_list {
	struct json_writer *w;
	const struct ulid *run;
	size_t count;
	uint64_t last;
	struct buf *buf;
	size_t max_bytes;
};

static bool
feed_list_event(uint64_t seq, const struct event_row *row, int err, void *arg)
{
	struct feed_list *l = arg;

	if (l->buf->len + EVENT_BYTES > RUNJSON_BYTES_MAX ||
	    (l->count > 0 && err == STORE_OK &&
		l->buf->len + row->doc_len + EVENT_HEAD_BYTES > l->max_bytes))
		return false;
	l->count++;
	l->last = seq;
	if (err == STORE_OK)
		event_write(l->w, l->run, seq, row->kind, row->stamp_ms,
		    row->doc, row->doc_len);
	return true;
}

/* What a poll asks for. */
struct feed_ask {
	uint64_t after, limit;
	size_t max_bytes;
};

/*
 * Answers with the events behind after; false, nothing sent, when there is
 * none and the run may still bring some.
 */
static bool
feed_answer(struct client *client, uint32_t seq, const struct run_record *rec,
    const struct feed_ask *ask, bool wait)
{
	struct sup *sup = client_sup(client);
	struct feed_list list = {
		.run = &rec->id, .last = ask->after, .max_bytes = ask->max_bytes
	};
	struct store_txn *txn;
	struct json_writer w;
	struct buf b;

	if (store_read_begin(sup->store, &txn) != STORE_OK) {
		reply_error(client, seq, ERR_STORAGE_ERROR, &rec->id,
		    "the event log cannot be read");
		return true;
	}
	buf_init(&b, REPLY_BYTES_MAX);
	json_writer_init(&w, &b);
	list.w = &w;
	list.buf = &b;
	json_write_begin_object(&w);
	json_put_id(&w, "runId", "run_", &rec->id);
	json_put_str(&w, "status", run_status_name(rec->status));
	json_write_key(&w, "events");
	json_write_begin_array(&w);
	event_list(
	    txn, &rec->id, ask->after, ask->limit, feed_list_event, &list);
	json_write_end_array(&w);
	store_read_end(sup->store);
	if (wait && list.count == 0 && !run_status_terminal(rec->status)) {
		buf_clear(&b);
		return false;
	}
	json_put_int64(&w, "lastSeq", (int64_t)list.last);
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
	return true;
}

static void
feed_finish_poll(struct watch **poll, bool wait)
{
	struct watch *w = *poll;
	struct feed_ask ask = { w->sent, w->limit, w->max_bytes };
	struct run_record rec;

	if (!query_record(w->client, w->seq, &w->run, &rec) ||
	    feed_answer(w->client, w->seq, &rec, &ask, wait))
		watch_free(poll);
}

static void
feed_on_poll_timer(int fd, short what, void *arg)
{
	struct watch *w = arg;

	feed_finish_poll(&w, false);
}

void
feed_poll(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t timeout_ms = ipc_int(p, F_TIMEOUT_MS, 0);
	struct feed_ask ask = { (uint64_t)ipc_int(p, F_AFTER_SEQ, 0),
		(uint64_t)ipc_int(p, F_LIMIT, LIMIT_LIST),
		(size_t)ipc_int(p, F_MAX_BYTES, RUNJSON_BYTES_MAX) };
	struct sup *sup = client_sup(client);
	struct run_record rec;
	struct task *task;
	struct watch *w;
	struct ulid id;

	if (!query_run_id(client, seq, p, &id) ||
	    !query_record(client, seq, &id, &rec))
		return;
	task = tasks_find(sup->tasks, &id);
	if (feed_answer(
		client, seq, &rec, &ask, task != NULL && timeout_ms > 0))
		return;
	w = watch_new(WATCH_POLL, client, task, &id, seq);
	if (w != NULL) {
		w->sent = ask.after;
		w->limit = ask.limit;
		w->max_bytes = ask.max_bytes;
	}
	if (w == NULL ||
	    !watch_arm(w, sup->base, timeout_ms, feed_on_poll_timer)) {
		watch_free(&w);
		reply_error(client, seq, ERR_INTERNAL, &id, "no memory");
	}
}

/* run.follow */

static bool
feed_forget(struct client *client, const struct ulid *run)
{
	struct watch *w, *next;
	bool found = false;

	TAILQ_FOREACH_SAFE(w, client_watches(client), by_client, next) {
		if (w->kind != WATCH_FOLLOW ||
		    memcmp(&w->run, run, sizeof(*run)) != 0)
			continue;
		found = true;
		watch_free(&w);
	}
	return found;
}

void
feed_follow(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);
	struct run_record rec;
	struct task *task;
	struct watch *w;
	struct ulid id;

	if (!query_run_id(client, seq, p, &id) ||
	    !query_record(client, seq, &id, &rec))
		return;
	task = tasks_find(sup->tasks, &id);
	feed_forget(client, &id);
	w = watch_new(WATCH_FOLLOW, client, task, &id, seq);
	if (w == NULL) {
		reply_error(client, seq, ERR_INTERNAL, &id, "no memory");
		return;
	}
	w->sent = (uint64_t)ipc_int(p, F_AFTER_SEQ, 0);
	query_answer_run(client, seq, &id, NULL);
	feed_pump(sup, w);
	if (task == NULL && !w->lagging)
		watch_free(&w);
}

void
feed_unfollow(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct json_writer j;
	bool found;
	struct ulid id;
	struct buf b;

	if (!query_run_id(client, seq, p, &id))
		return;
	found = feed_forget(client, &id);
	buf_init(&b, 4096);
	json_writer_init(&j, &b);
	json_write_begin_object(&j);
	json_put_id(&j, "runId", "run_", &id);
	json_put_bool(&j, "success", found);
	if (!found)
		json_put_str(&j, "reason", "the run was not followed");
	json_write_end_object(&j);
	reply_json(client, seq, &j, &b);
}

/* From the run's side. */

void
feed_push(struct sup *sup, const struct change *change)
{
	struct task *task = tasks_find(sup->tasks, &change->rec.id);
	struct watch *w, *next;

	if (task == NULL || change->nevents == 0)
		return;
	TAILQ_FOREACH_SAFE(w, &task->watches, by_task, next) {
		if (w->kind == WATCH_POLL)
			feed_finish_poll(&w, true);
		else if (w->kind == WATCH_FOLLOW && !w->lagging)
			feed_pump(sup, w);
	}
}

void
feed_progress(struct task *task, const char *message)
{
	struct json_writer j;
	struct watch *w;
	struct buf b;

	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&j, &b);
	json_write_begin_object(&j);
	json_put_int64(&j, "done", task->rec.done);
	json_put_int64(&j, "total", task->rec.total);
	if (message != NULL)
		json_put_str(&j, "message", message);
	json_write_end_object(&j);
	if (json_writer_finish(&j))
		TAILQ_FOREACH(w, &task->watches, by_task)
			if (w->kind == WATCH_FOLLOW && !w->lagging &&
			    client_has_room(w->client))
				feed_send(w, 0, EVENT_PROGRESS,
				    task->rec.updated_ms, b.data, b.len);
	buf_clear(&b);
}

void
feed_end(struct task *task)
{
	struct watch *w, *next;

	TAILQ_FOREACH_SAFE(w, &task->watches, by_task, next) {
		if (w->kind == WATCH_POLL) {
			feed_finish_poll(&w, false);
		} else if (w->kind == WATCH_FOLLOW) {
			watch_detach(w);
			if (!w->lagging)
				watch_free(&w);
		}
	}
}
