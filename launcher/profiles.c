/*
 * profiles: makes, hands on and removes the directories of kept profiles. Runs
 * in the launcher, and to remove in a process of its own, as root in system
 * mode. What is in them was written by a browser that no longer runs, and is
 * not trusted: no link is ever followed, and no depth of theirs is too much for
 * us.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launcher/profiles.h"

/* Deeper than any browser goes. */
#define DEPTH_MAX 32

/*
 * What a browser that was killed leaves, so that no second one takes the
 * profile: it names a process that is gone, or by now another one.
 */
static const char *const stale[] = { "SingletonLock", "SingletonCookie",
	"SingletonSocket" };

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int
open_dir(int dirfd, const char *name)
{
	return openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static int
drop_stale(const struct dirs *d, const char *name)
{
	int fd = open_dir(d->kept_fd, name), error = 0;

	if (fd == -1)
		return errno;
	for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++)
		if (unlinkat(fd, stale[i], 0) == -1 && errno != ENOENT)
			error = errno;
	close(fd);
	return error;
}

int
profile_open(
    const struct dirs *d, const char *name, uid_t uid, struct stat *ret_st)
{
	bool is_new = mkdirat(d->kept_fd, name, 0700) == 0;
	struct stat st;
	int error;

	if (!is_new && errno != EEXIST)
		return errno;
	if (is_new && uid != geteuid() &&
	    fchownat(d->kept_fd, name, uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) ==
		-1)
		return errno;
	if (fstatat(d->kept_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	if (!S_ISDIR(st.st_mode) || (st.st_uid != uid && geteuid() != 0))
		return EPERM;
	error = is_new ? 0 : drop_stale(d, name);
	if (error == 0)
		*ret_st = st;
	return error;
}

int
profile_path(const struct dirs *d, const char *name, char ret_path[PATH_MAX])
{
	int n =
	    snprintf(ret_path, PATH_MAX, "%s/profiles/kept/%s", d->state, name);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

static int give_below(int dirfd, uid_t uid, int depth);

/* Root's files are none of a browser's, whatever they are. */
static int
give_one(int dirfd, const char *name, uid_t uid, int depth)
{
	struct stat st;
	int fd, error = 0;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	if (st.st_uid == 0)
		return 0;
	if (S_ISDIR(st.st_mode)) {
		if (depth == 0)
			return ELOOP;
		fd = open_dir(dirfd, name);
		error = fd == -1 ? errno : give_below(fd, uid, depth - 1);
	}
	/* The directory after what is in it: its owner says that all is done. */
	if (error == 0 && st.st_uid != uid &&
	    fchownat(dirfd, name, uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) == -1)
		error = errno;
	return error;
}

/* Takes the descriptor. */
static int
give_below(int dirfd, uid_t uid, int depth)
{
	struct dirent *e;
	DIR *dir = fdopendir(dirfd);
	int error = 0;

	if (dir == NULL) {
		error = errno;
		close(dirfd);
		return error;
	}
	while (error == 0 && (e = readdir(dir)) != NULL)
		if (!is_dots(e->d_name))
			error = give_one(dirfd, e->d_name, uid, depth);
	closedir(dir);
	return error;
}

int
profile_give(const struct dirs *d, const char *name, uid_t uid)
{
	struct stat st;

	if (fstatat(d->kept_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	return st.st_uid == uid ? 0
				: give_one(d->kept_fd, name, uid, DEPTH_MAX);
}

/*
 * Beside the profiles, under a name that none can have and that says that it is
 * to be removed. One may be taken since a removal that was cut short.
 */
static int
move_aside(int kept_fd, int dirfd, const char *name)
{
	static unsigned int n;
	char aside[32];
	int error;

	do {
		snprintf(aside, sizeof(aside), ".gone-%u", n++);
		error = renameat(dirfd, name, kept_fd, aside) == -1 ? errno : 0;
	} while (error == ENOTEMPTY || error == EEXIST || error == ENOTDIR);
	return error;
}

int
profile_drop(const struct dirs *d, const char *name)
{
	int error = move_aside(d->kept_fd, d->kept_fd, name);

	return error == ENOENT ? 0 : error;
}

bool
profile_is_dropped(const char *name)
{
	return name[0] == '.' && !is_dots(name);
}

static int remove_below(int kept_fd, int dirfd, int depth);

static int
remove_one(int kept_fd, int dirfd, const char *name, int depth)
{
	int fd, error;

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return errno;
	if (depth == 0)
		return move_aside(kept_fd, dirfd, name);
	fd = open_dir(dirfd, name);
	error = fd == -1 ? errno : remove_below(kept_fd, fd, depth - 1);
	if (error == 0 && unlinkat(dirfd, name, AT_REMOVEDIR) == -1)
		error = errno;
	return error;
}

/* Takes the descriptor. */
static int
remove_below(int kept_fd, int dirfd, int depth)
{
	struct dirent *e;
	DIR *dir = fdopendir(dirfd);
	int error = 0;

	if (dir == NULL) {
		error = errno;
		close(dirfd);
		return error;
	}
	while (error == 0 && (e = readdir(dir)) != NULL)
		if (!is_dots(e->d_name))
			error = remove_one(kept_fd, dirfd, e->d_name, depth);
	closedir(dir);
	return error;
}

/* All that is there now; one that stays does not keep the others. */
static int
remove_pass(int kept_fd, bool *ret_any)
{
	int fd = open_dir(kept_fd, "."), error = 0, one;
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *e;

	*ret_any = false;
	if (dir == NULL) {
		error = errno;
		fd_close(&fd);
		return error;
	}
	while ((e = readdir(dir)) != NULL) {
		if (!profile_is_dropped(e->d_name))
			continue;
		*ret_any = true;
		one = remove_one(kept_fd, kept_fd, e->d_name, DEPTH_MAX);
		if (one != 0)
			error = one;
	}
	closedir(dir);
	return error;
}

int
profiles_remove_dropped(int kept_fd)
{
	bool any = true;
	int error = 0;

	/* What lay too deep is beside them now. */
	while (error == 0 && any)
		error = remove_pass(kept_fd, &any);
	return error;
}
