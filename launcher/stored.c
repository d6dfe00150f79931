/*
 * stored: opens secrets that are kept in files. Runs in the launcher, which
 * never reads them: the kernel copies their bytes to where the worker of the
 * one run gets them from. What somebody else could have written or read is
 * refused, not mended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/secretname.h"
#include "launcher/stored.h"

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define OTHERS       (S_IRWXG | S_IRWXO)

/* Ours, or root's: systemd owns the credentials of a user's service. */
static bool
owner_is_trusted(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

static int
judge_file(int fd, mode_t forbidden, off_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return errno;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return EINVAL;
	if (!owner_is_trusted(&st) || (st.st_mode & forbidden) != 0)
		return EPERM;
	if (st.st_size > STORED_BYTES_MAX)
		return EFBIG;
	*ret_size = st.st_size;
	return 0;
}

static int
judge_dir(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == -1)
		return errno;
	return owner_is_trusted(&st) && (st.st_mode & OTHERS_WRITE) == 0
	    ? 0
	    : EPERM;
}

void
stored_close(struct stored *s)
{
	for (size_t i = 0; i < STORED_FILES; i++)
		fd_close(&s->fd[i]);
}

static int
open_file(
    int dir, const char *name, mode_t forbidden, struct stored *s, size_t which)
{
	int fd, error;

	fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return errno == ELOOP ? EPERM : errno;
	error = judge_file(fd, forbidden, &s->size[which]);
	if (error == 0)
		s->fd[which] = fd;
	else
		fd_close(&fd);
	return error;
}

/* Takes the directory, which may be -1, ENOENT's. */
static int
open_in(int dir, const char *name, mode_t forbidden, struct stored *s)
{
	char hosts[SECRETNAME_BYTES + sizeof(SECRETNAME_HOSTS)];
	int error;

	if (dir == -1)
		return errno;
	snprintf(hosts, sizeof(hosts), "%s" SECRETNAME_HOSTS, name);
	error = judge_dir(dir);
	if (error == 0)
		error = open_file(dir, name, forbidden, s, STORED_VALUE);
	if (error == 0) {
		error = open_file(dir, hosts, forbidden, s, STORED_HOSTS);
		error = error == ENOENT ? ENOKEY : error;
	}
	close(dir);
	if (error != 0)
		stored_close(s);
	return error;
}

static int
dir_open(int at, const char *path)
{
	return openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Below the directory: NAME is for everybody, UID/NAME for that user. */
static int
open_kept(const char *path, uid_t uid, const char *name, struct stored *s)
{
	char number[16];
	int dir = dir_open(AT_FDCWD, path), error;

	if (dir == -1)
		return errno;
	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	error = judge_dir(dir);
	if (error == 0)
		error = open_in(dir_open(dir, number), name, OTHERS, s);
	if (error != ENOENT) {
		close(dir);
		return error;
	}
	return open_in(dir, name, OTHERS, s);
}

int
stored_open(
    const struct options *o, uid_t uid, const char *name, struct stored *ret)
{
	const char *credentials = getenv("CREDENTIALS_DIRECTORY");
	char path[PATH_MAX];
	int error = ENOENT;

	for (size_t i = 0; i < STORED_FILES; i++)
		ret->fd[i] = -1;
	if (o->settings.secretsDir[0] != '\0')
		error = open_kept(o->settings.secretsDir, uid, name, ret);
	else if (secretname_dir(o->system, SYSCONFDIR, path, sizeof(path)))
		error = open_kept(path, uid, name, ret);
	if (error != ENOENT || credentials == NULL || credentials[0] != '/')
		return error;
	/* systemd lets the service's group read what it may read. */
	return open_in(
	    dir_open(AT_FDCWD, credentials), name, OTHERS_WRITE | S_IROTH, ret);
}
