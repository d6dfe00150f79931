/*
 * fakework: stands in for workerd in tests of the launcher and the cell, with
 * no other system calls than a worker has until it confines itself. Says
 * "hello" and its arguments, then obeys packets on its socket:
 *
 *   cdp JSON    writes the command; from then on every message of the browser
 *               comes back as "cdp JSON"
 *   who         "me UID GID GROUPS NNP PID FDS"
 *   see PATH    "seen N": entries of a directory, -1 when it cannot be read
 *   caps        "caps N": the capabilities it has, as the kernel shows them
 *   secrets     "secrets N TEXT": all that comes through that pipe
 *   try NAME    what came of a row of t/confine/attacks.def
 *   exit N      ends
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "t/confine/hostile.h"

enum {
	FD_IPC = 3,
	FD_CDP_IN,
	FD_CDP_OUT,
	FD_SECRETS,
	FD_NEXT
};

#define MESSAGE_BYTES 60000

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	char text[MESSAGE_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0 && fd_send_msg(FD_IPC, text, (size_t)n, NULL, 0) != 0)
		exit(1);
}

/* How many the kernel shows: it may not ask by the call for that. */
static int
count_groups(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	int n = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "Groups:", 7) == 0)
			for (char *p = line; *p != '\0'; p++)
				n += p[0] >= '0' && p[0] <= '9' &&
				    (p[1] < '0' || p[1] > '9');
	if (f != NULL)
		fclose(f);
	return n;
}

static void
say_me(void)
{
	char fds[256] = "", *p = fds;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			p += snprintf(p, 8, "%d,", fd);
	say("me %d %d %d %d %d %s\n", getuid(), getgid(), count_groups(),
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), getpid(), fds);
}

static void
say_caps(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, "CapPrm:\t", 8) == 0)
			say("caps %s", line + 8);
	if (f != NULL)
		fclose(f);
}

static void
say_seen(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	if (dir == NULL) {
		say("seen -1\n");
		return;
	}
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	say("seen %d\n", n - 2);
}

/* Waits for the end of the pipe; its first bytes are shown. */
static void
say_secrets(void)
{
	static char text[65536 + 1];
	struct pollfd p = { FD_SECRETS, POLLIN, 0 };
	size_t len = 0;
	ssize_t n = 0;

	do {
		poll(&p, 1, -1);
		n = read(FD_SECRETS, text + len, sizeof(text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	text[len] = '\0';
	say("secrets %zu %.40s\n", len, text);
}

static void
obey(void)
{
	char line[MESSAGE_BYTES], said[256];
	int none = 0;
	size_t n;

	if (fd_recv_msg(FD_IPC, line, sizeof(line) - 1, &n, NULL, &none) != 0 ||
	    n == 0)
		exit(0);
	line[n] = '\0';
	if (strncmp(line, "cdp ", 4) == 0) {
		if (fd_write_all(FD_CDP_OUT, line + 4, n - 3) != 0)
			say("cdp gone\n");
	} else if (strcmp(line, "who") == 0) {
		say_me();
	} else if (strncmp(line, "see ", 4) == 0) {
		say_seen(line + 4);
	} else if (strcmp(line, "caps") == 0) {
		say_caps();
	} else if (strcmp(line, "secrets") == 0) {
		say_secrets();
	} else if (strncmp(line, "try ", 4) == 0) {
		hostile_do(line + 4, said, sizeof(said));
		say("%s", said);
	} else if (strncmp(line, "exit ", 5) == 0) {
		exit((int)strtol(line + 5, NULL, 10));
	}
}

/* Messages of the browser end with a NUL. */
static bool
relay(void)
{
	static char text[MESSAGE_BYTES];
	static size_t len;
	ssize_t n = read(FD_CDP_IN, text + len, sizeof(text) - len);
	char *end;

	if (n <= 0)
		return false;
	len += (size_t)n;
	while ((end = memchr(text, '\0', len)) != NULL) {
		say("cdp %s\n", text);
		len -= (size_t)(end + 1 - text);
		memmove(text, end + 1, len);
	}
	return true;
}

int
main(int argc, char **argv)
{
	struct pollfd p[2] = { { FD_IPC, POLLIN, 0 },
		{ FD_CDP_IN, POLLIN, 0 } };
	char byte;

	/* As the real one. */
	prctl(PR_SET_DUMPABLE, 0);
	if (fcntl(FD_NEXT, F_GETFD) != -1 || fd_set_nonblock(FD_SECRETS) != 0 ||
	    read(FD_SECRETS, &byte, 1) != -1)
		return 100;
	say("hello %s%s%s\n", argc > 1 ? argv[1] : "run", argc > 2 ? " " : "",
	    argc > 2 ? argv[2] : "");
	for (;;) {
		if (poll(p, 2, -1) == -1)
			return 101;
		if (p[1].revents != 0 && !relay()) {
			say("cdp eof\n");
			p[1].fd = -1;
		}
		if (p[0].revents != 0)
			obey();
	}
}
