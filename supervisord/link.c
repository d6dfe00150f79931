/*
 * The launch protocol client of supervisord. Orders are few and small; those
 * the socket does not take at once wait in a list. What the launcher says is
 * believed only in the right form: anything else breaks the link, and with it
 * supervisord, which the launcher starts anew.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "supervisord/link_int.h"

#define NO_SLOT  UINT32_MAX
#define AGAIN_US 50000

struct link_cell {
	LIST_ENTRY(link_cell) entry;
	uint32_t id;
	char name[LAUNCH_NAME_BYTES]; /* of its run */
	unsigned worker_slot, browser_slot;
	const struct link_ops *ops; /* NULL: nobody wants it */
	void *ctx;
};

struct link {
	int fd;
	struct event *readable, *writable, *again;
	void (*on_broken)(void *arg);
	const struct link_service *service;
	void *arg;
	LIST_HEAD(, link_cell) cells;
	STAILQ_HEAD(, order) orders;
	uint32_t last_id;
	uint64_t worker_slots, browser_slots; /* bits that are taken */
	struct orders_spare spare;
};

void
link_break(struct link *l, const char *why)
{
	if (l->fd == -1)
		return;
	log_err("launcher: %s", why);
	event_del(l->readable);
	event_del(l->writable);
	event_del(l->again);
	fd_close(&l->fd);
	l->on_broken(l->arg);
}

struct link_cell *
link_find(struct link *l, uint32_t id)
{
	struct link_cell *c;

	LIST_FOREACH(c, &l->cells, entry)
		if (c->id == id)
			return c;
	return NULL;
}

static void
link_unlist(struct link *l, struct link_cell *c)
{
	LIST_REMOVE(c, entry);
	l->worker_slots &= ~(UINT64_C(1) << c->worker_slot);
	if (c->browser_slot != NO_SLOT)
		l->browser_slots &= ~(UINT64_C(1) << c->browser_slot);
	free(c);
}

/* 0, or the error of the first order that is left. */
static int
link_send(struct link *l)
{
	struct order *o;
	int error;

	while (l->fd != -1 && (o = STAILQ_FIRST(&l->orders)) != NULL) {
		error = launch_send(l->fd, LAUNCH_FROM_SUPERVISORD, &o->msg,
		    o->fd == -1 ? NULL : &o->fd);
		if (error != 0)
			return error;
		STAILQ_REMOVE_HEAD(&l->orders, entry);
		order_free(&l->spare, o);
		CRASH_POINT(order_sent);
	}
	return 0;
}

void
link_send_now(struct link *l)
{
	if (link_send(l) == 0)
		event_del(l->writable);
}

/* When the system's memory is short, writable says nothing. */
static bool
link_try_later(struct link *l, bool full)
{
	static const struct timeval later = { .tv_usec = AGAIN_US };

	return (full && event_add(l->writable, NULL) == 0) ||
	    evtimer_add(l->again, &later) == 0;
}

static void
link_flush(struct link *l)
{
	int error = link_send(l);

	if ((error == EAGAIN || error == ENOBUFS) &&
	    link_try_later(l, error == EAGAIN))
		return;
	if (error != 0)
		link_break(l, strerror(error));
}

struct order *
link_order(struct link *l, const struct launch_msg *msg)
{
	struct order *o;

	if (l->fd == -1)
		return NULL;
	o = order_new(&l->spare, msg);
	if (o == NULL || !link_try_later(l, true)) {
		order_free(&l->spare, o);
		/* Without its cell a run fails; all else must reach it. */
		if (msg->type != LAUNCH_SPAWN)
			link_break(l, "no memory for an order");
		return NULL;
	}
	STAILQ_INSERT_TAIL(&l->orders, o, entry);
	return o;
}

void
link_order_simple(struct link *l, enum launch_type type, uint32_t cell_id)
{
	const struct link_cell *c = link_find(l, cell_id);
	struct launch_msg msg;

	launch_msg_init(&msg, type, cell_id);
	if (!link_order(l, &msg))
		log_err("%s%scell %u: %s could not be ordered",
		    c == NULL ? "" : c->name, c == NULL ? "" : ": ", cell_id,
		    launch_type_name(type));
}

