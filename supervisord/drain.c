/*
 * Draining, in supervisord: written first, in force and answered when its
 * commit is done.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "storage/audit.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/drain.h"
#include "supervisord/reply.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define DRAINED "drained"

struct order {
	struct sup *sup;
	struct watch *watch; /* who asked; NULL when they went away */
	int64_t drained_ms;  /* 0: resume */
	uid_t uid;
};

void
drain_load(struct sup *sup)
{
	struct store_txn *txn;

	if (store_read_begin(sup->store, &txn) != STORE_OK)
		return;
	if (store_number_get(txn, DRAINED, &sup->drained_ms) != STORE_OK)
		log_err("whether the service is drained cannot be read");
	store_read_end(sup->store);
	if (sup->drained_ms != 0)
		log_warn("the service is drained: no run is started until "
			 "browsertaskctl resume");
}

static void
drain_answer(struct watch *w, const struct sup *sup)
{
	struct json_writer json;
	struct buf b;

	buf_init(&b, 1024);
	json_writer_init(&json, &b);
	json_write_begin_object(&json);
	json_put_bool(&json, "draining", sup->drained_ms != 0);
	if (sup->drained_ms != 0)
		json_put_int64(&json, "drainedAt", sup->drained_ms);
	else
		json_put_null(&json, "drainedAt");
	json_put_int64(&json, "activeRuns", (int64_t)tasks_active(sup->tasks));
	json_put_int64(&json, "queuedRuns", (int64_t)tasks_queued(sup->tasks));
	json_write_end_object(&json);
	reply_json(w->client, w->seq, &json, &b);
}

static int
drain_write(struct store_txn *txn, void *arg)
{
	const struct order *o = arg;
	struct audit_entry e = { .time_ms = clock_stamp_ms(),
		.actor = (int64_t)o->uid,
		.action = o->drained_ms != 0 ? AUDIT_SERVICE_DRAIN
					     : AUDIT_SERVICE_RESUME };
	int err = store_number_put(txn, DRAINED, o->drained_ms);

	return err == STORE_OK ? audit_append(txn, &e) : err;
}

static void
drain_done(void *arg, int err)
{
	struct order *o = arg;
	struct sup *sup = o->sup;

	if (o->watch != NULL)
		o->watch->owner = NULL;
	if (err == STORE_OK) {
		sup->drained_ms = o->drained_ms;
		log_info("%s, by uid %u",
		    o->drained_ms != 0 ? "draining: no more runs are started"
				       : "resumed: runs are started again",
		    (unsigned)o->uid);
		tasks_pump(sup->tasks);
		spares_pump(sup);
	}
	if (o->watch != NULL && err == STORE_OK)
		drain_answer(o->watch, sup);
	else if (o->watch != NULL)
		reply_error(o->watch->client, o->watch->seq,
		    reply_store_code(err), NULL, store_strerror(err));
	watch_free(&o->watch);
	free(o);
}

static void
drain_order(struct client *client, uint32_t seq, int64_t drained_ms)
{
	const struct ulid none = { { 0 } };
	struct order *o;

	if (!client_may_command(client)) {
		auditlog_tell_often(client_sup(client),
		    (int64_t)client_uid(client), AUDIT_ACCESS_REFUSE, NULL,
		    "%s", drained_ms != 0 ? "drain" : "resume");
		reply_error(client, seq, ERR_TRUST_LEVEL_NOT_ALLOWED, NULL,
		    "only root and the user the service runs as may do this");
		return;
	}
	o = calloc(1, sizeof(*o));
	if (o != NULL)
		o->watch = watch_new(WATCH_OTHER, client, NULL, &none, seq);
	if (o == NULL || o->watch == NULL) {
		free(o);
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		return;
	}
	o->watch->owner = &o->watch;
	o->sup = client_sup(client);
	o->uid = client_uid(client);
	o->drained_ms = drained_ms;
	store_write(o->sup->store, drain_write, o, drain_done, o);
}

void
drain_start(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	int64_t since = client_sup(client)->drained_ms;

	drain_order(client, seq, since != 0 ? since : clock_stamp_ms());
}

void
drain_end(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	drain_order(client, seq, 0);
}
