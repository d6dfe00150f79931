/*
 * browsertaskd, the launcher: parent of everything. Holds the privilege to
 * change uids and to make namespaces (as root, or through user namespaces as
 * an ordinary user) and therefore reads nothing but fixed-size structs from
 * processes it started itself. It has no policy, and never touches the
 * network, the run store or a byte of a client.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "confine/confine.h"
#include "launcher/cells.h"
#include "launcher/confine.h"
#include "launcher/dirs.h"
#include "launcher/egress.h"
#include "launcher/notify.h"
#include "launcher/options.h"
#include "launcher/programs.h"
#include "launcher/protect.h"
#include "launcher/reload.h"
#include "launcher/secrets.h"
#include "launcher/sockets.h"
#include "launcher/stored.h"
#include "launcher/supervise.h"
#include "launcher/uidblock.h"
#include "launcher/watchdog.h"

#define STOP_GRACE_S 3

struct instance {
	struct options options;
	struct dirs dirs;
	struct sockets sockets;
	struct programs programs;
	struct spawn_env env;
	struct cgroups groups;
	struct protect protect;
	struct event_base *base;
	struct event *on_signal;
	struct event *on_grace;
	struct cells *cells;
	struct secrets *secrets;
	struct supervise *supervise;
	struct egress *egress;
	struct watchdog *watchdog;
	int sigfd;
	bool terminal; /* started in one */
	bool serving;
	bool stopping;
	int exit_code;
};

static void
instance_stop(struct instance *in, int exit_code)
{
	const struct timeval grace = { STOP_GRACE_S, 0 };

	if (in->stopping)
		return;
	in->stopping = true;
	in->exit_code = exit_code;
	notify_systemd("STOPPING=1");
	supervise_stop(in->supervise);
	egress_stop(in->egress);
	event_add(in->on_grace, &grace);
	if (!supervise_runs(in->supervise))
		event_active(in->on_grace, EV_TIMEOUT, 1);
}

/* The next thing to do once supervisord and all of its cells are gone. */
static void
instance_settle(struct instance *in)
{
	if (supervise_runs(in->supervise) || cells_count(in->cells) > 0)
		return;
	if (in->stopping)
		event_base_loopbreak(in->base);
	else
		supervise_start(in->supervise);
}

/* systemd (Type=notify-reload) takes no time before the one it asked at. */
static void
instance_reload(struct instance *in)
{
	const struct reload reload = { &in->options, &in->dirs, &in->sockets,
		in->supervise, in->egress };
	char state[64];

	if (in->stopping)
		return;
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
	    (long long)(clock_mono_ms() + 1) * 1000);
	if (in->serving)
		notify_systemd(state);
	reload_settings(&reload);
	if (in->serving)
		notify_systemd("READY=1");
}

/* It was started in a terminal, and somebody closed that. */
static bool
instance_hung_up(const struct instance *in)
{
	return in->terminal && !isatty(STDERR_FILENO);
}

