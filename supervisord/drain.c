/*
 * Draining, in supervisord: written first, in force and answered when its
 * commit is done.
 */
#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "storage/store.h"
#include "supervisord/client.h"
#include "supervisord/drain.h"
#include "supervisord/order.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define DRAINED "drained"

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
drain_answer(const struct sup *sup, struct json_writer *json)
{
	json_put_bool(json, "draining", sup->drained_ms != 0);
	if (sup->drained_ms != 0)
		json_put_int64(json, "drainedAt", sup->drained_ms);
	else
		json_put_null(json, "drainedAt");
	json_put_int64(json, "activeRuns", (int64_t)tasks_active(sup->tasks));
	json_put_int64(json, "queuedRuns", (int64_t)tasks_queued(sup->tasks));
}

static int
drain_write(struct store_txn *txn, int64_t since_ms)
{
	return store_number_put(txn, DRAINED, since_ms);
}

static void
drain_act(struct sup *sup, int64_t since_ms, uid_t by)
{
	CRASH_POINT(drain_written);
	sup->drained_ms = since_ms;
	log_info("%s, by uid %u",
	    since_ms != 0 ? "draining: no more runs are started"
			  : "resumed: runs are started again",
	    (unsigned)by);
	tasks_pump(sup->tasks);
	spares_pump(sup);
}

void
drain_start(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "drain", AUDIT_SERVICE_DRAIN,
		drain_write, drain_act, drain_answer, NULL };
	int64_t since_ms = client_sup(client)->drained_ms;

	order_take(client, seq, &ops, false,
	    since_ms != 0 ? since_ms : clock_stamp_ms());
}

void
drain_end(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "resume", AUDIT_SERVICE_RESUME,
		drain_write, drain_act, drain_answer, NULL };

	order_take(client, seq, &ops, false, 0);
}
