/*
 * adopt: what becomes of cells whose supervisord has ended. Those that are up
 * live on, with the sockets of their workers held here, until the next
 * supervisord says that it goes on with them. Runs in the launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/cells_int.h"

/* One that each supervisord dies of must not be offered for ever. */
#define OFFERS_MAX 16
#define OFFERS_MS  60000

/* Whether there is something to go on with. */
static bool
cell_may_stay(const struct cell *c)
{
	if (!c->up || c->killed || c->orphan || c->over)
		return false;
	if (c->worker_ended && (!cell_is_kept(c) || c->browser_ended))
		return false;
	return c->offers < OFFERS_MAX;
}

static void
cell_leave(struct cell *c, int64_t now_ms)
{
	if (now_ms - c->offered_ms > OFFERS_MS)
		c->offers = 0;
	if (cell_may_stay(c)) {
		c->hold = CELL_LEFT;
		return;
	}
	if (c->offers == OFFERS_MAX)
		log_err("%s%scell %u: no supervisord goes on with it",
		    c->spawn.name, c->spawn.name[0] == '\0' ? "" : ": ",
		    (unsigned int)c->id);
	c->orphan = true;
	cell_kill(c);
}

void
cells_leave(struct cells *t)
{
	int64_t now_ms = clock_mono_ms();
	struct cell *c;

	kept_clear(t->kept);
	event_del(t->on_adopt);
	LIST_FOREACH(c, &t->list, link)
		cell_leave(c, now_ms);
}

size_t
cells_dying(const struct cells *t)
{
	const struct cell *c;
	size_t n = 0;

	LIST_FOREACH(c, &t->list, link)
		n += c->orphan;
	return n;
}

/* What was last known of it. */
static void
adopt_fill(const struct cell *c, bool gone, struct launch_adopt *a)
{
	a->spawn = c->spawn;
	a->browser = c->run.browser;
	a->has_worker = !gone;
	a->sandbox = c->sandbox;
	if (gone)
		memset(a->spawn.name, 0, sizeof(a->spawn.name));
	else
		a->usage = c->usage;
}

static void
say_exited(struct cell *c, enum launch_type type, int status)
{
	struct launch_msg m;

	launch_msg_init(&m, type, c->id);
	m.u.exited.status = status;
	cell_say(c, &m, NULL);
}

/* What happened to it meanwhile, in the order in which it ends by itself. */
static void
cell_say_untold(struct cell *c)
{
	struct launch_msg m;

	if (c->untold & UNTOLD_LIMIT) {
		launch_msg_init(&m, LAUNCH_LIMIT, c->id);
		m.u.breach = c->breach;
		cell_say(c, &m, NULL);
	}
	if (c->untold & UNTOLD_BROWSER_EXITED)
		say_exited(c, LAUNCH_BROWSER_EXITED, c->browser_status);
	if (c->untold & UNTOLD_WORKER_EXITED)
		say_exited(c, LAUNCH_WORKER_EXITED, c->worker_status);
}

/* A worker that ended before is none, one that ended since is told of. */
static bool
cell_offer(struct cell *c, int64_t now_ms)
{
	bool gone = c->worker_ended && (c->untold & UNTOLD_WORKER_EXITED) == 0;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[LAUNCH_MAX_FDS];
	struct launch_msg m;

	if (null == -1) {
		cell_log(c->spawn.name, c->id, "offer it", errno);
		c->orphan = true;
		cell_kill(c);
		return false;
	}
	launch_msg_init(&m, LAUNCH_ADOPT, c->id);
	adopt_fill(c, gone, &m.u.adopt);
	fds[LAUNCH_FD_IPC] = gone ? null : c->run.ipc;
	fds[LAUNCH_FD_LOG] = c->run.log;
	c->hold = CELL_OFFERED;
	c->offers++;
	c->offered_ms = now_ms;
	cell_say(c, &m, fds);
	close(null);
	cell_say_untold(c);
	CRASH_POINT(cell_offered);
	return true;
}

uint32_t
cells_offer(struct cells *t, int64_t adopt_ms)
{
	const struct timeval limit = { adopt_ms / 1000,
		adopt_ms % 1000 * 1000 };
	int64_t now_ms = clock_mono_ms();
	uint32_t n = 0;
	struct cell *c;

	t->adopt_ms = adopt_ms;
	LIST_FOREACH(c, &t->list, link)
		if (c->hold == CELL_LEFT && !c->orphan)
			n += cell_offer(c, now_ms);
	if (n > 0)
		event_add(t->on_adopt, &limit);
	return n;
}

int
cell_adopted(struct cell *c)
{
	if (c->hold != CELL_OFFERED)
		return EPROTO;
	c->hold = CELL_OWNED;
	c->untold = 0;
	CRASH_POINT(cell_taken);
	return 0;
}

/* Told like any other that is killed: it may have been about to be taken. */
void
cells_on_adopt(evutil_socket_t fd, short what, void *arg)
{
	struct cells *t = arg;
	struct cell *c;

	LIST_FOREACH(c, &t->list, link) {
		if (c->hold != CELL_OFFERED)
			continue;
		log_err("%s%scell %u: not taken within %lld s: killed",
		    c->spawn.name, c->spawn.name[0] == '\0' ? "" : ": ",
		    (unsigned int)c->id, (long long)t->adopt_ms / 1000);
		c->hold = CELL_OWNED;
		cell_kill(c);
	}
}
