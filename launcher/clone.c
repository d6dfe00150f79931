/*
 * clone: the steps common to the start of supervisord and of a cell. Runs in
 * the launcher and, between clone and exec, in its child. The child never
 * touches the event loop: its descriptors are shared with the parent.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/panic.h"
#include "launcher/clone.h"

int
clone_process(uint64_t flags, int group, pid_t *ret_pid, int *ret_pidfd)
{
	struct clone_args args;
	sigset_t all, old;
	int pidfd = -1, error = 0;
	long pid;

	memset(&args, 0, sizeof(args));
	args.flags = flags | CLONE_PIDFD;
	args.pidfd = (uint64_t)(uintptr_t)&pidfd;
	args.exit_signal = SIGCHLD;
	if (group != -1) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)group;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		*ret_pid = 0;
		return 0;
	}
	if (pid == -1)
		error = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (error != 0)
		return error;
	*ret_pid = (pid_t)pid;
	*ret_pidfd = pidfd;
	return 0;
}

int
clone_die_with_parent(int parent_pidfd)
{
	struct pollfd p = { .fd = parent_pidfd, .events = POLLIN };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		return errno;
	/* It may have died before the line above; getppid cannot tell. */
	if (poll(&p, 1, 0) == -1)
		return errno;
	return p.revents != 0 ? ESRCH : 0;
}

int
clone_set_fds(const int *fds, int n, int program, int *ret_program)
{
	int aside[CLONE_FDS_MAX];

	ASSERT(n <= CLONE_FDS_MAX);
	program = fcntl(program, F_DUPFD_CLOEXEC, n);
	if (program == -1)
		return errno;
	for (int i = 0; i < n; i++) {
		aside[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, n);
		if (aside[i] == -1)
			return errno;
	}
	for (int i = 0; i < n; i++)
		if (dup2(aside[i], i) == -1)
			return errno;
	if (close_range((unsigned int)n, ~0U, CLOSE_RANGE_CLOEXEC) == -1)
		return errno;
	*ret_program = program;
	return 0;
}

int
clone_become(int program, const char *const *argv, char **env)
{
	const struct rlimit none = { 0, 0 };
	sigset_t nothing;

	if (setrlimit(RLIMIT_CORE, &none) == -1)
		return errno;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&nothing);
	sigprocmask(SIG_SETMASK, &nothing, NULL);
	execveat(
	    program, "", (char *const *)(uintptr_t)argv, env, AT_EMPTY_PATH);
	return errno;
}
