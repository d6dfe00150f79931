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
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/panic.h"
#include "launcher/child.h"
#include "launcher/clone.h"
#include "launcher/damping.h"
#include "launcher/pulse.h"
#include "launcher/supervise.h"
#include "launcher/uidblock.h"

struct supervise {
	struct event_base *base;
	const struct spawn_env *env;
	const struct options *options;
	const struct sockets *sockets;
	const struct supervise_callbacks *cb;
	const char *argv[6 + 2 * SETTINGS_COUNT];
	char assignments[SETTINGS_COUNT]
			[SETTINGS_NAME_BYTES + SETTINGS_VALUE_BYTES];
	struct child child;
	struct pulse *pulse;
	struct event *on_gap;  /* the time to the next start is over */
	struct event *on_late; /* it should have ended by now */
	bool stopping;
	bool restarting;
	struct damping damping;
};

/* What breaks the protocol is not heard any more: it goes. */
static void
link_break(struct supervise *s, const char *what, int error)
{
	log_err("supervisord: %s: %s", what, strerror(error));
	child_unlink(&s->child);
	supervise_kill(s);
}

/* It is to end by itself; not for ever. */
static void
await_end(struct supervise *s)
{
	const struct timeval limit = { SUPERVISE_END_MS / 1000,
		SUPERVISE_END_MS % 1000 * 1000 };

	if (!evtimer_pending(s->on_late, NULL) &&
	    evtimer_add(s->on_late, &limit) == -1)
		supervise_kill(s);
}

/* Takes one message; 0, EAGAIN, EPIPE, or what the link was broken for. */
static int
take_one(struct supervise *s)
{
	int fds[LAUNCH_MAX_FDS], error;
	struct launch_msg m;

	error = launch_recv(s->child.sock, LAUNCH_FROM_SUPERVISORD, &m, fds);
	if (error == EAGAIN || error == EPIPE)
		return error;
	if (error == 0)
		error = s->cb->message(s->cb->arg, &m, fds[0]);
	if (error != 0 && s->child.sock != -1)
		link_break(s, "broken link", error);
	return error;
}

/*
 * What it said last holds, secrets for one, even if it does not live any more.
 * One that leaves something unread makes the first read fail, and only that.
 */
static void
take_rest(struct supervise *s)
{
	int error, ends = 0;

	while (s->child.sock != -1 && ends < 2) {
		error = take_one(s);
		if (error == EPIPE)
			ends++;
		else if (error != 0)
			return;
	}
}

