/*
 * Trying things out for doctor: programs and namespaces, in processes of their
 * own that give up root first, with a time limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "ctl/doctor.h"

/* What is tried must not be possible only because root may do everything. */
static int
become_ordinary(void)
{
	if (geteuid() != 0)
		return 0;
	if (setgroups(0, NULL) == -1 || setgid(DOCTOR_NOBODY) == -1 ||
	    setuid(DOCTOR_NOBODY) == -1)
		return errno;
	return 0;
}

int
doctor_unshare(int flags, bool ordinary)
{
	pid_t pid = fork();
	int status, error;

	if (pid == -1)
		return errno;
	if (pid == 0) {
		error = ordinary ? become_ordinary() : 0;
		if (error == 0 && unshare(flags) == -1)
			error = errno;
		_exit(error);
	}
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

/* "NAME=value": the caller's own, or for an ordinary user the other one. */
static void
put_variable(
    const char *name, bool ordinary, const char *other, char *ret, size_t size)
{
	const char *value = ordinary ? NULL : getenv(name);

	snprintf(ret, size, "%s=%s", name, value != NULL ? value : other);
}

static _Noreturn void
child_exec(const char *path, const char *const *args, bool ordinary, int out)
{
	static char lang[] = "LANG=C.UTF-8", search[] = "PATH=/usr/bin:/bin";
	static char home[PATH_MAX + 8], config[PATH_MAX + 32];
	char *const env[] = { lang, search, home, config, NULL };
	int null = open("/dev/null", O_RDWR);
	char *argv[DOCTOR_ARGS_MAX + 2] = { (char *)(uintptr_t)path };

	put_variable("HOME", ordinary, "/nonexistent", home, sizeof(home));
	put_variable("XDG_CONFIG_HOME", ordinary, "", config, sizeof(config));
	/* execve changes neither; its prototype is older than const. */
	for (int i = 0; i < DOCTOR_ARGS_MAX && args[i] != NULL; i++)
		argv[i + 1] = (char *)(uintptr_t)args[i];

	if (null != -1 && dup2(null, STDIN_FILENO) != -1 &&
	    dup2(ordinary ? null : out, STDERR_FILENO) != -1 &&
	    dup2(out, STDOUT_FILENO) != -1 &&
	    (!ordinary || become_ordinary() == 0)) {
		setpgid(0, 0);
		closefrom(STDERR_FILENO + 1);
		execve(path, argv, env);
	}
	_exit(127);
}

static bool
wait_readable(int fd, int64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int64_t left = end_ms - clock_mono_ms();

	return left > 0 && poll(&p, 1, (int)left) == 1;
}

/* Until end of file, a full buffer, or the time is over. */
static void
read_until(int fd, int64_t end_ms, char *ret_text, size_t size)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len + 1 < size && wait_readable(fd, end_ms)) {
		n = read(fd, ret_text + len, size - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	ret_text[len] = '\0';
}

int
doctor_run(const char *path, const char *const *args, bool ordinary,
    int timeout_ms, char *ret_text, size_t size, int *ret_status)
{
	int64_t end = clock_mono_ms() + timeout_ms;
	int fds[2], pidfd;
	bool ended;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return errno;
	pid = fork();
	if (pid == 0)
		child_exec(path, args, ordinary, fds[1]);
	close(fds[1]);
	if (pid == -1) {
		close(fds[0]);
		return EAGAIN;
	}
	read_until(fds[0], end, ret_text, size);
	close(fds[0]);
	pidfd = pidfd_open(pid, 0);
	ended = pidfd != -1 && wait_readable(pidfd, end);
	if (pidfd != -1)
		close(pidfd);
	/* Whatever it started goes with it. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, ret_status, 0) == -1 && errno == EINTR)
		;
	return ended ? 0 : ETIMEDOUT;
}

bool
doctor_read(const char *path, char *ret_line, size_t size)
{
	FILE *f = fopen(path, "re");
	bool good;

	if (f == NULL)
		return false;
	good = fgets(ret_line, (int)size, f) != NULL;
	fclose(f);
	if (good)
		ret_line[strcspn(ret_line, "\n")] = '\0';
	return good;
}
