/*
 * Connecting. Runs in the programs people and agents start, as the caller;
 * sends and reads nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "client/dial.h"
#include "common/fdio.h"

/*
 * A connected socket, or -1 with errno. A service that hangs accepts nobody:
 * once its queue is full, connecting waits.
 */
static int
place_connect(const char *path, int wait_ms)
{
	struct timeval limit = { wait_ms / 1000, wait_ms % 1000 * 1000 };
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	int fd;

	if (len == 0 || len >= sizeof(sun.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(sun.sun_path, path, len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ==
		-1 ||
	    connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == -1) {
		int saved = errno == EAGAIN ? ETIMEDOUT : errno;

		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

/* Whoever listens at a user's place must be that user, or root. */
static bool
place_trusted(int fd, unsigned n)
{
	const char *given = getenv("BROWSERTASK_SOCKET");
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (n == 0 || (given != NULL && given[0] != '\0'))
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    (cred.uid == getuid() || cred.uid == 0);
}

/* Adds a line to what is said when no place answers. */
static void __attribute__((format(printf, 2, 3)))
reason_add(char reason[CLIENT_REASON_MAX], const char *fmt, ...)
{
	size_t len = strlen(reason);
	va_list ap;

	if (len > 0 && len < CLIENT_REASON_MAX - 3) {
		memcpy(reason + len, "; ", 3);
		len += 2;
	}
	va_start(ap, fmt);
	vsnprintf(reason + len, CLIENT_REASON_MAX - len, fmt, ap);
	va_end(ap);
}

static int
dial_given(const char *path, int wait_ms, char ret_path[CLIENT_PATH_MAX],
    char reason[CLIENT_REASON_MAX])
{
	int fd = place_connect(path, wait_ms);

	if (fd == -1) {
		int saved = errno;

		reason_add(reason, "%s: %s", path, strerror(saved));
		errno = saved;
	} else
		snprintf(ret_path, CLIENT_PATH_MAX, "%s", path);
	return fd;
}

int
client_dial(const char *path, int wait_ms, char ret_path[CLIENT_PATH_MAX],
    char reason[CLIENT_REASON_MAX])
{
	char place[CLIENT_PATH_MAX];
	int fd, error = ENOENT;
	bool hangs = false;

	reason[0] = '\0';
	if (path != NULL)
		return dial_given(path, wait_ms, ret_path, reason);
	for (unsigned n = 0; client_place(n, place); n++) {
		fd = place_connect(place, wait_ms);
		if (fd == -1) {
			error = errno;
			hangs = hangs || error == ETIMEDOUT;
			reason_add(reason, "%s: %s", place, strerror(error));
			continue;
		}
		if (place_trusted(fd, n)) {
			memcpy(ret_path, place, CLIENT_PATH_MAX);
			return fd;
		}
		reason_add(reason, "%s: belongs to somebody else", place);
		fd_close(&fd);
	}
	errno = hangs ? ETIMEDOUT : error;
	return -1;
}
