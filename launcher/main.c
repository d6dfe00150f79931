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
#include "common/crashpoint.h"
#include "common/fdio.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/timers.h"
#include "confine/confine.h"
#include "launcher/confine.h"
#include "launcher/instance.h"
#include "launcher/notify.h"
#include "launcher/reexec.h"
#include "launcher/reload.h"
#include "launcher/uidblock.h"

#define STOP_GRACE_S 3
#define TIMERS       512

void
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

/* The next thing to do once supervisord is gone, and all that goes with it. */
static void
instance_settle(struct instance *in)
{
	if (supervise_runs(in->supervise) || cells_dying(in->cells) > 0)
		return;
	if (in->stopping) {
		/* What a removal cannot do in the grace, the next start has done. */
		if (cells_count(in->cells) == 0 &&
		    (!cells_removing(in->cells) ||
			!evtimer_pending(in->on_grace, NULL)))
			event_base_loopbreak(in->base);
		return;
	}
	if (in->renew) {
		reexec_try(in);
		in->renewal = LAUNCH_RENEWAL_REFUSED;
	}
	in->renew = false;
	supervise_start(in->supervise);
}

/* systemd (Type=notify-reload) takes no time before the one it asked at. */
static void
say_reloading(const struct instance *in)
{
	char state[64];

	if (!in->serving)
		return;
	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%lld",
	    (long long)(clock_mono_ms() + 1) * 1000);
	notify_systemd(state);
}

static void
take_settings(struct instance *in)
{
	const struct reload reload = { &in->options, &in->dirs, &in->sockets,
		in->supervise, in->egress };

	reload_settings(&reload);
}

/*
 * READY=1 follows when the next supervisord serves. What it takes of the settings
 * while it runs the present one takes, so that this is told and audited.
 */
static void
instance_restart(struct instance *in)
{
	if (in->stopping)
		return;
	say_reloading(in);
	take_settings(in);
	in->renew = true;
	CRASH_POINT(renew_asked);
	if (supervise_runs(in->supervise))
		supervise_restart(in->supervise);
	else
		instance_settle(in);
}

