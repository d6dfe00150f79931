/*
 * launchlink: egressd's end of the launch protocol. Runs in egressd. Without
 * the launcher there is nothing to do: the loop ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "common/log.h"
#include "egressd/cells.h"
#include "egressd/launchlink.h"
#include "egressd/link.h"
#include "egressd/setup.h"
#include "launch/launch.h"

struct launchlink {
	struct egress *egress;
	int fd;
	struct event *readable;
};

/* One of these fits where the question was; if not, the launcher is stopped. */
static void
answer(const struct egress *e)
{
	struct launch_msg m;
	int error;

	launch_msg_init(&m, LAUNCH_PONG, 0);
	error = launch_send(e->launch->fd, LAUNCH_FROM_EGRESSD, &m, NULL);
	if (error != 0 && error != EPIPE)
		log_warn("launcher: PONG: %s", strerror(error));
}

static void
take(struct egress *e, const struct launch_msg *m, const int *fds)
{
	int fd = fds[0];

	switch (m->type) {
	case LAUNCH_PING:
		answer(e);
		return;
	case LAUNCH_SETTING:
		setup_setting(e, m->u.setting.name, m->u.setting.value);
		return;
	case LAUNCH_EGRESS_LINK:
		link_free(&e->link);
		e->link = link_new(e, fd);
		if (e->link == NULL)
			setup_break(e, "supervisord");
		return;
	case LAUNCH_EGRESS_LISTENER:
		if (fd != -1)
			cells_listen(e->cells, m->cell_id, fd);
		else
			setup_break(e, "a listener");
		return;
	case LAUNCH_EGRESS_NAMES:
		setup_names(e, fds);
		return;
	case LAUNCH_EGRESS_GONE:
		cells_gone(e->cells, m->cell_id);
		return;
	default:
		return;
	}
}

static void
on_readable(evutil_socket_t sock, short what, void *arg)
{
	struct launchlink *l = arg;
	int fds[LAUNCH_MAX_FDS], error;
	struct launch_msg m;

	while ((error = launch_recv(l->fd, LAUNCH_TO_EGRESSD, &m, fds)) == 0)
		take(l->egress, &m, fds);
	if (error == EAGAIN)
		return;
	if (error != EPIPE)
		log_err("launcher: %s", strerror(error));
	event_base_loopbreak(l->egress->base);
}

struct launchlink *
launchlink_new(struct egress *e, int fd)
{
	struct launchlink *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		fd_close(&fd);
		return NULL;
	}
	l->egress = e;
	l->fd = fd;
	l->readable =
	    event_new(e->base, fd, EV_READ | EV_PERSIST, on_readable, l);
	if (fd_set_nonblock(fd) != 0 || l->readable == NULL ||
	    event_add(l->readable, NULL) == -1)
		launchlink_free(&l);
	return l;
}

void
launchlink_free(struct launchlink **link)
{
	struct launchlink *l = *link;

	*link = NULL;
	if (l == NULL)
		return;
	if (l->readable != NULL)
		event_free(l->readable);
	fd_close(&l->fd);
	free(l);
}
