/*
 * cells: knows every living cell by the id that supervisord chose, and by its
 * pidfd. Runs in the launcher. A cell is forgotten only after it was waited
 * for: then the kernel has emptied its namespace, and REAPED is true.
 */
#include <sys/queue.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/cells.h"

#define CELL_MAGIC 0x63656c6cU
#define NO_SLOT    UINT16_MAX

struct cell {
	uint32_t magic;
	LIST_ENTRY(cell) link;
	struct cells *owner;
	uint32_t id;
	uint16_t worker_slot;
	uint16_t browser_slot;
	struct spawned run;
	struct event *on_sock;
	struct event *on_pidfd;
	char name[LAUNCH_NAME_BYTES]; /* of its run, or "" */
	bool up;
	bool killed;
	bool orphan; /* nobody wants to hear of it */
	bool worker_ended;
	int worker_status;
	struct launch_failed failed; /* stage "" if it did not */
};

struct cells {
	struct event_base *base;
	const struct spawn_env *env;
	const struct cells_callbacks *cb;
	LIST_HEAD(, cell) list;
	size_t count;
};

static void
cells_send(struct cells *t, const struct launch_msg *m, const int *fds)
{
	t->cb->send(t->cb->arg, m, fds);
}

/* "run_...: cell 7: what: why", the run first, as in all lines about one. */
static void
cell_log(const char *name, uint32_t id, const char *what, int error)
{
	log_err("%s%scell %u: %s: %s", name, name[0] == '\0' ? "" : ": ",
	    (unsigned int)id, what, strerror(error));
}

static void
cells_send_failed(struct cells *t, const struct launch_msg *spawn, int error,
    const char *stage)
{
	struct launch_msg m;
	uint32_t id = spawn->cell_id;

	cell_log(spawn->u.spawn.name, id, stage, error);
	launch_msg_init(&m, LAUNCH_REAPED, id);
	m.u.reaped.cause = LAUNCH_SPAWN_FAILED;
	m.u.reaped.error = error;
	strlcpy(m.u.reaped.stage, stage, sizeof(m.u.reaped.stage));
	cells_send(t, &m, NULL);
}

static struct cell *
cells_find(struct cells *t, uint32_t id)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		if (c->id == id && !c->orphan)
			return c;
	return NULL;
}

static void
cell_free(struct cell **cell)
{
	struct cell *c = *cell;

	*cell = NULL;
	if (c == NULL)
		return;
	if (c->on_sock != NULL)
		event_free(c->on_sock);
	if (c->on_pidfd != NULL)
		event_free(c->on_pidfd);
	fd_close(&c->run.pidfd);
	fd_close(&c->run.sock);
	fd_close(&c->run.ipc);
	fd_close(&c->run.log);
	c->magic = 0;
	free(c);
}

static void
cell_kill(struct cell *c)
{
	c->killed = true;
	pidfd_send_signal(c->run.pidfd, SIGKILL, NULL, 0);
}

/* A cell that breaks the protocol is killed; it counts as having died. */
static void
cell_break(struct cell *c, int error)
{
	if (error != EPIPE)
		cell_log(c->name, c->id, "broken link", error);
	event_del(c->on_sock);
	pidfd_send_signal(c->run.pidfd, SIGKILL, NULL, 0);
}

static void
cell_say(struct cell *c, struct launch_msg *m, const int *fds)
{
	m->cell_id = c->id;
	if (!c->orphan)
		cells_send(c->owner, m, fds);
}

static void
cell_say_ready(struct cell *c)
{
	int fds[LAUNCH_MAX_FDS];
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_READY, c->id);
	m.u.ready.browser = c->run.browser;
	fds[LAUNCH_FD_IPC] = c->run.ipc;
	fds[LAUNCH_FD_LOG] = c->run.log;
	cell_say(c, &m, fds);
}

static void
cell_take(struct cell *c, struct launch_msg *m)
{
	switch (m->type) {
	case LAUNCH_UP:
		if (c->up) {
			cell_break(c, EPROTO);
			break;
		}
		c->up = true;
		cell_say_ready(c);
		break;
	case LAUNCH_FAILED:
		c->failed = m->u.failed;
		break;
	case LAUNCH_WORKER_EXITED:
		c->worker_ended = true;
		c->worker_status = m->u.exited.status;
		break;
	default:
		cell_say(c, m, NULL);
		break;
	}
}

/* Everything that is there; a cell says little. */
static void
cell_read(struct cell *c)
{
	struct launch_msg m;
	int error;

	for (;;) {
		error = launch_recv(c->run.sock, LAUNCH_FROM_CELL, &m, NULL);
		if (error == EAGAIN)
			return;
		if (error != 0) {
			cell_break(c, error);
			return;
		}
		cell_take(c, &m);
	}
}

static void
cell_on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct cell *c = arg;

	MAGIC_CHECK(c, CELL_MAGIC);
	cell_read(c);
}

