/*
 * netns: sets up the network namespace of a compartment. Runs in the child
 * between clone and exec of the cell. There is a loopback device and nothing
 * else; never is a device or a route to the outside made here. What leaves
 * goes through the listener, which is handed to egressd.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/netns.h"

#define BACKLOG 128

int
netns_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd == -1)
		return errno;
	lo.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) == -1)
		error = errno;
	close(fd);
	return error;
}

int
netns_listen(int *ret_fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(NETNS_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd, error;

	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return errno;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) == -1 ||
	    listen(fd, BACKLOG) == -1) {
		error = errno;
		close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}
