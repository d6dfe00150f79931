/*
 * What becomes of runs found after a crash, in supervisord. A run whose worker
 * lives goes on with it, and one whose worker had said that it is over is over.
 * Of the others, one whose worker had not been told to go, or whose template is
 * restart-safe and which changed nothing yet, goes back to the queue and on
 * behind its journal; any other is never silently executed again, since it may
 * have clicked something. A worker lives when it answers (task_adopt.c). At a last start
 * (launch.h) none goes on: what those before ended of may be one of them.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "model/limits.h"
#include "storage/store.h"
#include "supervisord/adopt.h"
#include "supervisord/intake.h"
#include "supervisord/recover.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/secrets.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

enum err_code
recover_lost(const struct run_record *rec, const char **ret_text)
{
	if (rec->acted) {
		*ret_text = "the service restarted after the run had begun to "
			    "change something; what came of it is not known";
		return ERR_OUTCOME_UNKNOWN;
	}
	*ret_text = "the service restarted while the run was active";
	return ERR_SUPERVISOR_RESTART;
}

bool
recover_may_run_again(
    struct sup *sup, const struct run_record *rec, bool untouched)
{
	const struct template *t =
	    registry_find(sup->registry, rec->template_id);

	return !sup->last_start && rec->intent == INTENT_NONE && t != NULL &&
	    strcmp(t->version, rec->template_version) == 0 &&
	    (untouched || (t->restart_safe && !rec->acted)) &&
	    rec->attempt < LIMIT_ATTEMPTS && rec->spent_ms < rec->limit_ms;
}

/* In the transaction: changes the record or leaves it running. */
static int
recover_run(struct store_txn *txn, struct run_record *rec, int err, void *arg)
{
	struct sup *sup = arg;

	if (err != STORE_OK || adopt_find(sup, &rec->id) != NULL ||
	    intake_end_is_stored(txn, &rec->id) ||
	    !recover_may_run_again(
		sup, rec, strcmp(rec->phase, "preparing") == 0))
		return STORE_OK;
	rec->status = RUN_QUEUED;
	rec->phase[0] = '\0';
	rec->attempt++;
	rec->heard = 0;
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

/* False: no memory. */
static bool
recover_running(struct sup *sup, struct task *t)
{
	struct cell *c = adopt_find(sup, &t->rec.id);
	const char *text;
	enum err_code code;

	if (c != NULL)
		return task_adopt(t, c);
	if (!task_settle_stored(t)) {
		code = recover_lost(&t->rec, &text);
		task_fail(t, code, text);
	}
	return true;
}

/* One that was to end when it was put back into the queue ends there. */
static void
recover_queued(struct task *t, bool secrets)
{
	if (t->rec.intent != INTENT_NONE)
		task_settle(t);
	else if (!secrets)
		task_fail(t, ERR_SECRET_LOST,
		    "the secret inputs of the run did not outlive a "
		    "restart of the service");
}

/* False: it needs some, and they are nowhere any more. */
static bool
recover_secrets(struct sup *sup, struct task *t)
{
	if (!secrets_needed(sup, &t->rec))
		return true;
	if (!adopt_claim_secrets(sup, &t->rec.id))
		return false;
	t->secrets = true;
	task_hold(t, SHARE_SECRETS, 1);
	sup->secrets++;
	return true;
}

/* False: no memory. */
static bool
recover_task(struct sup *sup, const struct run_record *rec)
{
	struct task *t = task_new(sup, rec);
	bool secrets;

	if (t == NULL)
		return false;
	log_info("%s: found %s, attempt %u", t->name,
	    run_status_name(t->rec.status), t->rec.attempt);
	secrets = recover_secrets(sup, t);
	if (t->rec.status == RUN_RUNNING)
		return recover_running(sup, t);
	recover_queued(t, secrets);
	return true;
}

static bool
recover_tasks(struct sup *sup, const struct recovered *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (!recover_task(sup, &r->list[i])) {
			log_err("no memory for %zu runs", r->count);
			return false;
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
	CRASH_POINT(recover_written);
	good = recover_read(sup, RUN_RUNNING, &r) &&
	    recover_read(sup, RUN_QUEUED, &r) && recover_tasks(sup, &r);
	free(r.list);
	if (good)
		adopt_rest(sup);
	return good;
}