static void
on_readable(void *arg)
{
	struct supervise *s = arg;

	if (take_one(s) != EPIPE)
		return;
	/* It is just ending, and writes what it has; if not, it is made to. */
	take_rest(s);
	child_unlink(&s->child);
	if (!s->stopping)
		await_end(s);
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

/* Whether it ended to be started anew: it said so, or did not when asked to. */
static bool
is_restart(struct supervise *s, int status)
{
	bool asked = s->restarting;

	s->restarting = false;
	event_del(s->on_late);
	return !s->stopping &&
	    (asked ||
		(WIFEXITED(status) &&
		    WEXITSTATUS(status) == LAUNCH_EXIT_RESTART));
}

static void
on_end(void *arg, int status)
{
	struct supervise *s = arg;
	bool restart;
	int code;

	/* It may have said last that it ends to be started anew. */
	take_rest(s);
	restart = is_restart(s, status);
	if (restart && WIFEXITED(status) &&
	    WEXITSTATUS(status) == LAUNCH_EXIT_RESTART)
		log_info("supervisord has ended to be started anew");
	else if (!s->stopping ||
	    (status != 0 &&
		!(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)))
		log_end(status);
	child_forget(&s->child);
	code = s->stopping ? 0 : final_code(s, status);
	if (code != 0) {
		s->stopping = true;
		s->cb->given_up(s->cb->arg, code);
		return;
	}
	/* As if it were the first start: this was no crash. */
	if (restart)
		memset(&s->damping, 0, sizeof(s->damping));
	s->cb->ended(s->cb->arg, restart);
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
	if (s->env->dirs->record.text[0] != '\0') {
		s->argv[n++] = "-n";
		s->argv[n++] = s->env->dirs->record.text;
	}
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

/*
 * What a turn of supervisord's loop frees, the next one takes again, and there
 * is more of it than glibc keeps as it is: it would merge and split it.
 */
static char malloc_tunables[] =
    "GLIBC_TUNABLES=glibc.malloc.tcache_count=127:glibc.malloc.tcache_max=2560";

/*
 * Of the launcher's, which is that of whoever started it, with all that lies
 * there, only what is meant for programs of tests.
 */
static void
fill_environment(char *ret_env[SPAWN_ENVIRONMENT_MAX])
{
	static const char prefix[] = "BROWSERTASK_TEST_";
	size_t n = 0;

	spawn_environment(ret_env);
	while (ret_env[n] != NULL)
		n++;
	ret_env[n++] = malloc_tunables;
	for (char **e = environ; *e != NULL && n + 1 < SPAWN_ENVIRONMENT_MAX;
	     e++)
		if (strncmp(*e, prefix, sizeof(prefix) - 1) == 0)
			ret_env[n++] = *e;
	ret_env[n] = NULL;
}

/* From clone to exec; returns only on failure. */
static int
become(void *arg, int link)
{
	struct supervise *s = arg;
	uid_t uid = s->env->uid_base + UID_SUPERVISORD;
	char *environment[SPAWN_ENVIRONMENT_MAX];
	int fds[6], null, program, error;

	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null == -1)
		return errno;
	fds[0] = fds[1] = null;
	fds[2] = STDERR_FILENO;
	fds[3] = link;
	fds[4] = s->sockets->client_fd;
	fds[5] = s->sockets->admin_fd;
	if (s->env->system && dirs_give_again(s->env->dirs, uid) != 0)
		return EACCES;
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
	fill_environment(environment);
	return clone_become(program, s->argv, environment);
}

static const struct child_ops ops = { become, on_readable, on_end };

static void
start_now(struct supervise *s, int64_t now)
{
	damping_started(&s->damping, now);
	fill_argv(s);
	if (child_start(&s->child) == 0) {
		s->cb->started(s->cb->arg);
		return;
	}
	s->stopping = true;
	s->cb->given_up(s->cb->arg, EXIT_CRASHING);
}

void
supervise_start(struct supervise *s)
{
	int64_t now = clock_mono_ms(), due;
	struct timeval gap;

	if (s->child.pid != 0 || s->stopping)
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

bool
supervise_is_last(const struct supervise *s)
{
	return damping_is_last(&s->damping, clock_mono_ms());
}

static void
on_late(evutil_socket_t fd, short what, void *arg)
{
	struct supervise *s = arg;

	log_warn("supervisord does not end%s: it is killed",
	    s->restarting ? " to be started anew" : "");
	supervise_kill(s);
}

void
supervise_leaves(struct supervise *s)
{
	if (s->stopping || s->restarting)
		return;
	s->restarting = true;
	await_end(s);
}

void
supervise_restart(struct supervise *s)
{
	struct launch_msg m;

	if (s->stopping || s->restarting)
		return;
	supervise_leaves(s);
	launch_msg_init(&m, LAUNCH_RESTART, 0);
	supervise_send(s, &m, NULL);
	CRASH_POINT(renew_told);
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

	if (s->child.sock == -1)
		return;
	error = child_send(&s->child, LAUNCH_TO_SUPERVISORD, m, fds);
	/* Its end is noticed elsewhere, with what it said last. */
	if (error == EPIPE)
		return;
	/* A full socket: hundreds of messages unread, it hangs. */
	if (error != 0)
		link_break(s, launch_type_name(m->type), error);
}

static void
ask(void *arg)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_PING, 0);
	supervise_send(arg, &m, NULL);
}

void
supervise_answered(struct supervise *s)
{
	pulse_answered(s->pulse);
}

void
supervise_stop(struct supervise *s)
{
	s->stopping = true;
	event_del(s->on_gap);
	child_signal(&s->child, SIGTERM);
}

void
supervise_kill(struct supervise *s)
{
	child_signal(&s->child, SIGKILL);
}

bool
supervise_runs(const struct supervise *s)
{
	return s->child.pid != 0;
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
	child_init(&s->child, base, "supervisord", &ops, s);
	s->pulse =
	    pulse_new(base, &s->child, &options->settings.hangMs, ask, s);
	s->on_gap = evtimer_new(base, on_gap, s);
	s->on_late = evtimer_new(base, on_late, s);
	if (s->pulse == NULL || s->on_gap == NULL || s->on_late == NULL)
		supervise_free(&s);
	return s;
}

void
supervise_free(struct supervise **supervise)
{
	struct supervise *s = *supervise;

	*supervise = NULL;
	if (s == NULL)
		return;
	ASSERT(s->child.pid == 0);
	pulse_free(&s->pulse);
	if (s->on_gap != NULL)
		event_free(s->on_gap);
	if (s->on_late != NULL)
		event_free(s->on_late);
	free(s);
}
