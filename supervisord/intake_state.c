/*
 * The state of a session's browser, as the worker reports it to supervisord,
 * which stores it unseen, before the end of the run. One that cannot be stored
 * costs a warning: the run is well, and the state before it stays.
 */
#include <stdlib.h>

#include "common/log.h"
#include "model/limits.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/intake_int.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

/* Stored with the run's end, which follows (intake_run_end). */
static void
state_warn(struct task *t, enum store_err err)
{
	log_err("%s: the state of its session was not stored: %s", t->name,
	    store_strerror(err));
	lines_addf(&t->warnings,
	    "the session's cookies and storage could not be stored: %s",
	    store_strerror(err));
}

static void
state_failed(struct intake *in, enum store_err err)
{
	session_state_free(&in->state);
	in->state_lost = true;
	state_warn(in->task, err);
}

void
intake_state_data(struct intake *in, const struct ipc_params *p)
{
	struct task *t = in->task;
	enum store_err err = STORE_OK;
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (!t->keep) {
		task_abort(t, ERR_WORKER_PROTOCOL,
		    "the state of a session that is not kept");
		return;
	}
	/* What follows a gap would be stored as if it were all. */
	if (in->state_lost)
		return;
	if (in->state == NULL) {
		in->state_first = in->number;
		err = session_state_new(
		    t->sup->store, &t->rec.session, &in->state);
	}
	if (err == STORE_OK)
		err = session_state_append(in->state, data, len);
	if (err == STORE_LIMIT) {
		session_state_free(&in->state);
		in->state_lost = true;
		task_abort(t, ERR_WORKER_PROTOCOL,
		    "the state of its session is larger than allowed");
	} else if (err != STORE_OK) {
		state_failed(in, err);
	}
}

/* The run may be over by now. */
struct stating {
	struct sup *sup;
	struct ulid run;
};

static void
state_kept(void *arg, enum store_err err)
{
	struct stating *s = arg;
	struct task *t = tasks_find(s->sup->tasks, &s->run);

	if (err != STORE_OK && err != STORE_CLOSED && t != NULL) {
		if (t->intake != NULL)
			state_failed(t->intake, err);
		else
			state_warn(t, err);
	}
	free(s);
}

void
intake_state_end(struct intake *in, const struct ipc_params *p)
{
	enum store_err err = STORE_NO_MEMORY;
	struct stating *s;

	in->state_first = 0;
	/* Nothing came, or what came could not be stored. */
	if (in->state == NULL)
		return;
	if ((s = calloc(1, sizeof(*s))) != NULL) {
		s->sup = in->task->sup;
		s->run = in->task->rec.id;
		err = session_state_queue(&in->state, state_kept, s);
	}
	if (err == STORE_OK)
		return;
	free(s);
	state_failed(in, err);
}
