/*
 * child: one process with a link to the launcher and a watch over its end. Runs
 * in the launcher; when it is started again is for its owner to say.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/child.h"
#include "launcher/clone.h"

#define EXIT_NO_EXEC 127
/*
 * Room for all that a start has to tell before the other end reads: a supervisord
 * is offered every cell at once. The kernel may give less.
 */
#define LINK_BYTES (1 << 20)
#define UNSENT_MAX 256
#define AGAIN_US   50000

struct unsent {
	STAILQ_ENTRY(unsent) entry;
	enum launch_link to;
	struct launch_msg msg;
	int fds[LAUNCH_MAX_FDS];
};

void
child_init(struct child *c, struct event_base *base, const char *name,
    const struct child_ops *ops, void *arg)
{
	memset(c, 0, sizeof(*c));
	c->base = base;
	c->name = name;
	c->ops = ops;
	c->arg = arg;
	c->pidfd = c->sock = -1;
	STAILQ_INIT(&c->unsent);
}

/* A message may hold a password. */
static void
unsent_free(struct unsent *u)
{
	for (int i = 0; i < LAUNCH_MAX_FDS; i++)
		fd_close(&u->fds[i]);
	explicit_bzero(u, sizeof(*u));
	free(u);
}

static void
child_drop_first(struct child *c)
{
	struct unsent *u = STAILQ_FIRST(&c->unsent);

	STAILQ_REMOVE_HEAD(&c->unsent, entry);
	c->nunsent--;
	unsent_free(u);
}

void
child_unlink(struct child *c)
{
	while (!STAILQ_EMPTY(&c->unsent))
		child_drop_first(c);
	if (c->on_again != NULL)
		event_del(c->on_again);
	if (c->on_sock != NULL)
		event_free(c->on_sock);
	c->on_sock = NULL;
	fd_close(&c->sock);
}

void
child_forget(struct child *c)
{
	child_unlink(c);
	if (c->on_pidfd != NULL)
		event_free(c->on_pidfd);
	c->on_pidfd = NULL;
	if (c->on_again != NULL)
		event_free(c->on_again);
	c->on_again = NULL;
	fd_close(&c->pidfd);
	c->pid = 0;
}

void
child_signal(struct child *c, int sig)
{
	if (c->pid != 0)
		pidfd_send_signal(c->pidfd, sig, NULL, 0);
}

void
child_end(struct child *c)
{
	if (c->pid == 0)
		return;
	child_signal(c, SIGKILL);
	while (waitpid(c->pid, NULL, 0) == -1 && errno == EINTR)
		;
	child_forget(c);
}

static void
on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;

	c->ops->readable(c->arg);
}

static void
on_pidfd(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	int status;

	if (waitpid(c->pid, &status, WNOHANG) == c->pid)
		c->ops->ended(c->arg, status);
}

static bool
send_later(struct child *c)
{
	static const struct timeval later = { .tv_usec = AGAIN_US };

	return event_add(c->on_again, &later) == 0;
}

/* A copy of the message, with copies of its descriptors; NULL: none is left. */
static struct unsent *
unsent_new(enum launch_link to, const struct launch_msg *m, const int *fds)
{
	int n = launch_type_fds((enum launch_type)m->type);
	struct unsent *u = malloc(sizeof(*u));

	if (u == NULL)
		return NULL;
	u->to = to;
	u->msg = *m;
	for (int i = 0; i < LAUNCH_MAX_FDS; i++)
		u->fds[i] = -1;
	for (int i = 0; i < n; i++) {
		u->fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
		if (u->fds[i] == -1) {
			unsent_free(u);
			return NULL;
		}
	}
	return u;
}

static int
send_first(struct child *c)
{
	const struct unsent *u = STAILQ_FIRST(&c->unsent);

	return launch_send(c->sock, u->to, &u->msg,
	    launch_type_fds((enum launch_type)u->msg.type) == 0 ? NULL
								: u->fds);
}

static void
on_again(evutil_socket_t fd, short what, void *arg)
{
	struct child *c = arg;
	int error = 0;

	while (!STAILQ_EMPTY(&c->unsent)) {
		error = send_first(c);
		if (error != 0)
			break;
		child_drop_first(c);
	}
	/* Its end is noticed elsewhere. */
	if (error == 0 || error == EPIPE || (error == ENOBUFS && send_later(c)))
		return;
	log_err("%s: what was to be sent later: %s", c->name, strerror(error));
	child_unlink(c);
	child_signal(c, SIGKILL);
}

int
child_send(struct child *c, enum launch_link to, const struct launch_msg *m,
    const int *fds)
{
	struct unsent *u;
	int error = ENOBUFS;

	if (STAILQ_EMPTY(&c->unsent))
		error = launch_send(c->sock, to, m, fds);
	if (error != ENOBUFS || c->nunsent == UNSENT_MAX)
		return error;
	u = unsent_new(to, m, fds);
	if (u == NULL || !send_later(c)) {
		if (u != NULL)
			unsent_free(u);
		return error;
	}
	STAILQ_INSERT_TAIL(&c->unsent, u, entry);
	c->nunsent++;
	return 0;
}

int
child_take(struct child *c, pid_t pid, int pidfd, int sock)
{
	ASSERT(c->pid == 0);
	c->pid = pid;
	c->pidfd = pidfd;
	c->sock = sock;
	if (sock != -1)
		c->on_sock =
		    event_new(c->base, sock, EV_READ | EV_PERSIST, on_sock, c);
	c->on_pidfd =
	    event_new(c->base, pidfd, EV_READ | EV_PERSIST, on_pidfd, c);
	c->on_again = evtimer_new(c->base, on_again, c);
	if (c->on_pidfd == NULL || c->on_again == NULL ||
	    (sock != -1 && c->on_sock == NULL) ||
	    (sock != -1 && event_add(c->on_sock, NULL) == -1) ||
	    event_add(c->on_pidfd, NULL) == -1)
		return ENOMEM;
	return 0;
}

static int
start(struct child *c)
{
	int link[2], pidfd = -1, bytes = LINK_BYTES, error;
	pid_t pid = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) == -1)
		return errno;
	setsockopt(link[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	error = fd_set_nonblock(link[0]);
	if (error == 0)
		error = clone_process(0, -1, &pid, &pidfd);
	if (error == 0 && pid == 0) {
		error = c->ops->become(c->arg, link[1]);
		log_err("cannot start %s: %s", c->name, strerror(error));
		_exit(EXIT_NO_EXEC);
	}
	close(link[1]);
	if (error != 0)
		close(link[0]);
	else
		error = child_take(c, pid, pidfd, link[0]);
	return error;
}

int
child_start(struct child *c)
{
	int error = start(c);

	if (error == 0)
		return 0;
	log_err("cannot start %s: %s", c->name, strerror(error));
	/* Nobody would hear of its end without events. */
	child_end(c);
	return error;
}
