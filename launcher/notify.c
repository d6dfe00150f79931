/*
 * notify: readiness by systemd's datagram protocol and by a descriptor. Runs
 * in the launcher, which alone speaks to the service manager.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "launcher/notify.h"

static struct sockaddr_un notify_addr;
static socklen_t notify_len; /* 0: nobody to tell */

void
notify_init(void)
{
	const char *path = getenv("NOTIFY_SOCKET");
	size_t n;

	if (path != NULL && (path[0] == '/' || path[0] == '@')) {
		n = strlen(path);
		if (n < sizeof(notify_addr.sun_path)) {
			notify_addr.sun_family = AF_UNIX;
			memcpy(notify_addr.sun_path, path, n);
			if (path[0] == '@')
				notify_addr.sun_path[0] = '\0';
			notify_len = (socklen_t)(n +
			    offsetof(struct sockaddr_un, sun_path));
		}
	}
	unsetenv("NOTIFY_SOCKET");
}

void
notify_hand_on(void)
{
	char path[sizeof(notify_addr.sun_path) + 1] = "";

	if (notify_len == 0)
		return;
	memcpy(path, notify_addr.sun_path,
	    notify_len - offsetof(struct sockaddr_un, sun_path));
	if (path[0] == '\0')
		path[0] = '@';
	setenv("NOTIFY_SOCKET", path, 1);
}

void
notify_systemd(const char *state)
{
	int fd;

	if (notify_len == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd == -1 ||
	    sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		(const struct sockaddr *)&notify_addr, notify_len) == -1)
		log_warn("cannot tell systemd %s: %s", state, strerror(errno));
	fd_close(&fd);
}

void
notify_ready_fd(int *fd)
{
	int error;

	if (*fd == -1)
		return;
	error = fd_write_all(*fd, "\n", 1);
	if (error != 0)
		log_warn("cannot write to --ready-fd: %s", strerror(error));
	fd_close(fd);
}
