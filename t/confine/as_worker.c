/*
 * as_worker: workerd whose event loop does what packets on descriptor 3 name,
 * in place of its work. Linked with --wrap=event_base_dispatch.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "t/confine/hostile.h"

#define FD_IPC 3

int __wrap_event_base_dispatch(struct event_base *);

/* By the calls that a worker has; nothing else is open to it either. */
static ssize_t
packet(char *bytes, size_t size)
{
	struct iovec iov = { bytes, size };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	return recvmsg(FD_IPC, &msg, 0);
}

int
__wrap_event_base_dispatch(struct event_base *base)
{
	char name[64], said[256];
	ssize_t n;

	(void)fcntl(FD_IPC, F_SETFL, 0); /* to wait */
	while ((n = packet(name, sizeof(name) - 1)) > 0) {
		name[n] = '\0';
		hostile_do(name, said, sizeof(said));
		if (write(FD_IPC, said, strlen(said)) == -1)
			break;
	}
	return 0;
}