static void
cell_say_reaped(struct cell *c, int status)
{
	struct launch_msg m;
	struct launch_reaped *r = &m.u.reaped;

	launch_msg_init(&m, LAUNCH_REAPED, c->id);
	r->status = status;
	if (c->worker_ended) {
		r->cause = LAUNCH_WORKER_ENDED;
		r->status = c->worker_status;
	} else if (c->killed) {
		r->cause = LAUNCH_KILLED;
	} else if (!c->up) {
		r->cause = LAUNCH_SPAWN_FAILED;
		r->error = c->failed.error;
		strlcpy(r->stage,
		    c->failed.stage[0] == '\0' ? "died at its start"
					       : c->failed.stage,
		    sizeof(r->stage));
		cell_log(c->name, c->id, r->stage, r->error);
	} else {
		r->cause = LAUNCH_CELL_DIED;
	}
	cell_say(c, &m, NULL);
}

static void
cell_on_exit(evutil_socket_t fd, short what, void *arg)
{
	struct cell *c = arg;
	struct cells *t = c->owner;
	int status;

	MAGIC_CHECK(c, CELL_MAGIC);
	if (waitpid(c->run.pid, &status, WNOHANG) != c->run.pid)
		return;
	cell_read(c);
	LIST_REMOVE(c, link);
	t->count--;
	cell_say_reaped(c, status);
	cell_free(&c);
	t->cb->reaped(t->cb->arg);
}

/* Two cells never share a uid. */
static bool
cells_slot_taken(const struct cells *t, const struct launch_spawn *s)
{
	const struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		if (c->worker_slot == s->worker_slot ||
		    ((s->flags & SPAWN_BROWSER) != 0 &&
			c->browser_slot == s->browser_slot))
			return true;
	return false;
}

static struct cell *
cell_new(struct cells *t, const struct launch_msg *m)
{
	struct cell *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->magic = CELL_MAGIC;
	c->owner = t;
	c->id = m->cell_id;
	strlcpy(c->name, m->u.spawn.name, sizeof(c->name));
	c->worker_slot = m->u.spawn.worker_slot;
	c->browser_slot = m->u.spawn.flags & SPAWN_BROWSER
	    ? m->u.spawn.browser_slot
	    : NO_SLOT;
	c->run.pidfd = c->run.sock = c->run.ipc = c->run.log = -1;
	return c;
}

/* The process exists from here on: without events it must go again. */
static int
cell_watch(struct cell *c)
{
	struct event_base *base = c->owner->base;

	c->on_sock =
	    event_new(base, c->run.sock, EV_READ | EV_PERSIST, cell_on_sock, c);
	c->on_pidfd = event_new(
	    base, c->run.pidfd, EV_READ | EV_PERSIST, cell_on_exit, c);
	if (c->on_sock == NULL || c->on_pidfd == NULL ||
	    event_add(c->on_sock, NULL) == -1 ||
	    event_add(c->on_pidfd, NULL) == -1) {
		pidfd_send_signal(c->run.pidfd, SIGKILL, NULL, 0);
		waitpid(c->run.pid, NULL, 0);
		return ENOMEM;
	}
	return 0;
}

static int
cells_spawn(struct cells *t, const struct launch_msg *m)
{
	const char *stage = "allocate";
	struct cell *c;
	int error;

	if (cells_find(t, m->cell_id) != NULL)
		return EPROTO;
	if (cells_slot_taken(t, &m->u.spawn)) {
		cells_send_failed(t, m, EBUSY, "take a slot");
		return 0;
	}
	c = cell_new(t, m);
	error = c == NULL ? ENOMEM
			  : spawn_cell(t->env, &m->u.spawn, &c->run, &stage);
	if (error == 0) {
		stage = "watch the cell";
		error = cell_watch(c);
	}
	if (error != 0) {
		cell_free(&c);
		cells_send_failed(t, m, error, stage);
		t->cb->reaped(t->cb->arg);
		return 0;
	}
	LIST_INSERT_HEAD(&t->list, c, link);
	t->count++;
	return 0;
}

static void
cells_check(struct cell *c)
{
	struct launch_msg m;
	int error;

	launch_msg_init(&m, LAUNCH_CHECK, 0);
	error = launch_send(c->run.sock, LAUNCH_TO_CELL, &m, NULL);
	if (error != 0)
		cell_break(c, error);
}

int
cells_obey(struct cells *t, const struct launch_msg *m)
{
	struct cell *c;

	if (m->type == LAUNCH_SPAWN)
		return cells_spawn(t, m);
	if (m->type != LAUNCH_KILL && m->type != LAUNCH_CHECK)
		return EPROTO;
	c = cells_find(t, m->cell_id);
	if (c == NULL)
		return 0;
	if (m->type == LAUNCH_KILL)
		cell_kill(c);
	else
		cells_check(c);
	return 0;
}

void
cells_kill_all(struct cells *t)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link) {
		c->orphan = true;
		cell_kill(c);
	}
}

size_t
cells_count(const struct cells *t)
{
	return t->count;
}

struct cells *
cells_new(struct event_base *base, const struct spawn_env *env,
    const struct cells_callbacks *cb)
{
	struct cells *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->base = base;
	t->env = env;
	t->cb = cb;
	LIST_INIT(&t->list);
	return t;
}

void
cells_free(struct cells **cells)
{
	struct cells *t = *cells;

	*cells = NULL;
	if (t == NULL)
		return;
	ASSERT(LIST_EMPTY(&t->list));
	free(t);
}
