#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cell/flags.h"
#include "config.h"
#include "live.h"

#define LIVE_UID 64901

static const char *const live_paths[] = {
	[LIVE_SHELL] = CHROMIUM_DIR "/chromium-headless-shell",
	[LIVE_FULL] = CHROMIUM_DIR "/chromium",
	[LIVE_DRAWN] = CHROMIUM_DIR "/chromium-headless-shell",
};

/* Tests reach nobody but this machine. */
#define LIVE_RULES                                                   \
	"--host-resolver-rules=MAP * ^NOTFOUND, EXCLUDE 127.0.0.1, " \
	"EXCLUDE *.localhost"

static const enum launch_browser live_kinds[] = {
	[LIVE_SHELL] = LAUNCH_BROWSER_SHELL,
	[LIVE_FULL] = LAUNCH_BROWSER_FULL,
	[LIVE_DRAWN] = LAUNCH_BROWSER_SHELL,
};

/* The child's part; only returns by exec or _exit. */
static void
live_exec(enum live_program program, const char *dir, int cmd_fd, int answer_fd)
{
	char dir_arg[LAUNCH_PATH_BYTES + 32];
	const char *argv[FLAGS_MAX + 1];
	size_t n = 0, from = 0;
	int null = open("/dev/null", O_RDWR);

	flags_fill(live_kinds[program],
	    program == LIVE_DRAWN ? 0 : SPAWN_TEXT_ONLY, dir, dir_arg, argv);
	/* There is no egressd here to be asked. */
	for (; argv[from] != NULL; from++)
		if (strncmp(argv[from], "--proxy-", 8) != 0)
			argv[n++] = argv[from];
	argv[n] = LIVE_RULES;
	argv[n + 1] = NULL;
	setpgid(0, 0);
	/* Clear of 3 and 4 first, since either may be one of them. */
	cmd_fd = fcntl(cmd_fd, F_DUPFD, 10);
	answer_fd = fcntl(answer_fd, F_DUPFD, 10);
	dup2(null, 0);
	dup2(null, 1);
	if (getenv("LIVE_VERBOSE") == NULL)
		dup2(null, 2);
	dup2(cmd_fd, 3);
	dup2(answer_fd, 4);
	closefrom(5);
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) == -1 || setgid(LIVE_UID) == -1 ||
		setuid(LIVE_UID) == -1))
		_exit(126);
	setenv("HOME", dir, 1);
	if (chdir(dir) == -1)
		_exit(126);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execv(live_paths[program], (char *const *)(void *)argv);
	_exit(127);
}

bool
live_browser_start(
    struct live_browser *b, enum live_program program, const char **ret_why)
{
	int cmd[2], answer[2];

	signal(SIGPIPE, SIG_IGN);
	if (access(live_paths[program], X_OK) == -1) {
		*ret_why = program == LIVE_FULL ? "no chromium"
						: "no chromium-headless-shell";
		return false;
	}
	snprintf(b->dir, sizeof(b->dir), "/tmp/page_test.XXXXXX");
	if (mkdtemp(b->dir) == NULL || pipe2(cmd, O_CLOEXEC) == -1 ||
	    pipe2(answer, O_CLOEXEC) == -1) {
		*ret_why = strerror(errno);
		return false;
	}
	if (geteuid() == 0 && chown(b->dir, LIVE_UID, LIVE_UID) == -1) {
		*ret_why = strerror(errno);
		return false;
	}
	b->pid = fork();
	if (b->pid == 0)
		live_exec(program, b->dir, cmd[0], answer[1]);
	close(cmd[0]);
	close(answer[1]);
	b->write_fd = cmd[1];
	b->read_fd = answer[0];
	if (b->pid == -1)
		*ret_why = strerror(errno);
	return b->pid != -1;
}

static void
live_remove(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("rm", "rm", "-rf", "--", dir, (char *)NULL);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

void
live_browser_stop(struct live_browser *b)
{
	if (b->pid <= 0)
		return;
	kill(-b->pid, SIGKILL);
	kill(b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	b->pid = 0;
	live_remove(b->dir);
}

bool
live_site_start(struct live_site *s, const char *pages, const char **ret_why)
{
	const char *builddir = getenv("builddir");
	char program[512], line[128] = "", *port;
	int hold[2], said[2];
	ssize_t n;

	snprintf(program, sizeof(program), "%s/site/demosite",
	    builddir != NULL ? builddir : ".");
	if (pipe2(hold, O_CLOEXEC) == -1 || pipe2(said, O_CLOEXEC) == -1) {
		*ret_why = strerror(errno);
		return false;
	}
	s->pid = fork();
	if (s->pid == 0) {
		dup2(hold[0], 0);
		dup2(said[1], 1);
		execl(program, "demosite", "-p", "0", "--exit-on-eof",
		    pages != NULL ? "-d" : (char *)NULL, pages, (char *)NULL);
		_exit(127);
	}
	close(hold[0]);
	close(said[1]);
	s->hold_fd = hold[1];
	/* Its first line is its address: "http://127.0.0.1:PORT/". */
	n = read(said[0], line, sizeof(line) - 1);
	close(said[0]);
	port = n > 0 ? strrchr(line, ':') : NULL;
	s->port = port != NULL ? (int)strtol(port + 1, NULL, 10) : 0;
	*ret_why = "the demo site did not start";
	return s->port > 0;
}

void
live_site_stop(struct live_site *s)
{
	if (s->pid <= 0)
		return;
	close(s->hold_fd);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	s->pid = 0;
}
