/*
 * cell: PID 1 of one compartment. Started by the launcher inside new
 * namespaces; forks one worker and, when asked, one browser, reaps whatever
 * dies, and ends with its worker: then the kernel kills all that is left in
 * the namespace. A kept one forks further workers, one at a time, and ends when
 * neither a worker nor the browser is left. It takes fixed-size messages from
 * the launcher only, holds no secret, decides no policy and never touches the
 * network or a file outside /proc: when all is started, a filter sees to that.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cell/caps.h"
#include "cell/confine.h"
#include "cell/fds.h"
#include "cell/feed.h"
#include "cell/meter.h"
#include "cell/sandbox.h"
#include "cell/start.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "common/log.h"
#include "confine/confine.h"
#include "launch/launch.h"
#include "model/protections.h"

#define CHECK_AGAIN_MS 10

struct cell {
	struct launch_start start;
	pid_t worker;            /* 0: gone, of a kept cell */
	pid_t browser;           /* 0: none, or already gone */
	unsigned int generation; /* of the worker: how many were before it */
	int sigfd;
	struct feed feed; /* of the worker's secrets */
	struct meter meter;
	int64_t check_until_ms; /* an answer to CHECK is due by then; 0: none */
};

static void
cell_send(const struct launch_msg *m)
{
	if (launch_send(CELL_FD_LAUNCHER, LAUNCH_FROM_CELL, m, NULL) != 0)
		_exit(1);
}

static _Noreturn void
cell_fail(const char *stage, int error)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_FAILED, 0);
	m.u.failed.error = error;
	strlcpy(m.u.failed.stage, stage, sizeof(m.u.failed.stage));
	cell_send(&m);
	_exit(1);
}

/*
 * The launcher may have died before this process asked to die with it; then
 * the read of START or the first poll sees the end of file.
 */
static void
cell_die_with_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		cell_fail("PR_SET_PDEATHSIG", errno);
}

static void
cell_prepare(struct cell *cell)
{
	const struct rlimit none = { 0, 0 };
	sigset_t mask;

	cell_die_with_parent();
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		cell_fail("PR_SET_NO_NEW_PRIVS", errno);
	if (prctl(PR_SET_DUMPABLE, 0) == -1)
		cell_fail("PR_SET_DUMPABLE", errno);
	if (setrlimit(RLIMIT_CORE, &none) == -1)
		cell_fail("RLIMIT_CORE", errno);
	for (int fd = 0; fd < CELL_FD__MAX; fd++)
		if (fcntl(fd, F_GETFD) == -1)
			cell_fail("descriptor missing", errno);
	if (fcntl(CELL_FD__MAX, F_GETFD) != -1)
		cell_fail("descriptor too many", EBADF);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	/* Of the pipe to a worker that is gone; nobody reads about it. */
	sigaddset(&mask, SIGPIPE);
	if (sigprocmask(SIG_SETMASK, &mask, NULL) == -1)
		cell_fail("sigprocmask", errno);
	cell->sigfd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (cell->sigfd == -1)
		cell_fail("signalfd", errno);
}

static bool
cell_is_kept(const struct cell *cell)
{
	return (cell->start.flags & SPAWN_KEEP) != 0;
}

static bool
cell_waives(const struct cell *cell, enum protection p)
{
	return (cell->start.waived & UINT32_C(1) << p) != 0;
}

static void
cell_start_worker(struct cell *cell)
{
	int error, secrets;

	error = feed_open(&cell->feed, &secrets);
	if (error != 0)
		cell_fail("pipe of the worker", error);
	error = start_worker(
	    &cell->start, cell->generation, secrets, &cell->worker);
	if (error != 0)
		cell_fail("fork of the worker", error);
	close(secrets);
	close(CELL_FD_WORKER_IPC);
}

