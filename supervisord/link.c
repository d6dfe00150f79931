/*
 * The launch protocol client of supervisord. Orders are few and small; those
 * the socket does not take at once wait in a list. What the launcher says is
 * believed only in the right form: anything else breaks the link, and with it
 * supervisord, which the launcher starts anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "supervisord/link.h"

struct cell {
	LIST_ENTRY(cell) entry;
	uint32_t id;
	char name[LAUNCH_NAME_BYTES]; /* of its run */
	unsigned worker_slot, browser_slot;
	const struct link_ops *ops;
	void *ctx;
};

struct order {
	STAILQ_ENTRY(order) entry;
	struct launch_msg msg;
};

struct link {
	int fd;
	struct event *readable, *writable;
	void (*on_broken)(void *arg);
	void (*on_setting)(void *arg, const char *name, const char *value);
	void *arg;
	LIST_HEAD(, cell) cells;
	STAILQ_HEAD(, order) orders;
	uint32_t last_id;
	uint64_t worker_slots, browser_slots; /* bits that are taken */
};

static void
link_break(struct link *l, const char *why)
{
	if (l->fd == -1)
		return;
	log_err("launcher: %s", why);
	event_del(l->readable);
	event_del(l->writable);
	fd_close(&l->fd);
	l->on_broken(l->arg);
}

static struct cell *
link_find(struct link *l, uint32_t id)
{
	struct cell *c;

	LIST_FOREACH(c, &l->cells, entry)
		if (c->id == id)
			return c;
	return NULL;
}

static void
link_unlist(struct link *l, struct cell *c)
{
	LIST_REMOVE(c, entry);
	l->worker_slots &= ~(UINT64_C(1) << c->worker_slot);
	l->browser_slots &= ~(UINT64_C(1) << c->browser_slot);
	free(c);
}

static void
link_flush(struct link *l)
{
	struct order *o;
	int error;

	while (l->fd != -1 && (o = STAILQ_FIRST(&l->orders)) != NULL) {
		error =
		    launch_send(l->fd, LAUNCH_FROM_SUPERVISORD, &o->msg, NULL);
		if (error == EAGAIN) {
			event_add(l->writable, NULL);
			return;
		}
		STAILQ_REMOVE_HEAD(&l->orders, entry);
		free(o);
		if (error != 0)
			link_break(l, strerror(error));
	}
}

static bool
link_order(struct link *l, const struct launch_msg *msg)
{
	struct order *o;

	if (l->fd == -1 || (o = malloc(sizeof(*o))) == NULL)
		return false;
	o->msg = *msg;
	STAILQ_INSERT_TAIL(&l->orders, o, entry);
	event_add(l->writable, NULL);
	return true;
}

static void
link_order_simple(struct link *l, enum launch_type type, uint32_t cell_id)
{
	const struct cell *c = link_find(l, cell_id);
	struct launch_msg msg;

	launch_msg_init(&msg, type, cell_id);
	if (!link_order(l, &msg))
		log_err("%s%scell %u: %s could not be ordered",
		    c == NULL ? "" : c->name, c == NULL ? "" : ": ", cell_id,
		    launch_type_name(type));
}

static void
link_reaped(struct link *l, struct cell *c, const struct launch_reaped *r)
{
	const struct link_ops *ops = c->ops;
	void *ctx = c->ctx;

	link_unlist(l, c);
	ops->on_reaped(ctx, r);
}

static void
link_dispatch(struct link *l, const struct launch_msg *msg, int *fds)
{
	struct cell *c;

	if (msg->type == LAUNCH_SETTING) {
		if (l->on_setting != NULL)
			l->on_setting(
			    l->arg, msg->u.setting.name, msg->u.setting.value);
		return;
	}
	c = link_find(l, msg->cell_id);
	if (c == NULL) {
		log_warn("cell %u: %s for an unknown cell", msg->cell_id,
		    launch_type_name((enum launch_type)msg->type));
		for (int i = 0; i < LAUNCH_MAX_FDS; i++)
			fd_close(&fds[i]);
		return;
	}
	switch (msg->type) {
	case LAUNCH_READY:
		c->ops->on_ready(
		    c->ctx, fds[LAUNCH_FD_IPC], fds[LAUNCH_FD_LOG]);
		return;
	case LAUNCH_SANDBOX:
		c->ops->on_sandbox(c->ctx, &msg->u.sandbox);
		return;
	case LAUNCH_BROWSER_EXITED:
		c->ops->on_browser_exited(c->ctx, msg->u.exited.status);
		return;
	case LAUNCH_REAPED:
		link_reaped(l, c, &msg->u.reaped);
		return;
	}
}

