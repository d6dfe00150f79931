/*
 * Restarting, in supervisord: written to the audit log first, then answered,
 * and when that answer is on its way the loop ends. Runs are not told: their
 * workers and cells live on for the next supervisord.
 */
#include <stdlib.h>

#include <event2/event.h>

#include "common/crashpoint.h"
#include "common/log.h"
#include "launch/launch.h"
#include "storage/store.h"
#include "supervisord/inspectcall.h"
#include "supervisord/link.h"
#include "supervisord/order.h"
#include "supervisord/restart.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

struct restart {
	struct sup *sup;
	struct event *leave;
};

static void
on_leave(evutil_socket_t fd, short what, void *arg)
{
	struct restart *r = arg;

	/* Told to stop meanwhile: that is more. */
	if (r->sup->stopping)
		return;
	CRASH_POINT(restart_leaves);
	r->sup->exit_code = LAUNCH_EXIT_RESTART;
	event_base_loopbreak(r->sup->base);
}

struct restart *
restart_new(struct sup *sup)
{
	struct restart *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->sup = sup;
	r->leave = evtimer_new(sup->base, on_leave, r);
	if (r->leave == NULL)
		restart_free(&r);
	return r;
}

void
restart_free(struct restart **restart)
{
	struct restart *r = *restart;

	if (r == NULL)
		return;
	if (r->leave != NULL)
		event_free(r->leave);
	free(r);
	*restart = NULL;
}

/*
 * In the next turn of the loop: in that, what clients are still to get is
 * written before the time of this is looked at.
 */
void
restart_now(struct restart *r)
{
	const struct timeval at_once = { 0, 0 };

	log_info("ends to be started anew, with %zu active runs",
	    tasks_active(r->sup->tasks));
	inspectcall_close(r->sup, "the service is being started anew");
	event_add(r->leave, &at_once);
}

static void
restart_answer(const struct sup *sup, struct json_writer *json)
{
	json_put_int64(json, "epoch", store_epoch(sup->store));
	json_put_int64(json, "activeRuns", (int64_t)tasks_active(sup->tasks));
	json_put_int64(json, "queuedRuns", (int64_t)tasks_queued(sup->tasks));
}

static void
restart_act(struct sup *sup, int64_t value, uid_t by)
{
	CRASH_POINT(restart_written);
	/* Before it is answered: then it is started anew, come what may. */
	link_leaves(sup->link);
	restart_now(sup->restart);
}

void
restart_call(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "restart", AUDIT_SERVICE_RESTART,
		NULL, restart_act, restart_answer, NULL };

	order_take(client, seq, &ops, false, 0);
}
