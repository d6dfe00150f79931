/*
 * dirs: makes, checks and locks the directories of an instance. Runs in the
 * launcher at its start. Everything below the state directory belongs to a
 * less trusted process, so no name in it is followed twice: it is opened once,
 * without following symbolic links, and used by descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/dirs.h"
#include "launcher/lock.h"

#define GIVE_DEPTH_MAX 8
/* After it the refused launcher names the directory; adapters look for it. */
#define ELSEWHERE "its sockets are in "

/* mkdir -p; the last part gets mode, its parents 0755. */
static int
make_path(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	char *p;

	if (strlcpy(part, path, sizeof(part)) >= sizeof(part))
		return ENAMETOOLONG;
	for (p = part + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			return errno;
		*p = '/';
	}
	if (mkdir(part, mode) == -1 && errno != EEXIST)
		return errno;
	return 0;
}

static int
say(int exit_code, const char *what, const char *path, const char *advice)
{
	log_err("%s %s: %s%s", what, path, strerror(errno), advice);
	return exit_code;
}

/*
 * Where the owner of the lock has its sockets, as its lock file says; empty
 * where that is not known, or is where this launcher would have its own.
 */
static void
read_place(int fd, const char *run, char ret_text[PATH_MAX + 32])
{
	char place[PATH_MAX], own[PATH_MAX];
	ssize_t n = pread(fd, place, sizeof(place) - 1, 0);

	ret_text[0] = '\0';
	place[n > 0 ? n : 0] = '\0';
	for (const char *p = place; *p != '\0'; p++)
		if (*p < ' ' || *p == 127)
			return;
	if (place[0] == '/' &&
	    (realpath(run, own) == NULL || strcmp(place, own) != 0))
		snprintf(ret_text, PATH_MAX + 32, "; " ELSEWHERE "%s", place);
}

/* In the lock file of the state directory. Only a help: no error stops it. */
static void
note_place(const struct dirs *d)
{
	size_t len = strlen(d->run);

	if (ftruncate(d->lock_fd, 0) == -1 ||
	    pwrite(d->lock_fd, d->run, len, 0) != (ssize_t)len)
		log_warn("cannot write to the lock of %s: %s", d->state,
		    strerror(errno));
}

/* Takes DIR/lock for the life of the process. */
static int
take_lock(
    int dirfd, const char *path, const char *what, const char *run, int *ret_fd)
{
	char who[LOCK_WHO_BYTES], whole[PATH_MAX + 32], place[PATH_MAX + 32];
	int fd, error;

	fd = openat(
	    dirfd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return say(
		    EXIT_CANNOT_USE, "cannot open the lock of", path, "");
	snprintf(whole, sizeof(whole), "the %s directory %s", what, path);
	error = lock_take(fd, whole, who);
	if (error == 0) {
		*ret_fd = fd;
		return 0;
	}
	read_place(fd, run, place);
	close(fd);
	if (error == EWOULDBLOCK) {
		log_err("another browsertaskd uses %s: stop it, or name "
			"another one with %s; it is %s%s",
		    whole, strcmp(what, "state") == 0 ? "-s" : "-r", who,
		    place);
		return EXIT_OTHER_RUNS;
	}
	errno = error;
	return say(EXIT_CANNOT_USE, "cannot lock", path, "");
}

/* An entry of that type which this very user made. */
static bool
is_made(int dirfd, const char *name, mode_t type)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (st.st_mode & S_IFMT) == type && st.st_uid == geteuid();
}

/* A file system of its own has a directory for what fsck finds. */
static bool
is_nothing(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    strcmp(name, "lost+found") == 0;
}

/* Nothing is in it but what the first steps of a start make; -1: not known. */
static int
is_new(int fd)
{
	struct dirent *d;
	DIR *dir;
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool found = false;

	if (copy == -1)
		return -1;
	dir = fdopendir(copy);
	if (dir == NULL) {
		close(copy);
		return -1;
	}
	while (!found && (d = readdir(dir)) != NULL)
		found = !is_nothing(d->d_name) &&
		    strcmp(d->d_name, "lock") != 0 &&
		    strcmp(d->d_name, "profiles") != 0;
	closedir(dir);
	return !found;
}

/*
 * A directory that is neither new and our own nor holds what a launcher of this
 * very user made is somebody else's, named by mistake: none of its files must
 * change hands. -1: not known, errno says why.
 */
static int
is_ours(int fd, uid_t owner)
{
	if (is_made(fd, "lock", S_IFREG) && is_made(fd, "profiles", S_IFDIR))
		return 1;
	return owner == geteuid() ? is_new(fd) : 0;
}

static int
open_below(int dirfd, const char *name, int *ret_fd)
{
	struct stat st;
	int fd;

	if (mkdirat(dirfd, name, 0700) == -1 && errno != EEXIST)
		return say(EXIT_CANNOT_USE, "cannot make", name, "");
	fd = openat(
	    dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		return say(EXIT_CANNOT_USE, "cannot open", name, "");
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		log_err("%s in the state directory is not private to uid %u",
		    name, (unsigned int)geteuid());
		close(fd);
		return EXIT_CANNOT_USE;
	}
	*ret_fd = fd;
	return 0;
}

static int
open_profiles(struct dirs *d)
{
	int profiles, code;

	code = open_below(d->state_fd, "profiles", &profiles);
	if (code != 0)
		return code;
	code = open_below(profiles, "kept", &d->kept_fd);
	close(profiles);
	return code;
}

/*
 * supervisord, which is not root, must come to it: each directory above lets
 * everybody pass.
 */