static void
cell_start(struct cell *cell)
{
	int error;

	if (cell->start.change_ids)
		for (unsigned long cap = 0; cap <= CAP_LAST_CAP; cap++)
			if (prctl(PR_CAPBSET_DROP, cap) == -1 &&
			    errno != EINVAL)
				cell_fail("PR_CAPBSET_DROP", errno);
	if (cell->start.flags & SPAWN_BROWSER) {
		error = start_browser(&cell->start, &cell->browser);
		if (error != 0)
			cell_fail("fork of the browser", error);
	}
	cell_start_worker(cell);
	close(CELL_FD_BROWSER_CDP_IN);
	close(CELL_FD_BROWSER_CDP_OUT);
	close(CELL_FD_BROWSER_PROGRAM);
	if (!cell_is_kept(cell))
		close(CELL_FD_WORKER_PROGRAM);
}

/*
 * What follows needs hardly a privilege: become nobody, for good, who may kill
 * what is in this cell. Only a kept cell stays able to give a worker its uid.
 */
static void
cell_drop(const struct cell *cell)
{
	uint32_t id = cell->start.cell_uid;
	int error;

	if (!cell->start.change_ids)
		return;
	if (prctl(PR_SET_KEEPCAPS, 1) == -1)
		cell_fail("PR_SET_KEEPCAPS", errno);
	if (setgroups(0, NULL) == -1 || setresgid(id, id, id) == -1 ||
	    setresuid(id, id, id) == -1)
		cell_fail("change of the cell's uid", errno);
	if ((error = caps_keep(cell_is_kept(cell))) != 0)
		cell_fail("change of capabilities", error);
	cell_die_with_parent();
}

static void
cell_report_exit(enum launch_type type, int status)
{
	struct launch_msg m;

	launch_msg_init(&m, type, 0);
	m.u.exited.status = status;
	cell_send(&m);
}

static void
cell_report_usage(const struct launch_usage *usage)
{
	struct launch_msg m;

	launch_msg_init(&m, LAUNCH_USAGE, 0);
	m.u.usage = *usage;
	cell_send(&m);
}

/* What goes beyond a limit ends here, with all processes of the cell. */
static void
cell_meter(struct cell *cell)
{
	int64_t now = clock_mono_ms();
	struct launch_usage usage;
	struct launch_msg m;
	bool over;

	if (meter_wait(&cell->meter, now) != 0)
		return;
	launch_msg_init(&m, LAUNCH_LIMIT, 0);
	over = meter_look(&cell->meter, now, &m.u.breach);
	if (meter_news(&cell->meter, &usage))
		cell_report_usage(&usage);
	if (!over)
		return;
	cell_send(&m);
	_exit(0);
}

/* The last look at a worker that is gone: it is not held to anything. */
static void
cell_meter_last(struct cell *cell)
{
	struct launch_breach ignored;

	if (meter_wait(&cell->meter, INT64_MAX) == -1)
		return;
	meter_look(&cell->meter, clock_mono_ms(), &ignored);
	cell_report_usage(&cell->meter.peak);
	meter_begin(&cell->meter);
}

/* A worker that is gone takes its cell along, unless that is kept. */
static void
cell_worker_ended(struct cell *cell, int status)
{
	cell->worker = 0;
	cell->check_until_ms = 0;
	cell_meter_last(cell);
	cell_report_exit(LAUNCH_WORKER_EXITED, status);
	if (!cell_is_kept(cell) || cell->browser == 0)
		_exit(0);
}

static void
cell_browser_ended(struct cell *cell, int status)
{
	cell->browser = 0;
	cell_report_exit(LAUNCH_BROWSER_EXITED, status);
	if (cell->worker == 0)
		_exit(0);
}

static void
cell_reap(struct cell *cell)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(cell->sigfd, &info, sizeof(info)) > 0)
		continue;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == cell->worker)
			cell_worker_ended(cell, status);
		else if (pid == cell->browser)
			cell_browser_ended(cell, status);
	}
}

