/*
 * start: from fork to exec of the worker and the browser. Runs in the cell,
 * and in its children until they are what they should be. Each gives up every
 * privilege before it becomes another program, and keeps only the descriptors
 * of its table.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cell/caps.h"
#include "cell/fds.h"
#include "cell/flags.h"
#include "cell/start.h"
#include "common/fdio.h"
#include "common/log.h"
#include "confine/rows.h"
#include "model/protections.h"

/* Beyond every number that a child's table uses. */
#define FD_ASIDE     32
#define WORKER_FDS   7
#define BROWSER_FDS  5
#define EXIT_NO_EXEC 127
/* What is not niced weighs three times as much. */
#define BROWSER_NICE 5
/* What each process of the browser reserves and never uses. */
#define RESERVED_BYTES ((rlim_t)1 << 30)
/*
 * V8 takes its room for code as an eighth of the limit on data, and ends the
 * process when that is no number of pages.
 */
#define DATA_GRAIN ((rlim_t)1 << 20)

/*
 * Gives the child descriptors 0..n-1 as listed; all others vanish at exec.
 * Copies are made aside first, since sources and targets overlap.
 */
static int
child_fds(const int *from, int n)
{
	int aside[WORKER_FDS];

	for (int i = 0; i < n; i++) {
		aside[i] = fcntl(from[i], F_DUPFD_CLOEXEC, FD_ASIDE);
		if (aside[i] == -1)
			return errno;
	}
	for (int i = 0; i < n; i++)
		if (dup2(aside[i], i) == -1)
			return errno;
	if (close_range((unsigned int)n, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		return errno;
	return 0;
}

static int
child_ids(uint32_t id)
{
	if (setgroups(0, NULL) == -1 || setresgid(id, id, id) == -1 ||
	    setresuid(id, id, id) == -1)
		return errno;
	return 0;
}

/* What both children do before exec. PDEATHSIG comes after the new uid. */
static int
child_confine(const struct launch_start *start, uint32_t id)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) == -1 || setsid() == -1)
		return errno;
	if (start->change_ids) {
		error = child_ids(id);
		if (error == 0)
			error = caps_drop();
		if (error != 0)
			return error;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	return 0;
}

/*
 * Pages compute as long as they like, and whoever asks the service is answered
 * meanwhile. Where the kernel gives each session a share of its own, this weighs
 * within one only; the share stays whole, else browsers would come behind
 * everything else on the machine, too.
 */
static void
browser_give_way(void)
{
	/* No boundary: where it is refused, things go on. */
	errno = 0;
	if (nice(BROWSER_NICE) == -1 && errno != 0)
		log_debug("nice: %s", strerror(errno));
}

static _Noreturn void
child_exec(int program, const char *name, const char *const *argv, char **env)
{
	/* execveat changes neither; its prototype is older than const. */
	execveat(
	    program, "", (char *const *)(uintptr_t)argv, env, AT_EMPTY_PATH);
	log_err("cannot execute %s: %s", name, strerror(errno));
	_exit(EXIT_NO_EXEC);
}

static _Noreturn void
child_give_up(const char *name, int error)
{
	log_err("cannot prepare %s: %s", name, strerror(error));
	_exit(EXIT_NO_EXEC);
}

static _Noreturn void
become_worker(
    const struct launch_start *start, unsigned int generation, int secrets)
{
	char number[16];
	const char *argv[5] = { "workerd" };
	size_t n = 1;
	int fds[WORKER_FDS] = { 0, 1, 2, CELL_FD_WORKER_IPC,
		CELL_FD_WORKER_CDP_IN, CELL_FD_WORKER_CDP_OUT, secrets };
	int program, error;

	program = fcntl(CELL_FD_WORKER_PROGRAM, F_DUPFD_CLOEXEC, FD_ASIDE);
	error = program == -1 ? errno : child_fds(fds, WORKER_FDS);
	if (error == 0)
		error = child_confine(start, start->worker_uid);
	if (error != 0)
		child_give_up("worker", error);
	if (start->flags & SPAWN_DESCRIBE) {
		argv[n++] = "--describe";
	} else if (generation > 0) {
		snprintf(number, sizeof(number), "%u", generation);
		argv[n++] = "--generation";
		argv[n++] = number;
	}
	if ((start->waived & UINT32_C(1) << PROTECTION_CALL_FILTERS) != 0)
		argv[n] = "--unfiltered";
	child_exec(program, "worker", argv, environ);
}

