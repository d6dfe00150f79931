/*
 * What becomes of runs found after a crash, in supervisord. A run whose worker
 * had not been told to go, or whose template is restart-safe, goes back to the
 * queue and on behind its journal; any other may have clicked something, so it
 * fails as retryable and is never silently executed again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/recover.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/secrets.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

static bool
may_run_again(struct sup *sup, const struct run_record *rec)
{
	const struct template *t =
	    registry_find(sup->registry, rec->template_id);
	bool untouched = strcmp(rec->phase, "preparing") == 0;

	return rec->intent == INTENT_NONE && t != NULL &&
	    strcmp(t->version, rec->template_version) == 0 &&
	    (untouched || t->restart_safe) && rec->attempt < LIMIT_ATTEMPTS &&
	    rec->spent_ms < rec->limit_ms;
}

/* In the transaction: changes the record or leaves it running. */
static int
recover_run(struct store_txn *txn, struct run_record *rec, int err, void *arg)
{
	if (err != STORE_OK || !may_run_again(arg, rec))
		return STORE_OK;
	rec->status = RUN_QUEUED;
	rec->phase[0] = '\0';
	rec->attempt++;
	rec->updated_ms = clock_stamp_ms();
	return STORE_OK;
}

/* Collects first: tasks are made when the read is over. */
struct recovered {
	struct run_record *list;
	size_t count, room;
	bool failed;
};

static bool
recover_collect(
    const struct ulid *id, const struct run_record *rec, int err, void *arg)
{
	struct recovered *r = arg;
	struct run_record *list;
	char name[ID_CHARS + 1];

	if (err != STORE_OK) {
		id_format("run_", id, name);
		log_err("%s: its record cannot be read: %s", name,
		    store_strerror(err));
		return true;
	}
	if (r->count == r->room) {
		list = reallocarray(r->list, r->room * 2 + 64, sizeof(*list));
		if (list == NULL) {
			r->failed = true;
			return false;
		}
		r->list = list;
		r->room = r->room * 2 + 64;
	}
	r->list[r->count++] = *rec;
	return true;
}

static bool
recover_read(struct sup *sup, enum run_status status, struct recovered *r)
{
	struct run_filter filter = { .by_status = true, .status = status };
	struct store_txn *txn;
	int err;

	err = store_read_begin(sup->store, &txn);
	if (err == STORE_OK) {
		err = run_list_oldest(txn, &filter, recover_collect, r);
		store_read_end(sup->store);
	}
	if (err != STORE_OK || r->failed) {
		log_err("runs cannot be read: %s",
		    r->failed ? "no memory" : store_strerror(err));
		return false;
	}
	return true;
}

static bool
recover_tasks(struct sup *sup, const struct recovered *r)
{
	struct task *t;

	for (size_t i = 0; i < r->count; i++) {
		t = task_new(sup, &r->list[i]);
		if (t == NULL) {
			log_err("no memory for %zu runs", r->count);
			return false;
		}
		log_info("%s: found %s, attempt %u", t->name,
		    run_status_name(t->rec.status), t->rec.attempt);
		if (t->rec.status == RUN_RUNNING)
			task_fail(t, ERR_SUPERVISOR_RESTART,
			    "the service restarted while the run was active");
		else if (secrets_needed(sup, &t->rec))
			task_fail(t, ERR_SECRET_LOST,
			    "the secret inputs of the run did not outlive a "
			    "restart of the service");
	}
	return true;
}

bool
recover_runs(struct sup *sup)
{
	struct recovered r = { 0 };
	bool good;
	int err;

	err = store_recover(sup->store, clock_stamp_ms(), recover_run, sup);
	if (err != STORE_OK) {
		log_err("recovery: %s", store_strerror(err));
		return false;
	}
	good = recover_read(sup, RUN_RUNNING, &r) &&
	    recover_read(sup, RUN_QUEUED, &r) && recover_tasks(sup, &r);
	free(r.list);
	return good;
}
