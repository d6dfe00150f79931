/*
 * Handing a client's connection to the process that checks or copies the store.
 * Runs in supervisord: it writes who asked, answers, and has no part in it from
 * then on.
 */
#include <unistd.h>

#include "common/log.h"
#include "launch/launch.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/client.h"
#include "supervisord/idle.h"
#include "supervisord/inspectcall.h"
#include "supervisord/link.h"
#include "supervisord/order.h"
#include "supervisord/reply.h"
#include "supervisord/sup.h"

static void
put_accepted(const struct sup *sup, struct json_writer *json)
{
	json_put_bool(json, "accepted", true);
}

static void
hand_over(struct client *client, enum launch_inspection what)
{
	struct sup *sup = client_sup(client);
	unsigned uid = client_uid(client);
	int fd = -1;

	if (!client_give_up(client, &fd))
		return;
	log_info("%s the store, as uid %u wants",
	    what == LAUNCH_INSPECT_CHECK ? "checking" : "copying", uid);
	sup->inspecting = true;
	link_inspect(sup->link, what, &fd);
}

static void
hand_over_to_check(struct client *client)
{
	hand_over(client, LAUNCH_INSPECT_CHECK);
}

static void
hand_over_to_copy(struct client *client)
{
	hand_over(client, LAUNCH_INSPECT_BACKUP);
}

static void
inspection_begin(
    struct client *client, uint32_t seq, const struct order_ops *ops)
{
	if (client_sup(client)->inspecting)
		reply_error(client, seq, ERR_QUEUE_FULL, NULL,
		    "the store is being checked or copied already");
	else
		order_take(client, seq, ops, true, 0);
}

void
inspectcall_check(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "store.check", AUDIT_STORE_CHECK,
		NULL, NULL, put_accepted, hand_over_to_check };

	inspection_begin(client, seq, &ops);
}

/*
 * A copy has what no administrator sees otherwise: the cookies of sessions and
 * the key of digests.
 */
void
inspectcall_backup(
    struct client *client, uint32_t seq, const struct ipc_params *p)
{
	static const struct order_ops ops = { "store.backup",
		AUDIT_STORE_BACKUP, NULL, NULL, put_accepted,
		hand_over_to_copy };
	uid_t uid = client_uid(client);

	if (uid == 0 || uid == geteuid()) {
		inspection_begin(client, seq, &ops);
		return;
	}
	auditlog_tell_often(client_sup(client), (int64_t)uid,
	    AUDIT_ACCESS_REFUSE, NULL, "%s", ops.name);
	reply_error(client, seq, ERR_TRUST_LEVEL_NOT_ALLOWED, NULL,
	    "only root and the user the service runs as may copy all of it");
}

void
inspectcall_over(struct sup *sup)
{
	sup->inspecting = false;
	/* If it was killed, its place among the readers is still taken. */
	store_clear_readers(sup->store);
	idle_look(sup->idle);
}
