/*
 * supervise: starts supervisord, speaks the launch protocol with it and
 * starts it again when it ends, unless that is too often. Runs in the
 * launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/clone.h"
#include "launcher/damping.h"
#include "launcher/supervise.h"
#include "launcher/uidblock.h"

#define EXIT_NO_EXEC 127

struct supervise {
	struct event_base *base;
	const struct spawn_env *env;
	const struct options *options;
	const struct sockets *sockets;
	const struct supervise_callbacks *cb;
	const char *argv[4 + 2 * SETTINGS_COUNT];
	char assignments[SETTINGS_COUNT]
			[SETTINGS_NAME_BYTES + SETTINGS_VALUE_BYTES];
	pid_t pid; /* 0: not running */
	int pidfd;
	int sock; /* -1: link broken or not running */
	struct event *on_sock;
	struct event *on_pidfd;
	struct event *on_gap; /* the time to the next start is over */
	bool stopping;
	struct damping damping;
};

static void
link_close(struct supervise *s)
{
	if (s->on_sock != NULL)
		event_free(s->on_sock);
	s->on_sock = NULL;
	fd_close(&s->sock);
}

/* What breaks the protocol cannot be trusted with cells: it goes. */
static void
link_break(struct supervise *s, const char *what, int error)
{
	log_err("supervisord: %s: %s", what, strerror(error));
	link_close(s);
	supervise_kill(s);
}

static void
on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct supervise *s = arg;
	int fds[LAUNCH_MAX_FDS], error;
	struct launch_msg m;

	error = launch_recv(s->sock, LAUNCH_FROM_SUPERVISORD, &m, fds);
	if (error == EAGAIN)
		return;
	if (error == EPIPE) {
		/* Usually it is just ending; if not, it is made to. */
		link_close(s);
		if (!s->stopping)
			supervise_kill(s);
		return;
	}
	if (error == 0)
		error = s->cb->message(s->cb->arg, &m, fds[0]);
	if (error != 0 && s->sock != -1)
		link_break(s, "broken link", error);
}

static void
log_end(int status)
{
	if (WIFSIGNALED(status))
		log_err("supervisord was ended by signal %d (%s)",
		    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		log_err(
		    "supervisord ended with status %d", WEXITSTATUS(status));
}

/* It was waited for. */
static void
process_forget(struct supervise *s)
{
	link_close(s);
	if (s->on_pidfd != NULL)
		event_free(s->on_pidfd);
	s->on_pidfd = NULL;
	fd_close(&s->pidfd);
	s->pid = 0;
}

/* The launcher's exit code where another start is of no use, else 0. */
static int
final_code(const struct supervise *s, int status)
{
	if (!WIFEXITED(status))
		return 0;
	if (WEXITSTATUS(status) == LAUNCH_EXIT_STORE) {
		log_err("the state directory %s cannot be used: mend what "
			"supervisord says above, or name another one with -s",
		    s->env->dirs->state);
		return EXIT_CANNOT_USE;
	}
	if (WEXITSTATUS(status) == LAUNCH_EXIT_SYSTEM) {
		log_err("supervisord cannot run here: mend what it says above");
		return EXIT_SYSTEM;
	}
	return 0;
}

static void
on_exit_of_it(evutil_socket_t fd, short what, void *arg)
{
	struct supervise *s = arg;
	int status, code;

	if (waitpid(s->pid, &status, WNOHANG) != s->pid)
		return;
	if (!s->stopping ||
	    (status != 0 &&
		!(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)))
		log_end(status);
	process_forget(s);
	code = s->stopping ? 0 : final_code(s, status);
	if (code != 0) {
		s->stopping = true;
		s->cb->given_up(s->cb->arg, code);
		return;
	}
	s->cb->ended(s->cb->arg);
}

/*
 * It reads no file: it is told what differs from the defaults. What may hold a
 * password is not its matter, and anybody can read its arguments.
 */
static void
fill_argv(struct supervise *s)
{
	const struct settings *settings = &s->options->settings;
	const struct setting_info *row;
	char value[SETTINGS_VALUE_BYTES];
	size_t n = 0;

	s->argv[n++] = "supervisord";
	s->argv[n++] = "-s";
	s->argv[n++] = s->env->dirs->state;
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		if (row->private || settings_is_default(settings, i))
			continue;
		settings_format(settings, i, value);
		snprintf(s->assignments[i], sizeof(s->assignments[i]), "%s=%s",
		    row->name, value);
		s->argv[n++] = "-o";
		s->argv[n++] = s->assignments[i];
	}
	s->argv[n] = NULL;
}

