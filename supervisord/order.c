/*
 * Orders for the whole service, in supervisord. Nothing is in force, and nobody
 * is told so, before it is in the audit log.
 */
#include <stdlib.h>

#include "common/clock.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/order.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

struct order {
	struct sup *sup;
	struct watch *watch; /* who asked; NULL when they went away */
	const struct order_ops *ops;
	int64_t value;
	uid_t uid;
};

static int
order_write(struct store_txn *txn, void *arg)
{
	const struct order *o = arg;
	struct audit_entry e = { .time_ms = clock_stamp_ms(),
		.actor = (int64_t)o->uid,
		.action = o->ops->action };
	int err =
	    o->ops->write == NULL ? STORE_OK : o->ops->write(txn, o->value);

	return err == STORE_OK ? audit_append(txn, &e) : err;
}

static void
order_over(const struct order_ops *ops, struct sup *sup, struct client *client)
{
	if (ops->over != NULL)
		ops->over(sup, client);
}

static void
order_answer(const struct order *o)
{
	struct json_writer json;
	struct buf b;

	buf_init(&b, 1024);
	json_writer_init(&json, &b);
	json_write_begin_object(&json);
	o->ops->answer(o->sup, &json);
	json_write_end_object(&json);
	reply_json(o->watch->client, o->watch->seq, &json, &b);
}

static void
order_done(void *arg, int err)
{
	struct order *o = arg;
	struct client *client = NULL;

	if (o->watch != NULL)
		o->watch->owner = NULL;
	if (o->watch != NULL && err == STORE_OK)
		client = o->watch->client;
	if (err == STORE_OK && o->ops->act != NULL)
		o->ops->act(o->sup, o->value, o->uid);
	if (client != NULL)
		order_answer(o);
	else if (o->watch != NULL)
		reply_error(o->watch->client, o->watch->seq,
		    reply_store_code(err), NULL, store_strerror(err));
	watch_free(&o->watch);
	order_over(o->ops, o->sup, client);
	free(o);
}

static void
order_refuse(struct client *client, uint32_t seq, const char *name)
{
	auditlog_tell_client_often(
	    client, AUDIT_ACCESS_REFUSE, NULL, "%s", name);
	reply_error(client, seq, ERR_TRUST_LEVEL_NOT_ALLOWED, NULL,
	    "only root, the user the service runs as and who asks on"
	    " admin.sock may do this");
}

void
order_take(struct client *client, uint32_t seq, const struct order_ops *ops,
    bool judged, int64_t value)
{
	const struct ulid none = { { 0 } };
	struct order *o;

	if (!judged && !client_may_command(client)) {
		order_refuse(client, seq, ops->name);
		order_over(ops, client_sup(client), NULL);
		return;
	}
	o = calloc(1, sizeof(*o));
	if (o != NULL)
		o->watch = watch_new(WATCH_OTHER, client, NULL, &none, seq);
	if (o == NULL || o->watch == NULL) {
		free(o);
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		order_over(ops, client_sup(client), NULL);
		return;
	}
	o->watch->owner = &o->watch;
	o->sup = client_sup(client);
	o->ops = ops;
	o->value = value;
	o->uid = client_uid(client);
	store_write(o->sup->store, order_write, o, order_done, o);
}
