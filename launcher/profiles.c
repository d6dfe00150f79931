/*
 * profiles: makes the directories of kept profiles. Runs in the launcher, as
 * root in system mode: nothing in them is ever followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "launcher/profiles.h"

int
profile_open(
    const struct dirs *d, const char *name, uid_t uid, struct stat *ret_st)
{
	bool is_new = mkdirat(d->kept_fd, name, 0700) == 0;
	struct stat st;

	if (!is_new && errno != EEXIST)
		return errno;
	if (is_new && uid != geteuid() &&
	    fchownat(d->kept_fd, name, uid, (gid_t)uid, AT_SYMLINK_NOFOLLOW) ==
		-1)
		return errno;
	if (fstatat(d->kept_fd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return errno;
	if (!S_ISDIR(st.st_mode) || st.st_uid != uid)
		return EPERM;
	*ret_st = st;
	return 0;
}

int
profile_path(const struct dirs *d, const char *name, char ret_path[PATH_MAX])
{
	int n =
	    snprintf(ret_path, PATH_MAX, "%s/profiles/kept/%s", d->state, name);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}