static void
on_signal(evutil_socket_t fd, short what, void *arg)
{
	struct instance *in = arg;
	struct signalfd_siginfo info;

	if (read(in->sigfd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP && !instance_hung_up(in)) {
		instance_reload(in);
		return;
	}
	/* Told twice: no grace. */
	if (in->stopping)
		event_active(in->on_grace, EV_TIMEOUT, 1);
	log_info("stopping on signal %u", info.ssi_signo);
	instance_stop(in, EXIT_STOPPED);
}

static void
on_grace(evutil_socket_t fd, short what, void *arg)
{
	struct instance *in = arg;

	supervise_kill(in->supervise);
	cells_kill_all(in->cells);
	instance_settle(in);
}

/* Secrets that were lost are an end of file: the worker finds none. */
static int
instance_give(struct instance *in, const struct launch_msg *m)
{
	struct launch_msg missing;
	int fd;

	launch_msg_init(&missing, LAUNCH_SECRET_MISSING, m->cell_id);
	fd = secrets_take(in->secrets, &m->u.secret.run, &missing.u.missing);
	if (missing.u.missing.name[0] != '\0') {
		supervise_send(in->supervise, &missing, NULL);
		return 0;
	}
	if (fd == -1)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	cells_feed(in->cells, m->cell_id, fd);
	fd_close(&fd);
	return 0;
}

static int
instance_add_stored(struct instance *in, const struct launch_secret_ref *ref)
{
	off_t size = 0;
	int fd = -1, error;

	error = stored_open(&in->options, ref->uid, ref->name, &fd, &size);
	secrets_add(in->secrets, ref, fd, size, error);
	fd_close(&fd);
	return 0;
}

static int
on_message(void *arg, const struct launch_msg *m, int fd)
{
	struct instance *in = arg;

	if (m->type == LAUNCH_SECRET)
		return secrets_keep(in->secrets, &m->u.secret.run, fd);
	if (m->type == LAUNCH_SECRET_REF)
		return instance_add_stored(in, &m->u.ref);
	if (m->type == LAUNCH_SECRET_GIVE)
		return instance_give(in, m);
	if (m->type == LAUNCH_SECRET_DROP) {
		secrets_drop(in->secrets, &m->u.secret.run);
		return 0;
	}
	if (m->type == LAUNCH_PONG) {
		watchdog_answered(in->watchdog);
		return 0;
	}
	if (m->type == LAUNCH_UNNEEDED) {
		instance_stop(in, EXIT_STOPPED);
		return 0;
	}
	if (m->type != LAUNCH_SERVING)
		return cells_obey(in->cells, m);
	in->serving = true;
	notify_systemd("READY=1");
	notify_ready_fd(&in->options.ready_fd);
	return 0;
}

static void
on_supervisord_started(void *arg)
{
	struct instance *in = arg;

	protect_tell(&in->protect, in->supervise);
	egress_connect(in->egress);
}

static void
on_egressd_started(void *arg)
{
	struct instance *in = arg;

	cells_tell_listeners(in->cells);
}

static void
on_supervisord_ended(void *arg)
{
	struct instance *in = arg;

	cells_kill_all(in->cells);
	secrets_clear(in->secrets);
	instance_settle(in);
}

static void
on_given_up(void *arg, int exit_code)
{
	instance_stop(arg, exit_code);
}

static void
on_cell_message(void *arg, const struct launch_msg *m, const int *fds)
{
	struct instance *in = arg;

	supervise_send(in->supervise, m, fds);
}

static void
on_cell_listener(void *arg, uint32_t cell_id, int fd)
{
	struct instance *in = arg;

	egress_listen(in->egress, cell_id, fd);
}

static void
on_cell_gone(void *arg, uint32_t cell_id)
{
	struct instance *in = arg;

	egress_gone(in->egress, cell_id);
}

static void
on_cell_reaped(void *arg)
{
	instance_settle(arg);
}

static int
instance_probe(struct instance *in)
{
	in->env.self_pidfd = pidfd_open(getpid(), 0);
	if (in->env.self_pidfd == -1) {
		log_err("pidfd_open: %s: a kernel of 5.12 or newer is needed",
		    strerror(errno));
		return EXIT_SYSTEM;
	}
	protect_probe(&in->protect, &in->env);
	return protect_admit(&in->protect);
}

/* Without, cells look at themselves, which is slower and less exact. */
static void
instance_group(struct instance *in)
{
	char why[GROUP_WHY_BYTES];

	if (cgroups_open(&in->groups, why))
		log_info("runs are held to their limits by control groups");
	else {
		log_info(
		    "the control group of the service is not used: %s", why);
		protect_note(&in->protect, PROTECTION_CONTROL_GROUPS,
		    PROTECTION_WEAKER, "the cell looks in its place: %s", why);
	}
	in->env.groups = &in->groups;
}

/* Everything that can be refused, in an order that harms nobody else. */
static int
instance_open(struct instance *in)
{
	uid_t base = 0;
	int code;

	code = dirs_open(&in->dirs, &in->options);
	if (code == 0 && in->options.system) {
		code =
		    uidblock_lock(&in->options.settings, in->dirs.owner, &base);
		if (code == 0)
			code = uidblock_sweep(base);
		if (code == 0)
			code = dirs_give(&in->dirs, base + UID_SUPERVISORD);
	}
	if (code == 0)
		code = sockets_open(&in->sockets, &in->dirs, &in->options);
	if (code == 0)
		code = programs_open(&in->programs, &in->options);
	if (code != 0)
		return code;
	instance_group(in);
	in->env.dirs = &in->dirs;
	in->env.programs = &in->programs;
	in->env.conf = in->options.conf;
	in->env.system = in->options.system;
	in->env.uid_base = base;
	return instance_probe(in);
}

static int
instance_signals(struct instance *in)
{
	sigset_t mask;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) == -1)
		return errno;
	in->sigfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return in->sigfd == -1 ? errno : 0;
}

