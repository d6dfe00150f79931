/*
 * feed: copies secrets from a sealed memfd into the pipe of a worker. Runs in
 * the cell. The kernel moves the bytes: none of them is ever in this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "cell/feed.h"
#include "common/fdio.h"

#define TURN_BYTES 65536

void
feed_init(struct feed *f)
{
	f->from = f->to = -1;
}

void
feed_close(struct feed *f)
{
	fd_close(&f->from);
	fd_close(&f->to);
}

int
feed_open(struct feed *f, int *ret_fd)
{
	int p[2], error;

	feed_close(f);
	if (pipe2(p, O_CLOEXEC) == -1)
		return errno;
	error = fd_set_nonblock(p[1]);
	if (error != 0) {
		close(p[0]);
		close(p[1]);
		return error;
	}
	f->to = p[1];
	*ret_fd = p[0];
	return 0;
}

bool
feed_begin(struct feed *f, int from)
{
	if (f->to == -1 || f->from != -1)
		return false;
	f->from = from;
	f->at = 0;
	return true;
}

bool
feed_waits(const struct feed *f)
{
	return f->from != -1;
}

void
feed_go(struct feed *f)
{
	ssize_t n;

	if (f->from == -1)
		return;
	do
		n = sendfile(f->to, f->from, &f->at, TURN_BYTES);
	while (n > 0 || (n == -1 && errno == EINTR));
	/* A worker that is gone, or the end: either way nothing follows. */
	if (n == 0 || errno != EAGAIN)
		feed_close(f);
}
