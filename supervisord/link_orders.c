/*
 * Orders to the launcher that are about no slot: profiles, secrets, the state of
 * the service. Runs in supervisord.
 */
#include <stdlib.h>
#include <string.h>

#include "common/fdio.h"
#include "common/log.h"
#include "supervisord/link_int.h"

int
slot_find(uint64_t taken, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if ((taken & (UINT64_C(1) << i)) == 0)
			return (int)i;
	return -1;
}

/* Not for a SPAWN: without its cell a run fails, and has a reason. */
static struct order *
order_spare(struct orders_spare *spare, uint32_t type)
{
	int i =
	    type == LAUNCH_SPAWN ? -1 : slot_find(spare->taken, ORDERS_SPARE);

	if (i == -1)
		return NULL;
	spare->taken |= UINT64_C(1) << i;
	return &spare->of[i];
}

struct order *
order_new(struct orders_spare *spare, const struct launch_msg *msg)
{
	struct order *o = malloc(sizeof(*o));

	if (o == NULL)
		o = order_spare(spare, msg->type);
	if (o == NULL)
		return NULL;
	o->msg = *msg;
	o->fd = -1;
	return o;
}

void
order_free(struct orders_spare *spare, struct order *o)
{
	if (o == NULL)
		return;
	fd_close(&o->fd);
	if (o >= spare->of && o < spare->of + ORDERS_SPARE)
		spare->taken &= ~(UINT64_C(1) << (o - spare->of));
	else
		free(o);
}

static void
link_order_profile(
    struct link *l, enum launch_type type, const struct ulid *session)
{
	struct launch_msg msg;

	launch_msg_init(&msg, type, 0);
	link_session_name(session, msg.u.profile.name);
	if (link_order(l, &msg))
		return;
	log_err("profile %s: %s could not be ordered", msg.u.profile.name,
	    launch_type_name(type));
	/* Else a purge would remove what was not named. */
	if (type == LAUNCH_KNOWN)
		link_break(l, "no memory");
}

void
link_forget(struct link *l, const struct ulid *session)
{
	link_order_profile(l, LAUNCH_FORGET, session);
}

void
link_known(struct link *l, const struct ulid *session)
{
	link_order_profile(l, LAUNCH_KNOWN, session);
}

void
link_purge(struct link *l)
{
	link_order_simple(l, LAUNCH_PURGE, 0);
}

void
link_serving(struct link *l)
{
	link_order_simple(l, LAUNCH_SERVING, 0);
}

void
link_leaves(struct link *l)
{
	link_order_simple(l, LAUNCH_RESTART, 0);
	link_send_now(l);
}

void
link_unneeded(struct link *l)
{
	link_order_simple(l, LAUNCH_UNNEEDED, 0);
}

void
link_adopted(struct link *l, uint32_t cell_id)
{
	link_order_simple(l, LAUNCH_ADOPTED, cell_id);
}

void
link_name(struct link *l, uint32_t cell_id, const char *name)
{
	struct launch_msg msg;

	launch_msg_init(&msg, LAUNCH_NAME, cell_id);
	strlcpy(msg.u.worker.name, name, sizeof(msg.u.worker.name));
	if (link_order(l, &msg) == NULL)
		log_err("%s: cell %u: cannot be named", name, cell_id);
}

static struct order *
link_order_secret(struct link *l, enum launch_type type, uint32_t cell_id,
    const struct ulid *run)
{
	struct launch_msg msg;
	struct order *o;

	launch_msg_init(&msg, type, cell_id);
	msg.u.secret.run = *run;
	o = link_order(l, &msg);
	if (o == NULL)
		log_err("%s could not be ordered", launch_type_name(type));
	return o;
}

void
link_secret(struct link *l, const struct ulid *run, int *fd)
{
	struct order *o = link_order_secret(l, LAUNCH_SECRET, 0, run);

	if (o != NULL)
		o->fd = *fd;
	else
		fd_close(fd);
	*fd = -1;
}

void
link_inspect(struct link *l, enum launch_inspection what, int *fd)
{
	struct launch_msg msg;
	struct order *o;

	launch_msg_init(&msg, LAUNCH_INSPECT, 0);
	msg.u.inspect.what = what;
	if ((o = link_order(l, &msg)) != NULL)
		o->fd = *fd;
	else
		fd_close(fd);
	*fd = -1;
}

void
link_secret_ref(
    struct link *l, const struct ulid *run, uint32_t uid, const char *name)
{
	struct launch_msg msg;

	launch_msg_init(&msg, LAUNCH_SECRET_REF, 0);
	msg.u.ref.run = *run;
	msg.u.ref.uid = uid;
	strlcpy(msg.u.ref.name, name, sizeof(msg.u.ref.name));
	if (link_order(l, &msg) == NULL)
		log_err("a stored secret could not be ordered");
}

void
link_secret_give(struct link *l, uint32_t cell_id, const struct ulid *run)
{
	if (link_find(l, cell_id) != NULL)
		link_order_secret(l, LAUNCH_SECRET_GIVE, cell_id, run);
}

void
link_secret_drop(struct link *l, const struct ulid *run)
{
	link_order_secret(l, LAUNCH_SECRET_DROP, 0, run);
}

void
link_record(struct link *l, const struct launch_row_told *told)
{
	struct launch_msg msg;

	launch_msg_init(&msg, LAUNCH_PONG, 0);
	msg.u.told = *told;
	(void)link_order(l, &msg);
	link_send_now(l);
}
