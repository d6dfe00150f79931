/*
 * cell: one living cell as the launcher sees it: what it says, what is told of
 * it to supervisord, how it is ended. Runs in the launcher.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/cells_int.h"

void
cell_log(const char *name, uint32_t id, const char *what, int error)
{
	log_err("%s%scell %u: %s: %s", name, name[0] == '\0' ? "" : ": ",
	    (unsigned int)id, what, strerror(error));
}

bool
cell_is_kept(const struct cell *c)
{
	return (c->spawn.flags & SPAWN_KEEP) != 0;
}

void
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
	cgroup_remove(c->owner->env->groups, &c->run.group);
	fd_close(&c->listener);
	c->magic = 0;
	free(c);
}

void
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
		cell_log(c->spawn.name, c->id, "broken link", error);
	event_del(c->on_sock);
	pidfd_send_signal(c->run.pidfd, SIGKILL, NULL, 0);
}

/* What is to be told to the supervisord that goes on with it. */
static void
cell_note(struct cell *c, const struct launch_msg *m)
{
	unsigned int untold = 0;

	switch (m->type) {
	case LAUNCH_SANDBOX:
		c->sandbox = m->u.sandbox;
		break;
	case LAUNCH_USAGE:
		c->usage = m->u.usage;
		break;
	case LAUNCH_LIMIT:
		c->breach = m->u.breach;
		untold = UNTOLD_LIMIT;
		break;
	case LAUNCH_WORKER_EXITED:
		untold = UNTOLD_WORKER_EXITED;
		break;
	case LAUNCH_BROWSER_EXITED:
		untold = UNTOLD_BROWSER_EXITED;
		break;
	default:
		break;
	}
	if (c->hold != CELL_OWNED)
		c->untold |= untold;
}

void
cell_say(struct cell *c, struct launch_msg *m, const int *fds)
{
	m->cell_id = c->id;
	cell_note(c, m);
	if (!c->orphan && c->hold != CELL_LEFT)
		c->owner->cb->send(c->owner->cb->arg, m, fds);
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

/* One, from the child that becomes the cell: never a cell that is up. */
static void
cell_take_listener(struct cell *c, int fd)
{
	if (c->up || c->listener != -1 || fd == -1) {
		fd_close(&fd);
		cell_break(c, EPROTO);
		return;
	}
	c->listener = fd;
	c->owner->cb->listener(c->owner->cb->arg, c->id, fd);
}

static void
cell_take(struct cell *c, struct launch_msg *m, int fd)
{
	switch (m->type) {
	case LAUNCH_LISTENER:
		cell_take_listener(c, fd);
		break;
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
		if (cell_is_kept(c))
			cell_say(c, m, NULL);
		break;
	case LAUNCH_LIMIT:
		c->over = true;
		cell_say(c, m, NULL);
		break;
	case LAUNCH_BROWSER_EXITED:
		c->browser_ended = true;
		c->browser_status = m->u.exited.status;
		cell_say(c, m, NULL);
		break;
	default:
		cell_say(c, m, NULL);
		break;
	}
}

void
cell_read(struct cell *c)
{
	struct launch_msg m;
	int error, fds[LAUNCH_MAX_FDS];

	for (;;) {
		error = launch_recv(c->run.sock, LAUNCH_FROM_CELL, &m, fds);
		if (error == EAGAIN)
			return;
		if (error != 0) {
			cell_break(c, error);
			return;
		}
		cell_take(c, &m, fds[0]);
	}
}

void
cell_look(struct cell *c)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_LIMIT, c->id);
	if (c->over || !cgroup_breach(&c->run.group, &m.u.breach))
		return;
	c->over = true;
	cell_say(c, &m, NULL);
	cell_kill(c);
}

void
cell_say_reaped(struct cell *c, int status)
{
	struct launch_msg m;
	struct launch_reaped *r = &m.u.reaped;

	launch_msg_init(&m, LAUNCH_REAPED, c->id);
	r->status = status;
	if (c->worker_ended && !cell_is_kept(c)) {
		r->cause = LAUNCH_WORKER_ENDED;
		r->status = c->worker_status;
	} else if (c->killed) {
		r->cause = LAUNCH_KILLED;
	} else if (c->worker_ended && c->browser_ended) {
		r->cause = LAUNCH_BROWSER_ENDED;
		r->status = c->browser_status;
	} else if (!c->up) {
		r->cause = LAUNCH_SPAWN_FAILED;
		r->error = c->failed.error;
		strlcpy(r->stage,
		    c->failed.stage[0] == '\0' ? "died at its start"
					       : c->failed.stage,
		    sizeof(r->stage));
		cell_log(c->spawn.name, c->id, r->stage, r->error);
	} else {
		r->cause = LAUNCH_CELL_DIED;
	}
	cell_say(c, &m, NULL);
}

void
cell_order(struct cell *c, enum launch_type type, const int *fd)
{
	struct launch_msg m;
	int error;

	launch_msg_init(&m, type, 0);
	error = launch_send(c->run.sock, LAUNCH_TO_CELL, &m, fd);
	if (error != 0)
		cell_break(c, error);
}

/* The socket of the former worker is of no use any more. */
void
cell_next_worker(struct cell *c, const struct launch_worker *worker)
{
	struct launch_msg m;
	int error, ipc = -1;

	error = spawn_worker(c->run.sock, &ipc);
	if (error != 0) {
		cell_break(c, error);
		return;
	}
	fd_close(&c->run.ipc);
	c->run.ipc = ipc;
	c->worker_ended = false;
	c->untold &= ~(unsigned int)UNTOLD_WORKER_EXITED;
	memset(&c->usage, 0, sizeof(c->usage));
	strlcpy(c->spawn.name, worker->name, sizeof(c->spawn.name));
	launch_msg_init(&m, LAUNCH_WORKER_READY, c->id);
	cell_say(c, &m, &c->run.ipc);
}
