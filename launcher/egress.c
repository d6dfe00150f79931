/*
 * egress: starts egressd, hands it the listeners of the cells' networks and a
 * socket towards supervisord, and starts it again when it ends: only what it
 * was carrying is lost then. Runs in the launcher.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "launcher/child.h"
#include "launcher/clone.h"
#include "launcher/damping.h"
#include "launcher/egress.h"
#include "launcher/names.h"
#include "launcher/pulse.h"
#include "launcher/uidblock.h"

#define REST_S 30 /* when it ends too often */

/* The settings that are its matter. */
static const char *const settings_told[] = { "debug", "resolver",
	"upstreamProxy", "allowedDomains", "forbiddenDomains", "localDomains" };

struct egress {
	struct event_base *base;
	const struct spawn_env *env;
	const struct options *options;
	const struct egress_callbacks *cb;
	struct child child;
	struct pulse *pulse;
	struct event *on_due; /* the time of the next start */
	bool stopping;
	bool connected; /* supervisord is there to be told */
	struct damping damping;
	struct names *names; /* NULL: changes are not seen */
};

static void
process_kill(struct egress *e)
{
	child_unlink(&e->child);
	child_signal(&e->child, SIGKILL);
}

/* All that it says is that it is alive; else it is an end or a mistake. */
static void
on_readable(void *arg)
{
	struct egress *e = arg;
	struct launch_msg m;
	int error;

	error = launch_recv(e->child.sock, LAUNCH_FROM_EGRESSD, &m, NULL);
	if (error == 0)
		pulse_answered(e->pulse);
	else if (error != EAGAIN)
		process_kill(e);
}

static void
on_end(void *arg, int status)
{
	struct egress *e = arg;

	if (e->stopping)
		log_debug("egressd has ended");
	else if (WIFSIGNALED(status))
		log_err("egressd was ended by signal %d (%s)", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	else
		log_err("egressd ended with status %d", WEXITSTATUS(status));
	child_forget(&e->child);
	egress_start(e);
}

static void
egress_send(struct egress *e, const struct launch_msg *m, const int *fd)
{
	int error;

	if (e->child.sock == -1)
		return;
	error = child_send(&e->child, LAUNCH_TO_EGRESSD, m, fd);
	if (error == 0)
		return;
	/* A full socket: hundreds of messages unread, it hangs. */
	log_err("egressd: %s: %s", launch_type_name((enum launch_type)m->type),
	    strerror(error));
	process_kill(e);
}

static void
ask(void *arg)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_PING, 0);
	egress_send(arg, &m, NULL);
}

/* From clone to exec; returns only on failure. */
static int
become(void *arg, int link)
{
	struct egress *e = arg;
	uid_t uid = e->env->uid_base + UID_EGRESSD;
	const char *argv[5] = { "egressd" };
	size_t n = 1;
	char base[16], *environment[SPAWN_ENVIRONMENT_MAX];
	int fds[4], null, program, error;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1)
		return errno;
	fds[0] = fds[1] = null;
	fds[2] = STDERR_FILENO;
	fds[3] = link;
	if (e->env->system) {
		snprintf(
		    base, sizeof(base), "%u", (unsigned int)e->env->uid_base);
		argv[n++] = "-u";
		argv[n++] = base;
		if (setgroups(0, NULL) == -1 ||
		    setresgid(uid, uid, uid) == -1 ||
		    setresuid(uid, uid, uid) == -1)
			return errno;
	}
	if (spawn_waives(e->env, PROTECTION_CALL_FILTERS))
		argv[n] = "-w";
	error = clone_die_with_parent(e->env->self_pidfd);
	if (error != 0)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	error = clone_set_fds(fds, 4, e->env->programs->egressd, &program);
	if (error != 0)
		return error;
	spawn_environment(environment);
	return clone_become(program, argv, environment);
}

/* It reads no file, and what may hold a password is in no arguments. */
static void
tell_settings(struct egress *e)
{
	char value[SETTINGS_VALUE_BYTES];

	for (size_t i = 0; i < sizeof(settings_told) / sizeof(settings_told[0]);
	     i++) {
		size_t row = (size_t)settings_index(settings_told[i]);

		if (settings_is_default(&e->options->settings, row))
			continue;
		settings_format(&e->options->settings, row, value);
		egress_setting(e, settings_told[i], value);
	}
	explicit_bzero(value, sizeof(value));
}

static void
tell_names(void *arg)
{
	struct egress *e = arg;
	struct launch_msg m;
	int fds[NAMES_FILES];

	if (e->child.sock == -1 || names_copy(fds) != 0)
		return;
	launch_msg_init(&m, LAUNCH_EGRESS_NAMES, 0);
	egress_send(e, &m, fds);
	for (size_t i = 0; i < NAMES_FILES; i++)
		close(fds[i]);
}