/* From clone to exec; returns only on failure. */
static int
child_become(struct supervise *s, int link)
{
	uid_t uid = s->env->uid_base + UID_SUPERVISORD;
	int fds[6], null, program, error;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1)
		return errno;
	fds[0] = fds[1] = null;
	fds[2] = STDERR_FILENO;
	fds[3] = link;
	fds[4] = s->sockets->client_fd;
	fds[5] = s->sockets->admin_fd;
	if (s->env->system &&
	    (setgroups(0, NULL) == -1 || setresgid(uid, uid, uid) == -1 ||
		setresuid(uid, uid, uid) == -1))
		return errno;
	error = clone_die_with_parent(s->env->self_pidfd);
	if (error != 0)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	error = clone_set_fds(fds, 6, s->env->programs->supervisord, &program);
	if (error != 0)
		return error;
	return clone_become(program, s->argv, environ);
}

static int
watch(struct supervise *s)
{
	s->on_sock =
	    event_new(s->base, s->sock, EV_READ | EV_PERSIST, on_sock, s);
	s->on_pidfd = event_new(
	    s->base, s->pidfd, EV_READ | EV_PERSIST, on_exit_of_it, s);
	if (s->on_sock == NULL || s->on_pidfd == NULL ||
	    event_add(s->on_sock, NULL) == -1 ||
	    event_add(s->on_pidfd, NULL) == -1)
		return ENOMEM;
	return 0;
}

static int
start_process(struct supervise *s)
{
	int link[2], error;

	fill_argv(s);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link) == -1)
		return errno;
	error = fd_set_nonblock(link[0]);
	if (error == 0)
		error = clone_process(0, -1, &s->pid, &s->pidfd);
	if (error == 0 && s->pid == 0) {
		error = child_become(s, link[1]);
		log_err("cannot start supervisord: %s", strerror(error));
		_exit(EXIT_NO_EXEC);
	}
	close(link[1]);
	if (error != 0) {
		close(link[0]);
		return error;
	}
	s->sock = link[0];
	return 0;
}

static void
start_now(struct supervise *s, int64_t now)
{
	int error;

	damping_started(&s->damping, now);
	error = start_process(s);
	if (error == 0)
		error = watch(s);
	if (error == 0) {
		s->cb->started(s->cb->arg);
		return;
	}
	log_err("cannot start supervisord: %s", strerror(error));
	s->stopping = true;
	supervise_kill(s);
	/* Nobody would hear of its end without events. */
	if (s->pid != 0 && waitpid(s->pid, NULL, 0) == s->pid)
		process_forget(s);
	s->cb->given_up(s->cb->arg, EXIT_CRASHING);
}

void
supervise_start(struct supervise *s)
{
	int64_t now = clock_mono_ms(), due;
	struct timeval gap;

	if (s->pid != 0 || s->stopping)
		return;
	due = damping_due_ms(&s->damping, now);
	if (due == -1) {
		log_err("supervisord ended %d times within %d s: giving up",
		    DAMPING_STARTS, DAMPING_MS / 1000);
		s->stopping = true;
		s->cb->given_up(s->cb->arg, EXIT_CRASHING);
		return;
	}
	if (due == 0) {
		start_now(s, now);
		return;
	}
	gap.tv_sec = (due - now) / 1000;
	gap.tv_usec = (due - now) % 1000 * 1000;
	event_add(s->on_gap, &gap);
}

static void
on_gap(evutil_socket_t fd, short what, void *arg)
{
	supervise_start(arg);
}

void
supervise_send(struct supervise *s, const struct launch_msg *m, const int *fds)
{
	int error;

	if (s->sock == -1)
		return;
	error = launch_send(s->sock, LAUNCH_TO_SUPERVISORD, m, fds);
	/* A full socket: hundreds of messages unread, it hangs. */
	if (error != 0)
		link_break(s, launch_type_name(m->type), error);
}

void
supervise_stop(struct supervise *s)
{
	s->stopping = true;
	event_del(s->on_gap);
	if (s->pid != 0)
		pidfd_send_signal(s->pidfd, SIGTERM, NULL, 0);
}

void
supervise_kill(struct supervise *s)
{
	if (s->pid != 0)
		pidfd_send_signal(s->pidfd, SIGKILL, NULL, 0);
}

bool
supervise_runs(const struct supervise *s)
{
	return s->pid != 0;
}

struct supervise *
supervise_new(struct event_base *base, const struct spawn_env *env,
    const struct options *options, const struct sockets *sockets,
    const struct supervise_callbacks *cb)
{
	struct supervise *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->base = base;
	s->env = env;
	s->options = options;
	s->sockets = sockets;
	s->cb = cb;
	s->sock = s->pidfd = -1;
	s->on_gap = evtimer_new(base, on_gap, s);
	if (s->on_gap == NULL) {
		free(s);
		return NULL;
	}
	return s;
}

void
supervise_free(struct supervise **supervise)
{
	struct supervise *s = *supervise;

	*supervise = NULL;
	if (s == NULL)
		return;
	ASSERT(s->pid == 0);
	link_close(s);
	event_free(s->on_gap);
	free(s);
}
