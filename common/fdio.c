#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"

int
fd_open_standard(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

int
fd_set_nonblock(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	if (fl == -1 || fcntl(fd, F_SETFL, fl | O_NONBLOCK) == -1)
		return errno;
	return 0;
}

int
fd_set_cloexec(int fd, int on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) == -1 ? errno : 0;
}

void
fd_close(int *fd)
{
	if (*fd != -1)
		close(*fd);
	*fd = -1;
}

int
fd_write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;
	ssize_t n;

	while (len > 0) {
		n = write(fd, p, len);
		if (n == -1) {
			if (errno == EINTR)
				continue;
			return errno;
		}
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

union fd_control {
	char room[CMSG_SPACE(sizeof(int) * FDIO_MAX_FDS)];
	struct cmsghdr align;
};

int
fd_send_msg(int sock, const void *bytes, size_t len, const int *fds, int nfds)
{
	union fd_control control;
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t n;

	ASSERT(nfds <= FDIO_MAX_FDS);
	if (nfds > 0) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = control.room;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == -1 ? errno : 0;
}

/* Collects the received descriptors; closes what does not fit. */
static int
fd_collect(struct msghdr *msg, int *fds, int room)
{
	struct cmsghdr *c;
	int got = 0, fd;
	size_t n;

	for (c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (got < room)
				fds[got++] = fd;
			else
				close(fd);
		}
	}
	return got;
}

int
fd_recv_msg(int sock, void *bytes, size_t size, size_t *ret_len, int *fds,
    int *ret_nfds)
{
	union fd_control control;
	struct iovec iov = { bytes, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	int room = *ret_nfds, got;
	bool starved;
	ssize_t n;

	if (room > 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
	}
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return errno;
	got = fd_collect(&msg, fds, room);
	starved = (msg.msg_flags & MSG_CTRUNC) != 0 && got < room;
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		while (got > 0)
			close(fds[--got]);
	if ((msg.msg_flags & MSG_TRUNC) != 0 ||
	    ((msg.msg_flags & MSG_CTRUNC) != 0 && !starved))
		return EMSGSIZE;
	*ret_len = (size_t)n;
	*ret_nfds = got;
	return starved ? EMFILE : 0;
}

/* A descriptor above last, but that of dir; -1: none. */
static int
fd_find_above(DIR *dir, int last)
{
	struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (fd > last && fd != dirfd(dir))
			return fd;
	}
	return -1;
}

bool
fd_check_inherited(int first, int last, char ret_why[FDIO_WHY_BYTES])
{
	DIR *dir = opendir("/proc/self/fd");
	int other;

	if (dir == NULL) {
		snprintf(ret_why, FDIO_WHY_BYTES, "/proc/self/fd: %s",
		    strerror(errno));
		return false;
	}
	other = fd_find_above(dir, last);
	closedir(dir);
	for (int fd = first; fd <= last; fd++)
		if (fd_set_cloexec(fd, 1) != 0) {
			snprintf(ret_why, FDIO_WHY_BYTES,
			    "descriptor %d is not open", fd);
			return false;
		}
	if (other == -1)
		return true;
	snprintf(ret_why, FDIO_WHY_BYTES,
	    "descriptor %d is open and should not be", other);
	return false;
}

int
fd_move(int fd, int target)
{
	if (fd == target)
		return fd_set_cloexec(fd, 0);
	if (dup2(fd, target) == -1)
		return errno;
	close(fd);
	return 0;
}

static bool
is_nothing(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, "lost+found") == 0;
}

bool
fd_dir_is_empty(int fd)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy == -1 ? NULL : fdopendir(copy);
	struct dirent *e;
	bool found = false;

	if (d == NULL) {
		fd_close(&copy);
		return false;
	}
	while (!found && (e = readdir(d)) != NULL)
		found = !is_nothing(e->d_name);
	closedir(d);
	return !found;
}