static int
instance_events(struct instance *in, const struct cells_callbacks *cells,
    const struct supervise_callbacks *supervise,
    const struct egress_callbacks *egress)
{
	in->base = event_base_new();
	if (in->base == NULL)
		return ENOMEM;
	in->on_signal =
	    event_new(in->base, in->sigfd, EV_READ | EV_PERSIST, on_signal, in);
	in->on_grace = evtimer_new(in->base, on_grace, in);
	in->cells = cells_new(in->base, &in->env, cells);
	in->secrets = secrets_new();
	in->supervise = supervise_new(
	    in->base, &in->env, &in->options, &in->sockets, supervise);
	in->egress = egress_new(in->base, &in->env, &in->options, egress);
	in->watchdog = watchdog_new(in->base, in->supervise);
	if (in->watchdog == NULL || in->on_signal == NULL ||
	    in->on_grace == NULL || in->cells == NULL || in->secrets == NULL ||
	    in->supervise == NULL || in->egress == NULL ||
	    event_add(in->on_signal, NULL) == -1)
		return ENOMEM;
	return 0;
}

static void
instance_close(struct instance *in)
{
	sockets_unlink(&in->sockets, &in->dirs);
	egress_free(&in->egress);
	watchdog_free(&in->watchdog);
	supervise_free(&in->supervise);
	cells_free(&in->cells);
	secrets_free(&in->secrets);
	event_free(in->on_signal);
	event_free(in->on_grace);
	event_base_free(in->base);
}

static int
instance_run(struct instance *in)
{
	const struct cells_callbacks cells = { on_cell_message,
		on_cell_listener, on_cell_gone, on_cell_reaped, in };
	const struct supervise_callbacks supervise = { on_message,
		on_supervisord_started, on_supervisord_ended, on_given_up, in };
	const struct egress_callbacks egress = { on_cell_message,
		on_egressd_started, in };
	int error;

	error = instance_signals(in);
	if (error == 0)
		error = instance_events(in, &cells, &supervise, &egress);
	if (error != 0) {
		log_err("cannot start: %s", strerror(error));
		return EXIT_SYSTEM;
	}
	egress_start(in->egress);
	supervise_start(in->supervise);
	if (event_base_dispatch(in->base) == -1)
		fatal("event loop failed");
	instance_close(in);
	return in->exit_code;
}

/* What whoever starts this program may have left in disorder. */
static void
instance_tidy(void)
{
	if (fd_open_standard() != 0)
		exit(EXIT_SYSTEM);
	/* Ignored, it would make the kernel forget how children ended. */
	signal(SIGCHLD, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
}

/* For all programs: they are of the same build. */
static void
instance_confine(struct instance *in)
{
	int error = launcher_confine();

	protect_init(&in->protect, in->options.settings.waive);
	if (error != 0)
		protect_note(&in->protect, PROTECTION_CALL_FILTERS,
		    PROTECTION_OFF, "cannot load a filter of system calls: %s",
		    strerror(error));
	if (confine_absence() != NULL)
		log_info("this build does not confine itself: %s",
		    confine_absence());
}

int
main(int argc, char **argv)
{
	static struct instance in;
	int code;

	instance_tidy();
	in.terminal = isatty(STDERR_FILENO);
	log_init("browsertaskd", LOGL_INFO);
	if (!options_parse(&in.options, argc, argv, &code))
		return code;
	if (in.options.settings.debug)
		log_init("browsertaskd", LOGL_DEBUG);
	notify_init();
	instance_confine(&in);
	umask(022);
	code = instance_open(&in);
	umask(077);
	return code != 0 ? code : instance_run(&in);
}