static void
instance_reload(struct instance *in)
{
	if (in->stopping)
		return;
	say_reloading(in);
	take_settings(in);
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
	if (info.ssi_signo == SIGUSR2) {
		instance_restart(in);
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

static void
tell_supervisord(void *arg, const struct launch_msg *m)
{
	struct instance *in = arg;

	supervise_send(in->supervise, m, NULL);
}

/* One that hangs is killed first, and what it was offered goes to the next. */
static int64_t
adopt_ms(const struct instance *in)
{
	int64_t hang_ms = in->options.settings.hangMs;

	return 2 * hang_ms > LAUNCH_ADOPT_MS ? 2 * hang_ms : LAUNCH_ADOPT_MS;
}

static void
on_supervisord_started(void *arg)
{
	struct instance *in = arg;
	struct launch_msg end;

	CRASH_POINT(supervisord_started);
	protect_tell(&in->protect, in->supervise);
	launch_msg_init(&end, LAUNCH_ADOPT_END, 0);
	end.u.adopt_end.count = cells_offer(in->cells, adopt_ms(in));
	end.u.adopt_end.inspected = inspect_runs(in->inspect);
	end.u.adopt_end.renewal = in->renewal;
	end.u.adopt_end.last = in->last;
	CRASH_POINT(cells_offered);
	secrets_tell(in->secrets, tell_supervisord, in);
	tell_supervisord(in, &end);
	CRASH_POINT(offers_ended);
	egress_connect(in->egress);
}

static void
on_egressd_started(void *arg)
{
	struct instance *in = arg;

	cells_tell_listeners(in->cells);
}

static void
on_supervisord_ended(void *arg, bool restart)
{
	struct instance *in = arg;

	/* egressd goes on; a supervisord is told all at its start. */
	if (restart && !in->renew)
		take_settings(in);
	in->renew = in->renew || restart;
	in->last = !in->stopping && supervise_is_last(in->supervise);
	if (in->last)
		log_err("supervisord is started once more, without the cells "
			"and runs of before: one of them may be what ends it");
	if (in->stopping || in->last)
		cells_kill_all(in->cells);
	else
		cells_leave(in->cells);
	secrets_leave(in->secrets);
	CRASH_POINT(supervisord_left);
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
instance_signals(struct instance *in)
{
	sigset_t mask;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigaddset(&mask, SIGUSR2);
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
	in->base = loop_new();
	if (in->base == NULL || !timers_reserve(in->base, TIMERS))
		return ENOMEM;
	in->on_signal =
	    event_new(in->base, in->sigfd, EV_READ | EV_PERSIST, on_signal, in);
	in->on_grace = evtimer_new(in->base, on_grace, in);
	in->cells = cells_new(in->base, &in->env, cells);
	in->secrets = secrets_new();
	in->supervise = supervise_new(
	    in->base, &in->env, &in->options, &in->sockets, supervise);
	in->egress = egress_new(in->base, &in->env, &in->options, egress);
	in->watchdog = watchdog_new(in->base);
	in->inspect = inspect_new(in->base, &in->env, instance_inspected, in);
	if (in->inspect == NULL || in->watchdog == NULL ||
	    in->on_signal == NULL || in->on_grace == NULL ||
	    in->cells == NULL || in->secrets == NULL || in->supervise == NULL ||
	    in->egress == NULL || event_add(in->on_signal, NULL) == -1)
		return ENOMEM;
	return 0;
}

static void
instance_close(struct instance *in)
{
	sockets_unlink(&in->sockets, &in->dirs);
	egress_free(&in->egress);
	watchdog_free(&in->watchdog);
	inspect_free(&in->inspect);
	supervise_free(&in->supervise);
	cells_free(&in->cells);
	secrets_free(&in->secrets);
	event_free(in->on_signal);
	event_free(in->on_grace);
	event_base_free(in->base);
}

/* What runs already, and what is still to be started. */
static int
instance_begin(struct instance *in, const struct carry *before)
{
	int error;

	if (before == NULL) {
		egress_start(in->egress);
		supervise_start(in->supervise);
		return 0;
	}
	in->renewal = LAUNCH_RENEWAL_TAKEN;
	secrets_restore(in->secrets, before);
	error = cells_restore(in->cells, before);
	if (error == 0)
		error = egress_resume(in->egress, before);
	if (error == 0)
		error = inspect_resume(in->inspect, before);
	if (error != 0)
		return error;
	CRASH_POINT(carry_restored);
	error = sockets_regroup(&in->sockets, &in->dirs, &in->options.settings);
	if (error != 0)
		log_err("the sockets stay as they are: %s", strerror(error));
	log_info("started anew, with %u cells", (unsigned int)before->ncells);
	supervise_start(in->supervise);
	return 0;
}

static int
instance_run(struct instance *in, const struct carry *before)
{
	const struct cells_callbacks cells = { on_cell_message,
		on_cell_listener, on_cell_gone, on_cell_reaped, in };
	const struct supervise_callbacks supervise = { instance_order,
		on_supervisord_started, on_supervisord_ended, on_given_up, in };
	const struct egress_callbacks egress = { on_cell_message,
		on_egressd_started, in };
	int error;

	error = instance_signals(in);
	if (error == 0)
		error = instance_events(in, &cells, &supervise, &egress);
	if (error == 0)
		error = instance_begin(in, before);
	if (error != 0) {
		log_err("cannot start: %s", strerror(error));
		return EXIT_SYSTEM;
	}
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
	const struct carry *before;
	bool probe;
	int code;

	instance_tidy();
	in.argv = argv;
	in.terminal = isatty(STDERR_FILENO);
	log_init("browsertaskd", LOGL_INFO);
	if (!reexec_before(&before, &probe))
		return EXIT_SYSTEM;
	if (!options_parse(&in.options, argc, argv, before != NULL, &code))
		return code;
	if (in.options.settings.debug && !probe)
		log_init("browsertaskd", LOGL_DEBUG);
	notify_init();
	instance_confine(&in);
	umask(022);
	code = instance_open(&in, before);
	umask(077);
	if (probe)
		CRASH_POINT(probe_opened);
	else if (before != NULL)
		CRASH_POINT(carry_opened);
	return code != 0 || probe ? code : instance_run(&in, before);
}