static bool
is_reachable(const char *path)
{
	char above[PATH_MAX], *slash;
	struct stat st;

	strlcpy(above, path, sizeof(above));
	while ((slash = strrchr(above, '/')) != NULL && slash > above) {
		*slash = '\0';
		if (stat(above, &st) == 0 && (st.st_mode & S_IXOTH) == 0) {
			log_err("the state directory %s cannot be reached by "
				"the service's own user: %s has mode %04o: "
				"chmod o+x it, or name another one with -s",
			    path, above, (unsigned int)st.st_mode & 07777);
			return false;
		}
	}
	return true;
}

static int
open_state(struct dirs *d, const struct options *o)
{
	struct stat st;
	int error, code, ours;

	error = make_path(o->state_dir, 0700);
	if (error != 0 || realpath(o->state_dir, d->state) == NULL) {
		errno = error != 0 ? error : errno;
		return say(EXIT_CANNOT_USE, "cannot make the state directory",
		    o->state_dir, "; name another one with -s");
	}
	d->state_fd = open(d->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->state_fd == -1 || fstat(d->state_fd, &st) == -1)
		return say(EXIT_CANNOT_USE, "cannot open", d->state, "");
	if (o->system && !is_reachable(d->state))
		return EXIT_CANNOT_USE;
	if (!o->system && st.st_uid != geteuid()) {
		log_err("state directory %s belongs to uid %u: name another "
			"one with -s",
		    d->state, (unsigned int)st.st_uid);
		return EXIT_CANNOT_USE;
	}
	ours = is_ours(d->state_fd, st.st_uid);
	if (ours == -1)
		return say(EXIT_CANNOT_USE, "cannot open", d->state, "");
	if (ours == 0) {
		log_err("%s holds other files, or those of a service of "
			"another user: name an empty or new directory with -s",
		    d->state);
		return EXIT_CANNOT_USE;
	}
	code =
	    take_lock(d->state_fd, d->state, "state", o->run_dir, &d->lock_fd);
	if (code != 0)
		return code;
	if (fchmod(d->state_fd, 0700) == -1)
		return say(EXIT_CANNOT_USE, "cannot chmod", d->state, "");
	d->owner = st.st_uid;
	return open_profiles(d);
}

/* A group that is let in passes through it: sockets.c gave it to that group. */
static bool
is_private(const struct options *o)
{
	return !o->system && settings_gid(o->settings.clientGroup) == -1 &&
	    settings_gid(o->settings.adminGroup) == -1;
}

static int
open_run(struct dirs *d, const struct options *o)
{
	bool private = is_private(o);
	struct stat st;
	int error, fd, code;

	error = make_path(o->run_dir, 0700);
	if (error != 0 || realpath(o->run_dir, d->run) == NULL) {
		errno = error != 0 ? error : errno;
		return say(EXIT_CANNOT_USE, "cannot make the socket directory",
		    o->run_dir, "; name another one with -r");
	}
	fd = open(d->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1)
		return say(EXIT_CANNOT_USE, "cannot open", d->run, "");
	if (st.st_uid != geteuid() || (st.st_mode & 022) != 0 ||
	    (private && (st.st_mode & 077) != 0)) {
		log_err("socket directory %s must belong to uid %u and be %s: "
			"chmod it or name another one with -r",
		    d->run, (unsigned int)geteuid(),
		    private ? "private (0700)" : "writable by nobody else");
		close(fd);
		return EXIT_CANNOT_USE;
	}
	code = take_lock(fd, d->run, "socket", o->run_dir, &d->run_lock_fd);
	close(fd);
	return code;
}

int
dirs_open(struct dirs *d, const struct options *o)
{
	int code = open_state(d, o);

	if (code == 0)
		code = open_run(d, o);
	if (code == 0)
		note_place(d);
	return code;
}

static int give_below(int dirfd, uid_t from, uid_t to, int depth);

/*
 * Only what belonged to the former owner changes hands, and of files only
 * those with a single name: a second name could lie outside.
 */
static int
give_one(int dirfd, const char *name, uid_t from, uid_t to, int depth)
{
	struct stat st;
	int fd, error = 0;

	fd =
	    openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1)
		return 0;
	if (fstat(fd, &st) == -1 || st.st_uid != from ||
	    (!S_ISDIR(st.st_mode) &&
		(!S_ISREG(st.st_mode) || st.st_nlink != 1))) {
		close(fd);
		return 0;
	}
	if (fchown(fd, to, (gid_t)to) == -1)
		error = errno;
	if (error == 0 && S_ISDIR(st.st_mode) && depth > 0)
		return give_below(fd, from, to, depth - 1);
	close(fd);
	return error;
}

/* Takes the descriptor. */
static int
give_below(int dirfd, uid_t from, uid_t to, int depth)
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
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			error = give_one(dirfd, e->d_name, from, to, depth);
	closedir(dir);
	return error;
}

int
dirs_give(const struct dirs *d, uid_t uid)
{
	/* What supervisord makes; all else stays whose it is. */
	static const char *const names[] = { "store", "artifacts", "incoming",
		"spool", "sessions", "reserve" };
	int error = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (error == 0 && d->owner != uid)
			error = give_one(d->state_fd, names[i], d->owner, uid,
			    GIVE_DEPTH_MAX);
	if (error == 0 && fchown(d->state_fd, uid, (gid_t)uid) == -1)
		error = errno;
	if (error == 0)
		return 0;
	errno = error;
	return say(EXIT_CANNOT_USE, "cannot give to supervisord", d->state, "");
}

int
dirs_give_again(const struct dirs *d, uid_t uid)
{
	struct dirs now = *d;
	struct stat st;

	if (fstat(d->state_fd, &st) == -1)
		return say(EXIT_CANNOT_USE, "cannot look at", d->state, "");
	if (st.st_uid == uid)
		return 0;
	now.owner = st.st_uid;
	return dirs_give(&now, uid);
}
