/*
 * cells: knows every living cell by the id that supervisord chose, and by its
 * pidfd. Runs in the launcher. A cell is forgotten only after it was waited
 * for: then the kernel has emptied its namespace, and REAPED is true.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <signal.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/cells_int.h"
#include "launcher/profiles.h"

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
	t->cb->send(t->cb->arg, &m, NULL);
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
cell_on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct cell *c = arg;

	MAGIC_CHECK(c, CELL_MAGIC);
	cell_read(c);
}

static void
cells_remove_profile(const struct cells *t, const char *profile)
{
	int error = profile_drop(t->env->dirs, profile);

	if (error != 0)
		log_err(
		    "profile %s: cannot remove: %s", profile, strerror(error));
	remover_run(t->remover);
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
	cell_look(c);
	LIST_REMOVE(c, link);
	t->count--;
	if (c->forget)
		cells_remove_profile(t, c->spawn.profile);
	t->cb->gone(t->cb->arg, c->id);
	cell_say_reaped(c, status);
	cell_free(&c);
	t->cb->reaped(t->cb->arg);
}

static struct cell *
cells_find_profile(struct cells *t, const char *profile)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		if (strcmp(c->spawn.profile, profile) == 0)
			return c;
	return NULL;
}

/* Two cells never share a uid or a profile. */
static bool
cells_slot_taken(struct cells *t, const struct launch_spawn *s)
{
	const struct cell *c;

	if (s->profile[0] != '\0' && cells_find_profile(t, s->profile) != NULL)
		return true;
	LIST_FOREACH(c, &t->list, link)
		if (c->spawn.worker_slot == s->worker_slot ||
		    ((s->flags & c->spawn.flags & SPAWN_BROWSER) != 0 &&
			c->spawn.browser_slot == s->browser_slot))
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
	c->spawn = m->u.spawn;
	c->run.pidfd = c->run.sock = c->run.ipc = c->run.log = -1;
	c->run.group.dir = -1;
	c->listener = -1;
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

int
cells_add(struct cells *t, struct cell *c)
{
	int error = cell_watch(c);

	if (error != 0)
		return error;
	LIST_INSERT_HEAD(&t->list, c, link);
	t->count++;
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
	error = c == NULL
	    ? ENOMEM
	    : spawn_cell(t->env, m->cell_id, &m->u.spawn, &c->run, &stage);
	if (error == 0) {
		stage = "watch the cell";
		error = cells_add(t, c);
	}
	if (error != 0) {
		cell_free(&c);
		cells_send_failed(t, m, error, stage);
		t->cb->reaped(t->cb->arg);
	}
	return 0;
}

static int
cells_obey_about(struct cells *t, const struct launch_msg *m)
{
	struct cell *c = cells_find(t, m->cell_id);

	if (c == NULL)
		return 0;
	switch (m->type) {
	case LAUNCH_KILL:
		c->hold = CELL_OWNED;
		cell_kill(c);
		return 0;
	case LAUNCH_ADOPTED:
		return cell_adopted(c);
	case LAUNCH_NAME:
		strlcpy(c->spawn.name, m->u.worker.name, sizeof(c->spawn.name));
		return 0;
	case LAUNCH_WORKER:
		if (!cell_is_kept(c) || !c->worker_ended)
			return EPROTO;
		cell_next_worker(c, &m->u.worker);
		return 0;
	default:
		cell_order(c, (enum launch_type)m->type, NULL);
		return 0;
	}
}

static bool
cells_use(void *arg, const char *profile)
{
	return cells_find_profile(arg, profile) != NULL;
}

static void
cells_forget(struct cells *t, const char *profile)
{
	struct cell *c = cells_find_profile(t, profile);

	if (c != NULL)
		c->forget = true;
	else
		cells_remove_profile(t, profile);
}

int
cells_obey(struct cells *t, const struct launch_msg *m)
{
	switch (m->type) {
	case LAUNCH_SPAWN:
		return cells_spawn(t, m);
	case LAUNCH_KILL:
	case LAUNCH_CHECK:
	case LAUNCH_WORKER:
	case LAUNCH_KILL_WORKER:
	case LAUNCH_NAME:
	case LAUNCH_ADOPTED:
		return cells_obey_about(t, m);
	case LAUNCH_FORGET:
		cells_forget(t, m->u.profile.name);
		return 0;
	case LAUNCH_KNOWN:
		return kept_name(t->kept, m->u.profile.name);
	case LAUNCH_PURGE:
		kept_purge(t->kept, t->env->dirs, cells_use, t);
		remover_run(t->remover);
		return 0;
	default:
		return EPROTO;
	}
}

void
cells_feed(struct cells *t, uint32_t cell_id, int fd)
{
	struct cell *c = cells_find(t, cell_id);

	if (c == NULL)
		return;
	if (fd == -1)
		cell_kill(c);
	else
		cell_order(c, LAUNCH_SECRET_FEED, &fd);
}

void
cells_kill_all(struct cells *t)
{
	struct cell *c;

	kept_clear(t->kept);
	event_del(t->on_adopt);
	LIST_FOREACH(c, &t->list, link) {
		c->orphan = true;
		cell_kill(c);
	}
}

void
cells_tell_listeners(struct cells *t)
{
	struct cell *c;

	LIST_FOREACH(c, &t->list, link)
		if (c->listener != -1)
			t->cb->listener(t->cb->arg, c->id, c->listener);
}

bool
cells_removing(const struct cells *t)
{
	return remover_runs(t->remover);
}

void
cells_stop_removing(struct cells *t)
{
	remover_stop(t->remover);
}

size_t
cells_count(const struct cells *t)
{
	return t->count;
}

/* It does not say which: they are few. */
static void
cells_on_groups(evutil_socket_t fd, short what, void *arg)
{
	struct cells *t = arg;
	struct cell *c;

	cgroups_drain(t->env->groups);
	LIST_FOREACH(c, &t->list, link)
		cell_look(c);
}

static bool
cells_watch_groups(struct cells *t)
{
	int fd = t->env->groups->changes;

	if (fd == -1)
		return true;
	t->on_groups =
	    event_new(t->base, fd, EV_READ | EV_PERSIST, cells_on_groups, t);
	return t->on_groups != NULL && event_add(t->on_groups, NULL) == 0;
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
	t->kept = kept_new();
	t->remover = remover_new(base, env, cb->reaped, cb->arg);
	t->on_adopt = evtimer_new(base, cells_on_adopt, t);
	if (t->kept == NULL || t->remover == NULL || t->on_adopt == NULL ||
	    !cells_watch_groups(t))
		cells_free(&t);
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
	kept_free(&t->kept);
	remover_free(&t->remover);
	if (t->on_groups != NULL)
		event_free(t->on_groups);
	if (t->on_adopt != NULL)
		event_free(t->on_adopt);
	free(t);
}