static void
link_on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;
	struct launch_msg msg;
	int fds[LAUNCH_MAX_FDS], error = 0;

	while (l->fd != -1) {
		error = launch_recv(l->fd, LAUNCH_TO_SUPERVISORD, &msg, fds);
		if (error != 0)
			break;
		link_dispatch(l, &msg, fds);
	}
	if (l->fd == -1 || error == EAGAIN)
		return;
	link_break(l, error == EPIPE ? "is gone" : strerror(error));
}

static void
link_on_writable(evutil_socket_t fd, short what, void *arg)
{
	link_flush(arg);
}

struct link *
link_new(struct event_base *base, int fd, void (*on_broken)(void *), void *arg)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->fd = fd;
	l->on_broken = on_broken;
	l->arg = arg;
	LIST_INIT(&l->cells);
	STAILQ_INIT(&l->orders);
	l->readable =
	    event_new(base, fd, EV_READ | EV_PERSIST, link_on_readable, l);
	l->writable = event_new(base, fd, EV_WRITE, link_on_writable, l);
	if (fd_set_nonblock(fd) != 0 || l->readable == NULL ||
	    l->writable == NULL || event_add(l->readable, NULL) == -1)
		link_free(&l);
	return l;
}

void
link_free(struct link **link)
{
	struct link *l = *link;
	struct order *o;

	if (l == NULL)
		return;
	while (!LIST_EMPTY(&l->cells))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
		link_unlist(l, LIST_FIRST(&l->cells));
	while ((o = STAILQ_FIRST(&l->orders)) != NULL) {
		STAILQ_REMOVE_HEAD(&l->orders, entry);
		free(o);
	}
	if (l->readable != NULL)
		event_free(l->readable);
	if (l->writable != NULL)
		event_free(l->writable);
	fd_close(&l->fd);
	free(l);
	*link = NULL;
}

void
link_on_setting(
    struct link *l, void (*on_setting)(void *, const char *, const char *))
{
	l->on_setting = on_setting;
}

static int
slot_find(uint64_t taken, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if ((taken & (UINT64_C(1) << i)) == 0)
			return (int)i;
	return -1;
}

uint32_t
link_spawn(struct link *l, const struct ulid *session, uint32_t flags,
    const char *name, const struct link_ops *ops, void *ctx)
{
	int worker = slot_find(l->worker_slots, LAUNCH_WORKER_SLOTS);
	int browser = slot_find(l->browser_slots, LAUNCH_BROWSER_SLOTS);
	struct launch_msg msg;
	struct cell *c;

	if (worker == -1 || browser == -1 ||
	    (c = calloc(1, sizeof(*c))) == NULL)
		return 0;
	c->id = ++l->last_id;
	strlcpy(c->name, name, sizeof(c->name));
	c->worker_slot = (unsigned)worker;
	c->browser_slot = (unsigned)browser;
	c->ops = ops;
	c->ctx = ctx;
	launch_msg_init(&msg, LAUNCH_SPAWN, c->id);
	msg.u.spawn.session = *session;
	msg.u.spawn.flags = flags;
	strlcpy(msg.u.spawn.name, name, sizeof(msg.u.spawn.name));
	msg.u.spawn.worker_slot = (uint16_t)worker;
	msg.u.spawn.browser_slot = (uint16_t)browser;
	if (!link_order(l, &msg)) {
		free(c);
		return 0;
	}
	LIST_INSERT_HEAD(&l->cells, c, entry);
	l->worker_slots |= UINT64_C(1) << worker;
	l->browser_slots |= UINT64_C(1) << browser;
	return c->id;
}

void
link_kill(struct link *l, uint32_t cell_id)
{
	if (link_find(l, cell_id) != NULL)
		link_order_simple(l, LAUNCH_KILL, cell_id);
}

void
link_check(struct link *l, uint32_t cell_id)
{
	if (link_find(l, cell_id) != NULL)
		link_order_simple(l, LAUNCH_CHECK, cell_id);
}

void
link_serving(struct link *l)
{
	link_order_simple(l, LAUNCH_SERVING, 0);
}
