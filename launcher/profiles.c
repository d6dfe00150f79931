/*
 * profiles: makes profile directories and removes them. Runs in the launcher,
 * as root in system mode, over directories that a browser has filled: nothing
 * in them is ever followed, and removal is done in bounded steps.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "launcher/profiles.h"

/* Makes names in the trash unique together with the process's start. */
static unsigned long trash_count;

static int
profile_dirfd(const struct dirs *d, const struct profile *p)
{
	return p->fresh ? d->fresh_fd : d->kept_fd;
}

/* Gives a new directory to uid and checks that it is uid's. */
static int
profile_own(
    int dirfd, const char *name, bool is_new, uid_t uid, struct stat *ret_st)
{
	if (is_new && uid != geteuid() &&
	    fchownat(dirfd, name, uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	if (fstatat(dirfd, name, ret_st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	if (!S_ISDIR(ret_st->st_mode) || ret_st->st_uid != uid)
		return EPERM;
	return 0;
}

int
profile_open(const struct dirs *d, const struct launch_spawn *spawn, uid_t uid,
    struct profile *ret_profile)
{
	struct profile p = { .fresh = spawn->profile[0] == '\0' };
	char session[ULID_CHARS + 1];
	int dirfd = profile_dirfd(d, &p), error;
	bool is_new;

	ulid_format(&spawn->session, session);
	strlcpy(p.name, p.fresh ? session : spawn->profile, sizeof(p.name));
	is_new = mkdirat(dirfd, p.name, 0700) == 0;
	if (!is_new && (errno != EEXIST || p.fresh))
		return errno;
	p.made = true;
	error = profile_own(dirfd, p.name, is_new, uid, &p.st);
	if (error != 0) {
		profile_close(d, &p);
		return error;
	}
	*ret_profile = p;
	return 0;
}

int
profile_path(
    const struct dirs *d, const struct profile *p, char ret_path[PATH_MAX])
{
	int n = snprintf(ret_path, PATH_MAX, "%s/profiles/%s/%s", d->state,
	    p->fresh ? "fresh" : "kept", p->name);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

/*
 * The browser may have closed a directory even to its owner. A failure shows
 * in the next step.
 */
static bool
allow_owner(int dirfd, const char *name)
{
	return fchmodat(dirfd, name, 0700, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Moves one entry to the top of the trash under a name of its own. */
static int
trash_put(const struct dirs *d, int dirfd, const char *name)
{
	bool allowed = false;
	char to[64];

	do {
		snprintf(to, sizeof(to), "%lx", trash_count++);
		if (renameat2(dirfd, name, d->trash_fd, to, RENAME_NOREPLACE) ==
		    0)
			return 0;
		/* A directory must be writable to change parents. */
		if (errno == EACCES && !allowed) {
			allowed = allow_owner(dirfd, name);
			errno = allowed ? EEXIST : EACCES;
		}
	} while (errno == EEXIST);
	return errno;
}

void
profile_close(const struct dirs *d, struct profile *p)
{
	int error;

	if (!p->made)
		return;
	p->made = false;
	if (!p->fresh)
		return;
	error = trash_put(d, d->fresh_fd, p->name);
	if (error != 0)
		log_err(
		    "cannot discard profile %s: %s", p->name, strerror(error));
}

static DIR *
open_dir(int dirfd, const char *name)
{
	int fd = openat(
	    dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir;

	if (fd == -1)
		return NULL;
	dir = fdopendir(fd);
	if (dir == NULL)
		close(fd);
	return dir;
}

static bool
is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

void
profiles_discard_all(const struct dirs *d)
{
	DIR *dir = open_dir(d->fresh_fd, ".");
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL)
		if (!is_dots(e->d_name))
			trash_put(d, d->fresh_fd, e->d_name);
	closedir(dir);
}

/* Removes a file or an empty directory. */
static bool
entry_remove(int dirfd, const struct dirent *e)
{
	return unlinkat(dirfd, e->d_name,
		   e->d_type == DT_DIR ? AT_REMOVEDIR : 0) == 0;
}

/*
 * Empties one directory of the trash. Directories in it are moved to the top
 * instead of being entered, so that depth costs nothing. Returns whether
 * anything has left it.
 */
static bool
trash_empty(const struct dirs *d, const char *name, int *budget)
{
	bool moved = false;
	struct dirent *e;
	DIR *dir;

	allow_owner(d->trash_fd, name);
	dir = open_dir(d->trash_fd, name);
	if (dir == NULL)
		return false;
	while (*budget > 0 && (e = readdir(dir)) != NULL) {
		if (is_dots(e->d_name))
			continue;
		(*budget)--;
		if (entry_remove(dirfd(dir), e) ||
		    trash_put(d, dirfd(dir), e->d_name) == 0)
			moved = true;
	}
	closedir(dir);
	return moved;
}

bool
trash_step(const struct dirs *d)
{
	int budget = TRASH_BUDGET;
	bool moved = false;
	struct dirent *e;
	DIR *dir = open_dir(d->trash_fd, ".");

	if (dir == NULL)
		return false;
	while (budget > 0 && (e = readdir(dir)) != NULL) {
		if (is_dots(e->d_name))
			continue;
		budget--;
		if (entry_remove(d->trash_fd, e)) {
			moved = true;
			continue;
		}
		if (trash_empty(d, e->d_name, &budget))
			moved = true;
		if (unlinkat(d->trash_fd, e->d_name, AT_REMOVEDIR) == 0)
			moved = true;
	}
	closedir(dir);
	/*
	 * Only a step that moved something earns another one: what cannot be
	 * removed now, on a file system that refuses, waits for the next start.
	 */
	return moved;
}