static int
limit_lower(__rlimit_resource_t resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) == -1)
		return errno;
	if (limit.rlim_max <= most)
		most = limit.rlim_max;
	limit.rlim_cur = limit.rlim_max = most;
	return setrlimit(resource, &limit) == -1 ? errno : 0;
}

/*
 * What one process may do between two looks at all of them. A page that needs
 * more memory than the whole run may use crashes, alone; a file in memory,
 * mapped or not, is no larger. Threads are counted by uid in this user
 * namespace and those below it; a browser that may start no more of them
 * crashes, so that there is room for the cell to see it come.
 */
static int
limit_browser(const struct launch_limits *l)
{
	rlim_t data = l->memory + RESERVED_BYTES;
	int error = limit_lower(RLIMIT_DATA, data - data % DATA_GRAIN);

	if (error == 0)
		error = limit_lower(RLIMIT_FSIZE, l->memory);
	if (error == 0)
		error = limit_lower(RLIMIT_NPROC, 2 * (rlim_t)l->processes);
	return error;
}

static const struct confine_call browser_calls[] = {
#include "cell/browser_calls.def"
};

/* Where the kernel keeps nobody apart, uids have to do. */
static int
browser_confine(void)
{
	const struct confine_table table = { browser_calls,
		sizeof(browser_calls) / sizeof(browser_calls[0]),
		CONFINE_ALLOW };
	int abi, error = confine_apart(&abi);

	if (error == 0 || error == EOPNOTSUPP)
		error = confine_filter(&table);
	return error;
}

static _Noreturn void
become_browser(const struct launch_start *start)
{
	static const int fds[BROWSER_FDS] = { 0, 1, 2, CELL_FD_BROWSER_CDP_IN,
		CELL_FD_BROWSER_CDP_OUT };
	char home[LAUNCH_PATH_BYTES + 8], dir_arg[LAUNCH_PATH_BYTES + 32];
	char path[] = "PATH=/usr/bin:/bin", lang[] = "LANG=C.UTF-8";
	char session[] = "DBUS_SESSION_BUS_ADDRESS=disabled:";
	char system[] = "DBUS_SYSTEM_BUS_ADDRESS=disabled:";
	char zone[256];
	char *env[] = { home, path, lang, session, system, NULL, NULL };
	const char *argv[FLAGS_MAX];
	int program, error;

	snprintf(home, sizeof(home), "HOME=%s", start->profile_dir);
	if (getenv("TZ") != NULL &&
	    snprintf(zone, sizeof(zone), "TZ=%s", getenv("TZ")) <
		(int)sizeof(zone))
		env[sizeof(env) / sizeof(env[0]) - 2] = zone;
	flags_fill(
	    start->browser, start->flags, start->profile_dir, dir_arg, argv);
	program = fcntl(CELL_FD_BROWSER_PROGRAM, F_DUPFD_CLOEXEC, FD_ASIDE);
	error = program == -1 ? errno : child_fds(fds, BROWSER_FDS);
	if (error == 0)
		error = limit_browser(&start->limits);
	browser_give_way();
	if (error == 0)
		error = child_confine(start, start->browser_uid);
	if (error == 0)
		error = browser_confine();
	if (error != 0)
		child_give_up("browser", error);
	child_exec(program, "browser", argv, env);
}

int
start_worker(const struct launch_start *start, unsigned int generation,
    int secrets, pid_t *ret_pid)
{
	pid_t pid = fork();

	if (pid == -1)
		return errno;
	if (pid == 0)
		become_worker(start, generation, secrets);
	*ret_pid = pid;
	return 0;
}

int
start_browser(const struct launch_start *start, pid_t *ret_pid)
{
	pid_t pid = fork();

	if (pid == -1)
		return errno;
	if (pid == 0)
		become_browser(start);
	*ret_pid = pid;
	return 0;
}