static void
link_reaped(struct link *l, struct link_cell *c, const struct launch_reaped *r)
{
	const struct link_ops *ops = c->ops;
	void *ctx = c->ctx;

	link_unlist(l, c);
	ops->on_reaped(ctx, r);
}

bool
link_adopt(struct link *l, uint32_t cell_id, const struct launch_spawn *s,
    const struct link_ops *ops, void *ctx)
{
	struct link_cell *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		link_break(l, strerror(ENOMEM));
		return false;
	}
	c->id = cell_id;
	c->ops = ops;
	c->ctx = ctx;
	strlcpy(c->name, s->name, sizeof(c->name));
	c->worker_slot = s->worker_slot;
	l->worker_slots |= UINT64_C(1) << c->worker_slot;
	c->browser_slot = NO_SLOT;
	if (s->flags & SPAWN_BROWSER) {
		c->browser_slot = s->browser_slot;
		l->browser_slots |= UINT64_C(1) << c->browser_slot;
	}
	if (c->id > l->last_id)
		l->last_id = c->id;
	LIST_INSERT_HEAD(&l->cells, c, entry);
	return true;
}

/* What is left of a former life; false for all else. */
static bool
link_dispatch_former(struct link *l, const struct launch_msg *msg, int *fds)
{
	const struct link_service *to = l->service;

	if (msg->type != LAUNCH_ADOPT && msg->type != LAUNCH_SECRET_KEPT &&
	    msg->type != LAUNCH_ADOPT_END)
		return false;
	if (to == NULL)
		for (int i = 0; i < LAUNCH_MAX_FDS; i++)
			fd_close(&fds[i]);
	else if (msg->type == LAUNCH_ADOPT)
		to->on_adopt(l->arg, msg->cell_id, &msg->u.adopt, fds);
	else if (msg->type == LAUNCH_SECRET_KEPT)
		to->on_kept(l->arg, &msg->u.kept);
	else
		to->on_adopt_end(l->arg, &msg->u.adopt_end);
	return true;
}

/* What is about no cell; false for all else. */
static bool
link_dispatch_service(struct link *l, const struct launch_msg *msg, int *fds)
{
	const struct link_service *to = l->service;

	if (msg->type == LAUNCH_PING) {
		link_order_simple(l, LAUNCH_PONG, 0);
		return true;
	}
	if (msg->type != LAUNCH_SETTING && msg->type != LAUNCH_PROTECTION &&
	    msg->type != LAUNCH_EGRESS && msg->type != LAUNCH_EGRESS_DOWN &&
	    msg->type != LAUNCH_INSPECTED && msg->type != LAUNCH_RESTART)
		return false;
	if (to == NULL)
		fd_close(&fds[0]);
	else if (msg->type == LAUNCH_SETTING)
		to->on_setting(
		    l->arg, msg->u.setting.name, msg->u.setting.value);
	else if (msg->type == LAUNCH_PROTECTION)
		to->on_protection(l->arg, &msg->u.protection);
	else if (msg->type == LAUNCH_INSPECTED)
		to->on_inspected(l->arg);
	else if (msg->type == LAUNCH_RESTART)
		to->on_restart(l->arg);
	else
		to->on_egress(l->arg, fds[0]);
	return true;
}

static void
link_dispatch(struct link *l, const struct launch_msg *msg, int *fds)
{
	struct link_cell *c;

	if (link_dispatch_service(l, msg, fds) ||
	    link_dispatch_former(l, msg, fds))
		return;
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
	case LAUNCH_WORKER_READY:
		c->ops->on_worker_ready(c->ctx, fds[LAUNCH_FD_IPC]);
		return;
	case LAUNCH_WORKER_EXITED:
		c->ops->on_worker_exited(c->ctx, msg->u.exited.status);
		return;
	case LAUNCH_LIMIT:
		c->ops->on_limit(c->ctx, &msg->u.breach);
		return;
	case LAUNCH_SECRET_MISSING:
		c->ops->on_secret_missing(c->ctx, &msg->u.missing);
		return;
	case LAUNCH_USAGE:
		c->ops->on_usage(c->ctx, &msg->u.usage);
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
	l->again = evtimer_new(base, link_on_writable, l);
	if (fd_set_nonblock(fd) != 0 || l->readable == NULL ||
	    l->writable == NULL || l->again == NULL ||
	    event_add(l->readable, NULL) == -1)
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
		order_free(&l->spare, o);
	}
	if (l->readable != NULL)
		event_free(l->readable);
	if (l->writable != NULL)
		event_free(l->writable);
	if (l->again != NULL)
		event_free(l->again);
	fd_close(&l->fd);
	free(l);
	*link = NULL;
}

