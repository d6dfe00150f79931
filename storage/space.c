/*
 * Free disk space: the threshold for new submissions, and a reserve that is
 * given up so that terminal states still fit on a full disk. Runs in
 * supervisord.
 */
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/fdio.h"
#include "storage/store_impl.h"

static bool
space_look(struct store *s)
{
	struct statvfs vfs;

	if (fstatvfs(s->dir_fd, &vfs) == -1)
		return false;
	s->space.free_bytes = (uint64_t)vfs.f_bavail * vfs.f_frsize;
	s->space.total_bytes = (uint64_t)vfs.f_blocks * vfs.f_frsize;
	s->space_known = true;
	if (!s->reserve_held && s->space.free_bytes >= 2 * s->opt.reserve_bytes)
		reserve_take(s);
	return true;
}

bool
store_space_ok(struct store *s, unsigned min_percent, uint64_t min_bytes,
    struct store_space *ret)
{
	struct store_space *sp = &s->space;

	/* One answer does for all that share a commit. */
	if ((ret != NULL || !s->space_known) && !space_look(s))
		return false;
	if (ret != NULL)
		*ret = *sp;
	return sp->free_bytes >= min_bytes &&
	    sp->free_bytes / 100 >= sp->total_bytes / 10000 * min_percent;
}

void
reserve_take(struct store *s)
{
	int fd;

	if (s->opt.reserve_bytes == 0 || s->reserve_held)
		return;
	fd = openat(s->dir_fd, "reserve",
	    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return;
	/* Blocks are needed, not a size: without them it is no reserve. */
	s->reserve_held =
	    posix_fallocate(fd, 0, (off_t)s->opt.reserve_bytes) == 0;
	fd_close(&fd);
	if (!s->reserve_held)
		unlinkat(s->dir_fd, "reserve", 0);
}

bool
reserve_give_up(struct store *s)
{
	if (!s->reserve_held)
		return false;
	s->reserve_held = false;
	return unlinkat(s->dir_fd, "reserve", 0) == 0;
}
