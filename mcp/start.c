/*
 * Starting a service, in the adapter, as the user it runs as. The service is
 * nobody's child and in a session of its own, so that it outlives the adapter
 * and whoever ends that with all its children; what it logs goes to a file,
 * since the adapter's standard error may be closed any time. Two that are
 * started at once find the lock of its directories: one of them ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/event.h>

#include "common/fdio.h"
#include "mcp/start.h"

#define START_TIMEOUT_S 45 /* before most clients give up */
#define ARGS_MAX        64
#define IDLE_EXIT       "idleExitMs=900000"
#define LOG_TAIL_BYTES  8192
#define LOG_LINE_BYTES  1024
#define ERROR_LINES     3
#define ERROR_MARK      "<3>"
#define LOG_BYTES_MAX   (4 << 20)
#define READY_FD        3

struct start {
	int ready; /* gets a newline when it serves, ends when it is gone */
	int log;
	off_t log_from;
	struct event *on_ready;
	start_done_fn *done;
	void *ctx;
};

/* Adds a line, without its priority. */
static void
start_add_line(char *line, char ret[LOG_LINE_BYTES])
{
	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '<' && strchr(line, '>') != NULL)
		line = strchr(line, '>') + 1;
	if (ret[0] != '\0')
		strlcat(ret, "; ", LOG_LINE_BYTES);
	strlcat(ret, line, LOG_LINE_BYTES);
}

/* The last lines that are errors: each but the first often names it. */
static void
start_add_errors(char *text, char ret[LOG_LINE_BYTES])
{
	char *errors[ERROR_LINES], *line;
	size_t n = 0;

	for (line = strstr(text, ERROR_MARK); line != NULL;
	     line = strstr(line + 1, ERROR_MARK))
		if (line == text || line[-1] == '\n')
			errors[n++ % ERROR_LINES] = line;
	for (size_t i = n < ERROR_LINES ? 0 : n - ERROR_LINES; i < n; i++)
		start_add_line(errors[i % ERROR_LINES], ret);
}

/*
 * Why it ended: that another one runs, wherever that is said, since the other
 * logs to the same file; else its errors, or the last line.
 */
static void
start_last_words(const struct start *s, char ret[LOG_LINE_BYTES])
{
	char text[LOG_TAIL_BYTES], *line;
	off_t end = lseek(s->log, 0, SEEK_END), from;
	ssize_t n;

	ret[0] = '\0';
	from = end - (LOG_TAIL_BYTES - 1);
	from = from < s->log_from ? s->log_from : from;
	n = end > from ? pread(s->log, text, (size_t)(end - from), from) : 0;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, START_OTHER);
	if (line == NULL)
		start_add_errors(text, ret);
	if (ret[0] != '\0')
		return;
	if (line == NULL)
		line = text + strlen(text);
	while (line > text && line[-1] != '\n')
		line--;
	if (line[0] == '\0')
		strlcpy(ret, "it ended and logged nothing", LOG_LINE_BYTES);
	else
		start_add_line(line, ret);
}

static void
start_on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct start *s = arg;
	char why[LOG_LINE_BYTES] = "it did not serve within 45 seconds", c;

	if ((what & EV_READ) != 0) {
		if (read(fd, &c, 1) == 1) {
			s->done(s->ctx, true, "");
			return;
		}
		start_last_words(s, why);
	}
	s->done(s->ctx, false, why);
}

/* $XDG_STATE_HOME or ~/.local/state; made if it is not there. */
static int
open_log(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char path[PATH_MAX], *p;
	struct stat st;
	int fd, n;

	if (state != NULL && state[0] == '/')
		n = snprintf(path, sizeof(path), "%s/", state);
	else if (home != NULL && home[0] == '/')
		n = snprintf(path, sizeof(path), "%s/.local/state/", home);
	else
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	if (n < 0 || (size_t)n >= sizeof(path) - 32) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
		*p = '\0';
		mkdir(path, 0700);
		*p = '/';
	}
	strlcat(path, "browsertaskd.log", sizeof(path));
	fd = open(
	    path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd != -1 && fstat(fd, &st) == 0 && st.st_size > LOG_BYTES_MAX &&
	    ftruncate(fd, 0) == -1)
		fd_close(&fd);
	return fd;
}

static void
fill_argv(const struct start_config *c, const char **argv)
{
	size_t n = 0;

	argv[n++] = c->program;
	argv[n++] = "--ready-fd";
	argv[n++] = "3";
	argv[n++] = "-o";
	argv[n++] = IDLE_EXIT;
	if (c->run_dir != NULL) {
		argv[n++] = "-r";
		argv[n++] = c->run_dir;
	}
	for (size_t i = 0; c->args != NULL && c->args[i] != NULL; i++)
		if (n < ARGS_MAX)
			argv[n++] = c->args[i];
	argv[n] = NULL;
}

/* In the child: a grandchild becomes the service. Never returns. */
_Noreturn static void
become_service(const struct start_config *c, int log, int ready)
{
	const char *argv[ARGS_MAX + 1];
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	pid_t pid;

	fill_argv(c, argv);
	if (null == -1 || setsid() == -1)
		_exit(127);
	pid = fork();
	if (pid != 0)
		_exit(pid == -1 ? 127 : 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (chdir("/") == -1 || dup2(null, 0) == -1 || dup2(null, 1) == -1 ||
	    dup2(log, 2) == -1 || dup2(ready, READY_FD) == -1)
		_exit(127);
	fd_set_cloexec(READY_FD, 0);
	closefrom(READY_FD + 1);
	execvp(c->program, (char *const *)(uintptr_t)argv);
	dprintf(2, "%s: %s\n", c->program, strerror(errno));
	_exit(127);
}

static int
start_process(struct start *s, const struct start_config *c)
{
	int fds[2], status;
	pid_t pid;

	s->log = open_log();
	if (s->log == -1 || pipe2(fds, O_CLOEXEC) == -1)
		return errno;
	s->log_from = lseek(s->log, 0, SEEK_END);
	s->ready = fds[0];
	pid = fork();
	if (pid == 0)
		become_service(c, s->log, fds[1]);
	close(fds[1]);
	if (pid == -1)
		return errno;
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return 0;
}

struct start *
start_new(struct event_base *base, const struct start_config *c,
    start_done_fn *done, void *ctx)
{
	struct timeval limit = { START_TIMEOUT_S, 0 };
	struct start *s = calloc(1, sizeof(*s));
	int error;

	if (s == NULL)
		return NULL;
	s->ready = s->log = -1;
	s->done = done;
	s->ctx = ctx;
	error = start_process(s, c);
	if (error == 0) {
		s->on_ready =
		    event_new(base, s->ready, EV_READ, start_on_ready, s);
		if (s->on_ready == NULL || event_add(s->on_ready, &limit) == -1)
			error = ENOMEM;
	}
	if (error == 0)
		return s;
	start_free(&s);
	errno = error;
	return NULL;
}

void
start_free(struct start **start)
{
	struct start *s = *start;

	*start = NULL;
	if (s == NULL)
		return;
	if (s->on_ready != NULL)
		event_free(s->on_ready);
	fd_close(&s->ready);
	fd_close(&s->log);
	free(s);
}
