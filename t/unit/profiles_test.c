/* Directories of kept profiles. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher/profiles.h"
#include "t/unit/tap.h"

static struct dirs dirs;
static char top[] = "/tmp/bt-profiles-XXXXXX";

static int
open_sub(const char *name)
{
	if (mkdirat(dirs.state_fd, name, 0700) == -1)
		abort();
	return openat(dirs.state_fd, name, O_RDONLY | O_DIRECTORY);
}

static void
set_up(void)
{
	if (mkdtemp(top) == NULL)
		abort();
	strlcpy(dirs.state, top, sizeof(dirs.state));
	dirs.state_fd = open(top, O_RDONLY | O_DIRECTORY);
	close(open_sub("profiles"));
	dirs.kept_fd = open_sub("profiles/kept");
}

static void
tear_down(void)
{
	unlinkat(dirs.kept_fd, "link", 0);
	unlinkat(dirs.kept_fd, "file", 0);
	unlinkat(dirs.kept_fd, "mine", AT_REMOVEDIR);
	unlinkat(dirs.kept_fd, "theirs", AT_REMOVEDIR);
	unlinkat(dirs.state_fd, "profiles/kept", AT_REMOVEDIR);
	unlinkat(dirs.state_fd, "profiles", AT_REMOVEDIR);
	is_int(rmdir(top), 0, "nothing else was made");
}

static void
test_open(void)
{
	struct stat st, at, untouched = { .st_size = 42 };
	char path[PATH_MAX];

	is_int(profile_open(&dirs, "mine", geteuid(), &st), 0, "a new one");
	is_int(profile_path(&dirs, "mine", path), 0, "has a path");
	ok(stat(path, &at) == 0 && at.st_ino == st.st_ino, "that leads there");
	is_int(st.st_mode & 0777, 0700, "and is private");
	is_int(profile_open(&dirs, "mine", geteuid(), &at), 0,
	    "it is found again");
	ok(at.st_ino == st.st_ino, "the same one");
	is_int(profile_open(&dirs, "mine", geteuid() + 1, &untouched), EPERM,
	    "but not for another uid");
	is_int(untouched.st_size, 42, "who learns nothing of it");
	if (geteuid() != 0)
		return;
	is_int(profile_open(&dirs, "theirs", 4711, &st), 0,
	    "root makes one for another uid");
	ok(st.st_uid == 4711 && st.st_gid == 4711, "who owns it");
}

static void
test_refuse(void)
{
	struct stat st;
	char path[PATH_MAX];

	if (symlinkat("mine", dirs.kept_fd, "link") == -1)
		abort();
	close(openat(dirs.kept_fd, "file", O_WRONLY | O_CREAT, 0600));
	is_int(profile_open(&dirs, "link", geteuid(), &st), EPERM,
	    "a symbolic link is not followed");
	is_int(profile_open(&dirs, "file", geteuid(), &st), EPERM,
	    "a file is none");
	memset(dirs.state, 'x', sizeof(dirs.state) - 1);
	is_int(profile_path(&dirs, "mine", path), ENAMETOOLONG,
	    "a path that is too long is not cut");
}

int
main(void)
{
	set_up();
	test_open();
	test_refuse();
	tear_down();
	return done_testing();
}