static void
start_now(struct egress *e)
{
	damping_started(&e->damping, clock_mono_ms());
	if (child_start(&e->child) != 0) {
		egress_start(e);
		return;
	}
	tell_names(e);
	tell_settings(e);
	e->cb->started(e->cb->arg);
	if (e->connected)
		egress_connect(e);
}

static void
start_later(struct egress *e, int64_t ms)
{
	const struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(e->on_due, &tv);
}

static void
tell_down(struct egress *e)
{
	struct launch_msg m;

	log_err("egressd ended %d times within %d s: no run has a network, "
		"trying again in %d s",
	    DAMPING_STARTS, DAMPING_MS / 1000, REST_S);
	launch_msg_init(&m, LAUNCH_EGRESS_DOWN, 0);
	e->cb->send(e->cb->arg, &m, NULL);
}

void
egress_start(struct egress *e)
{
	int64_t now = clock_mono_ms(), due;

	if (e->child.pid != 0 || e->stopping)
		return;
	due = damping_due_ms(&e->damping, now);
	if (due == 0) {
		start_now(e);
	} else if (due > 0) {
		start_later(e, due - now);
	} else {
		tell_down(e);
		start_later(e, REST_S * 1000);
	}
}

static void
on_due(evutil_socket_t fd, short what, void *arg)
{
	egress_start(arg);
}

void
egress_stop(struct egress *e)
{
	e->stopping = true;
	event_del(e->on_due);
}

void
egress_connect(struct egress *e)
{
	struct launch_msg m;
	int pair[2];

	e->connected = true;
	if (e->child.sock == -1)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) == -1) {
		log_err("egressd: no link: %s", strerror(errno));
		process_kill(e);
		return;
	}
	launch_msg_init(&m, LAUNCH_EGRESS_LINK, 0);
	egress_send(e, &m, &pair[0]);
	launch_msg_init(&m, LAUNCH_EGRESS, 0);
	e->cb->send(e->cb->arg, &m, &pair[1]);
	close(pair[0]);
	close(pair[1]);
}

void
egress_listen(struct egress *e, uint32_t cell_id, int fd)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_EGRESS_LISTENER, cell_id);
	egress_send(e, &m, &fd);
}

void
egress_gone(struct egress *e, uint32_t cell_id)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_EGRESS_GONE, cell_id);
	egress_send(e, &m, NULL);
}

void
egress_setting(struct egress *e, const char *name, const char *value)
{
	struct launch_msg m;

	for (size_t i = 0; i < sizeof(settings_told) / sizeof(settings_told[0]);
	     i++) {
		if (strcmp(settings_told[i], name) != 0)
			continue;
		launch_msg_init(&m, LAUNCH_SETTING, 0);
		strlcpy(m.u.setting.name, name, sizeof(m.u.setting.name));
		strlcpy(m.u.setting.value, value, sizeof(m.u.setting.value));
		egress_send(e, &m, NULL);
		explicit_bzero(&m, sizeof(m));
	}
}

static const struct child_ops ops = { become, on_readable, on_end };

void
egress_carry(const struct egress *e, struct carry *c)
{
	if (e->child.pid == 0 || e->child.sock == -1)
		return;
	c->egressd = e->child.pid;
	c->egressd_pidfd = e->child.pidfd;
	c->egressd_sock = e->child.sock;
}

int
egress_resume(struct egress *e, const struct carry *c)
{
	if (c->egressd == 0) {
		egress_start(e);
		return 0;
	}
	return child_take(
	    &e->child, c->egressd, c->egressd_pidfd, c->egressd_sock);
}

void
egress_end(struct egress *e)
{
	child_end(&e->child);
}

struct egress *
egress_new(struct event_base *base, const struct spawn_env *env,
    const struct options *options, const struct egress_callbacks *cb)
{
	struct egress *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->base = base;
	e->env = env;
	e->options = options;
	e->cb = cb;
	child_init(&e->child, base, "egressd", &ops, e);
	e->pulse =
	    pulse_new(base, &e->child, &options->settings.hangMs, ask, e);
	e->on_due = evtimer_new(base, on_due, e);
	if (e->pulse == NULL || e->on_due == NULL) {
		egress_free(&e);
		return NULL;
	}
	e->names = names_new(base, tell_names, e);
	if (e->names == NULL)
		log_warn("changes of resolv.conf and hosts are not seen: %s",
		    strerror(errno));
	return e;
}

void
egress_free(struct egress **egress)
{
	struct egress *e = *egress;

	*egress = NULL;
	if (e == NULL)
		return;
	e->stopping = true;
	child_end(&e->child);
	pulse_free(&e->pulse);
	if (e->on_due != NULL)
		event_free(e->on_due);
	names_free(&e->names);
	free(e);
}
