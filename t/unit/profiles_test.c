/* Directories of kept profiles. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher/kept.h"
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

static int
remove_now(const char *name)
{
	int error = profile_drop(&dirs, name);

	return error == 0 ? profiles_remove_dropped(dirs.kept_fd) : error;
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
	if (geteuid() != 0) {
		is_int(profile_open(&dirs, "mine", geteuid() + 1, &untouched),
		    EPERM, "but not for another uid");
		is_int(untouched.st_size, 42, "who learns nothing of it");
		return;
	}
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

static void
make_file(int dirfd, const char *name, uid_t uid)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT, 0600);

	if (fd == -1 || (geteuid() == 0 && fchown(fd, uid, (gid_t)uid) == -1))
		abort();
	close(fd);
}

static int
open_kept(const char *name)
{
	struct stat st;

	if (profile_open(&dirs, name, geteuid() == 0 ? 4711 : geteuid(), &st) !=
	    0)
		abort();
	return openat(dirs.kept_fd, name, O_RDONLY | O_DIRECTORY);
}

static uid_t
owner(int dirfd, const char *name)
{
	struct stat st;

	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		abort();
	return st.st_uid;
}

static void
test_give(void)
{
	int fd = open_kept("given"), outside;

	make_file(fd, "file", 4711);
	make_file(fd, "of-root", 0);
	make_file(dirs.state_fd, "outside", 4712);
	outside = openat(dirs.state_fd, "outside", O_RDONLY);
	if (symlinkat("../../outside", fd, "link") == -1 ||
	    fchownat(fd, "link", 4711, 4711, AT_SYMLINK_NOFOLLOW) == -1)
		abort();
	is_int(profile_give(&dirs, "given", 4713), 0, "to another uid");
	is_int(owner(dirs.kept_fd, "given"), 4713, "the directory");
	is_int(owner(fd, "file"), 4713, "a file");
	is_int(owner(fd, "link"), 4713, "a link, not where it leads");
	is_int(owner(dirs.state_fd, "outside"), 4712, "that stays whose it is");
	is_int(owner(fd, "of-root"), 0, "so does what root made");
	is_int(profile_give(&dirs, "nowhere", 1), ENOENT, "none of that name");
	close(outside);
	close(fd);
	unlinkat(dirs.state_fd, "outside", 0);
	is_int(remove_now("given"), 0, "removed");
}

/* How many names are beside the profiles. */
static int
entries(void)
{
	DIR *dir = fdopendir(openat(dirs.kept_fd, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *e;
	int n = 0;

	if (dir == NULL)
		abort();
	while ((e = readdir(dir)) != NULL)
		n += profile_is_dropped(e->d_name);
	closedir(dir);
	return n;
}

/* Deeper than names can be long. */
static void
fill_deep(int fd, int depth)
{
	int next;

	for (int i = 0; i < depth; i++) {
		make_file(fd, "file", 4711);
		if (mkdirat(fd, "d", 0700) == -1)
			abort();
		next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
		close(fd);
		fd = next;
	}
	close(fd);
}

static void
test_remove(void)
{
	struct stat st;

	fill_deep(open_kept("deep"), 2500);
	is_int(profile_drop(&dirs, "deep"), 0, "a deep one is dropped");
	is_int(fstatat(dirs.kept_fd, "deep", &st, 0), -1,
	    "its name is free for the next");
	is_int(profiles_remove_dropped(dirs.kept_fd), 0, "and is removed");
	is_int(entries(), 0, "with what lay too deep in it");
	is_int(remove_now("deep"), 0, "one that is not there, too");
	/* What a removal leaves that is cut short. */
	fill_deep(open_kept(".gone-0"), 100);
	fill_deep(open_kept(".gone-1"), 1);
	fill_deep(open_kept("deep"), 100);
	is_int(remove_now("deep"), 0, "one after half a removal");
	ok(fstatat(dirs.kept_fd, "deep", &st, 0) == -1 &&
		fstatat(dirs.kept_fd, ".gone-0", &st, 0) == -1 &&
		fstatat(dirs.kept_fd, ".gone-1", &st, 0) == -1,
	    "and what that left");
	fill_deep(open_kept(".gone-0"), 100);
	is_int(profiles_remove_dropped(dirs.kept_fd), 0, "which is removed");
	is_int(fstatat(dirs.kept_fd, ".gone-0", &st, 0), -1, "by itself");
	if (symlinkat("mine", dirs.kept_fd, "to-mine") == -1)
		abort();
	is_int(remove_now("to-mine"), 0, "a link");
	is_int(fstatat(dirs.kept_fd, "mine", &st, 0), 0, "not what it names");
}

static void
test_stale(void)
{
	int fd = open_kept("stale");
	struct stat st;

	if (symlinkat("browsertask-3", fd, "SingletonLock") == -1)
		abort();
	make_file(fd, "SingletonSocket", 4711);
	make_file(fd, "Cookies", 4711);
	close(open_kept("stale"));
	is_int(fstatat(fd, "SingletonLock", &st, AT_SYMLINK_NOFOLLOW), -1,
	    "the lock of a browser that was killed is gone");
	is_int(fstatat(fd, "SingletonSocket", &st, 0), -1, "its socket, too");
	is_int(fstatat(fd, "Cookies", &st, 0), 0, "all else is kept");
	close(fd);
	is_int(remove_now("stale"), 0, "removed");
}

static bool
uses(void *arg, const char *name)
{
	return strcmp(name, arg) == 0;
}

static void
test_purge(void)
{
	static const char *const names[] = { "a", "b", "used", "known" };
	struct kept *k = kept_new();
	char used[] = "used";
	struct stat st;

	for (size_t i = 0; i < 4; i++)
		close(open_kept(names[i]));
	is_int(kept_name(k, "known"), 0, "one is known");
	is_int(kept_name(k, "known"), 0, "said twice");
	kept_purge(k, &dirs, uses, used);
	for (size_t i = 0; i < 4; i++)
		is_int(fstatat(dirs.kept_fd, names[i], &st, 0), i < 2 ? -1 : 0,
		    names[i]);
	kept_name(k, "known");
	kept_clear(k);
	kept_purge(k, &dirs, uses, used);
	is_int(fstatat(dirs.kept_fd, "known", &st, 0), -1,
	    "a name counts for who said it");
	kept_free(&k);
	is_int(remove_now("used"), 0, "removed");
}

int
main(void)
{
	set_up();
	test_stale();
	test_purge();
	test_open();
	test_remove();
	if (geteuid() == 0)
		test_give();
	test_refuse();
	tear_down();
	return done_testing();
}
