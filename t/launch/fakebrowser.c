/*
 * fakebrowser: in place of the headless shell, for tests in which no page is
 * loaded but many browsers are started. Runs in a cell as the browser does,
 * answers every command of its pipe with an empty result, and has one process
 * that looks like a confined renderer: in namespaces of its own, with a filter
 * of system calls. Browser.crash ends it, Hog.NAME has it become the program
 * hog beside it.
 */
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	FD_IN = 3,
	FD_OUT
};

static pid_t
fork_into(unsigned long namespaces)
{
	return (pid_t)syscall(
	    SYS_clone, namespaces | SIGCHLD, NULL, NULL, NULL, 0UL);
}

/* A filter that forbids nothing: that it is there is all that is looked at. */
static void
confine(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1)
		_exit(71);
}

/* Ends with its parent; its arguments are where everybody reads them. */
static _Noreturn void
be_renderer(char *title, size_t room)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	confine();
	memset(title, 0, room);
	(void)snprintf(title, room, "--type=renderer");
	for (;;)
		pause();
}

/* Two PID namespaces further in, as Chromium has them. */
static void
start_renderer(char *title, size_t room)
{
	pid_t outer = fork_into(CLONE_NEWUSER | CLONE_NEWPID);
	pid_t inner;

	if (outer == -1)
		_exit(72);
	if (outer > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	inner = fork_into(CLONE_NEWPID);
	if (inner == 0)
		be_renderer(title, room);
	if (inner == -1)
		_exit(73);
	for (;;)
		pause();
}

static _Noreturn void
become_hog(const char *name)
{
	char path[PATH_MAX], what[32];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 8);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	snprintf(what, sizeof(what), "%.*s", (int)strcspn(name, "\""), name);
	if (slash != NULL) {
		memcpy(slash, "/hog", sizeof("/hog"));
		execl(path, path, what, (char *)NULL);
	}
	_exit(75);
}

static void
answer(const char *command)
{
	const char *id = strstr(command, "\"id\":");
	const char *hog = strstr(command, "\"Hog.");
	char text[200];

	if (hog != NULL)
		become_hog(hog + 5);
	if (strstr(command, "\"Browser.crash\"") != NULL)
		_exit(1);
	if (id == NULL)
		return;
	snprintf(text, sizeof(text),
	    "{\"id\":%ld,\"result\":{\"product\":\"Fake/1\","
	    "\"targetId\":\"T\",\"sessionId\":\"S\"}}",
	    strtol(id + 5, NULL, 10));
	if (write(FD_OUT, text, strlen(text) + 1) == -1)
		_exit(74);
}

int
main(int argc, char **argv)
{
	char *end = argv[argc - 1] + strlen(argv[argc - 1]);
	static char in[65536];
	size_t len = 0;
	ssize_t n;

	start_renderer(argv[0], (size_t)(end - argv[0]));
	while ((n = read(FD_IN, in + len, sizeof(in) - len)) > 0) {
		char *nul;

		len += (size_t)n;
		while ((nul = memchr(in, '\0', len)) != NULL) {
			answer(in);
			len -= (size_t)(nul + 1 - in);
			memmove(in, nul + 1, len);
		}
	}
	return 0;
}