/* Answers a CHECK when all renderers are confined or time is up. */
static void
cell_check(struct cell *cell)
{
	struct launch_msg m;
	int error;

	if (cell->check_until_ms == 0)
		return;
	launch_msg_init(&m, LAUNCH_SANDBOX, 0);
	error = sandbox_read(cell->browser, &m.u.sandbox);
	if (error != 0)
		log_err("cannot read /proc: %s", strerror(error));
	else if (!launch_sandbox_is_tight(&m.u.sandbox,
		     !cell_waives(cell, PROTECTION_CALL_FILTERS)) &&
	    clock_mono_ms() < cell->check_until_ms)
		return;
	cell->check_until_ms = 0;
	cell_send(&m);
}

static void
cell_next_worker(struct cell *cell, int ipc)
{
	if (!cell_is_kept(cell) || cell->worker != 0 || ipc == -1 ||
	    fd_move(ipc, CELL_FD_WORKER_IPC) != 0)
		_exit(1);
	cell->generation++;
	cell_start_worker(cell);
}

static void
cell_obey(struct cell *cell)
{
	int fds[LAUNCH_MAX_FDS], error;
	struct launch_msg m;

	error = launch_recv(CELL_FD_LAUNCHER, LAUNCH_TO_CELL, &m, fds);
	if (error != 0)
		_exit(error == EPIPE ? 0 : 1);
	switch (m.type) {
	case LAUNCH_CHECK:
		cell->check_until_ms = clock_mono_ms() + LAUNCH_SETTLE_MS;
		break;
	case LAUNCH_WORKER_START:
		cell_next_worker(cell, fds[LAUNCH_FD_IPC]);
		break;
	case LAUNCH_KILL_WORKER:
		if (cell->worker != 0)
			kill(cell->worker, SIGKILL);
		break;
	case LAUNCH_SECRET_FEED:
		if (!feed_begin(&cell->feed, fds[0]))
			fd_close(&fds[0]);
		break;
	default:
		_exit(1);
	}
}

/* Milliseconds until something is to be done that no event tells of. */
static int
cell_wait(const struct cell *cell)
{
	int ms = meter_wait(&cell->meter, clock_mono_ms());

	if (cell->check_until_ms == 0 || (ms != -1 && ms < CHECK_AGAIN_MS))
		return ms;
	return CHECK_AGAIN_MS;
}

static _Noreturn void
cell_loop(struct cell *cell)
{
	struct pollfd p[] = { { CELL_FD_LAUNCHER, POLLIN, 0 },
		{ cell->sigfd, POLLIN, 0 }, { -1, POLLOUT, 0 } };

	for (;;) {
		p[2].fd = feed_waits(&cell->feed) ? cell->feed.to : -1;
		if (poll(p, 3, cell_wait(cell)) == -1 && errno != EINTR)
			_exit(1);
		if (p[1].revents != 0)
			cell_reap(cell);
		if (p[0].revents != 0)
			cell_obey(cell);
		if (p[2].revents != 0)
			feed_go(&cell->feed);
		cell_check(cell);
		cell_meter(cell);
	}
}

int
main(void)
{
	static struct cell cell;
	char session[ULID_CHARS + 1];
	struct launch_msg m;
	int error;

	log_init("cell", LOGL_INFO);
	feed_init(&cell.feed);
	cell_prepare(&cell);
	error = launch_recv(CELL_FD_LAUNCHER, LAUNCH_TO_CELL, &m, NULL);
	if (error == EPIPE)
		return 0;
	if (error != 0 || m.type != LAUNCH_START)
		cell_fail("START", error != 0 ? error : EPROTO);
	cell.start = m.u.start;
	if (cell_waives(&cell, PROTECTION_CALL_FILTERS))
		confine_filter_waive();
	meter_init(&cell.meter, &cell.start, clock_mono_ms());
	ulid_format(&cell.start.session, session);
	prctl(PR_SET_NAME, "cell");
	setproctitle("session %s", session);
	cell_start(&cell);
	cell_drop(&cell);
	error = cell_confine(cell_is_kept(&cell));
	if (error != 0)
		cell_fail("filter of system calls", error);
	launch_msg_init(&m, LAUNCH_UP, 0);
	cell_send(&m);
	cell_loop(&cell);
}