void
link_on_service(struct link *l, const struct link_service *service)
{
	l->service = service;
}

bool
link_has_room(const struct link *l, uint32_t flags)
{
	return slot_find(l->worker_slots, LAUNCH_WORKER_SLOTS) != -1 &&
	    ((flags & SPAWN_BROWSER) == 0 ||
		slot_find(l->browser_slots, LAUNCH_BROWSER_SLOTS) != -1);
}

/* A session's name, which is also its profile's. */
void
link_session_name(
    const struct ulid *session, char ret_name[LAUNCH_PROFILE_BYTES])
{
	char text[ULID_CHARS + 1];

	ulid_format(session, text);
	snprintf(ret_name, LAUNCH_PROFILE_BYTES, "sess_%s", text);
}

static void
spawn_fill(struct launch_spawn *s, const struct ulid *session, uint32_t flags,
    const struct link_cell *c)
{
	s->session = *session;
	s->flags = flags;
	if (flags & SPAWN_KEEP)
		link_session_name(session, s->profile);
	strlcpy(s->name, c->name, sizeof(s->name));
	s->worker_slot = (uint16_t)c->worker_slot;
	s->browser_slot =
	    c->browser_slot == NO_SLOT ? 0 : (uint16_t)c->browser_slot;
}

static void
slots_take(struct link *l, struct link_cell *c, uint32_t flags)
{
	c->worker_slot =
	    (unsigned)slot_find(l->worker_slots, LAUNCH_WORKER_SLOTS);
	l->worker_slots |= UINT64_C(1) << c->worker_slot;
	c->browser_slot = NO_SLOT;
	if ((flags & SPAWN_BROWSER) == 0)
		return;
	c->browser_slot =
	    (unsigned)slot_find(l->browser_slots, LAUNCH_BROWSER_SLOTS);
	l->browser_slots |= UINT64_C(1) << c->browser_slot;
}

uint32_t
link_spawn(struct link *l, const struct ulid *session, uint32_t flags,
    const struct launch_limits *limits, const char *name,
    const struct link_ops *ops, void *ctx)
{
	struct launch_msg msg;
	struct link_cell *c;

	if (!link_has_room(l, flags) || (c = calloc(1, sizeof(*c))) == NULL)
		return 0;
	c->id = ++l->last_id;
	strlcpy(c->name, name, sizeof(c->name));
	c->ops = ops;
	c->ctx = ctx;
	slots_take(l, c, flags);
	LIST_INSERT_HEAD(&l->cells, c, entry);
	launch_msg_init(&msg, LAUNCH_SPAWN, c->id);
	spawn_fill(&msg.u.spawn, session, flags, c);
	msg.u.spawn.limits = *limits;
	if (!link_order(l, &msg)) {
		link_unlist(l, c);
		return 0;
	}
	return c->id;
}

void
link_worker(struct link *l, uint32_t cell_id, const char *name)
{
	struct link_cell *c = link_find(l, cell_id);
	struct launch_msg msg;

	if (c == NULL)
		return;
	strlcpy(c->name, name, sizeof(c->name));
	launch_msg_init(&msg, LAUNCH_WORKER, cell_id);
	strlcpy(msg.u.worker.name, name, sizeof(msg.u.worker.name));
	if (!link_order(l, &msg))
		log_err(
		    "%s: cell %u: no worker could be ordered", name, cell_id);
}

void
link_kill_worker(struct link *l, uint32_t cell_id)
{
	if (link_find(l, cell_id) != NULL)
		link_order_simple(l, LAUNCH_KILL_WORKER, cell_id);
}

void
link_kill(struct link *l, uint32_t cell_id)
{
	if (link_find(l, cell_id) == NULL)
		return;
	link_order_simple(l, LAUNCH_KILL, cell_id);
	/* The end of its processes shall not wait for this turn's commit. */
	link_send_now(l);
}

void
link_check(struct link *l, uint32_t cell_id)
{
	if (link_find(l, cell_id) != NULL)
		link_order_simple(l, LAUNCH_CHECK, cell_id);
}
