/* Profile directories and their removal, whatever a browser left in them. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/profiles.h"
#include "t/unit/tap.h"

static struct dirs dirs;
static char top[] = "/tmp/bt-profiles-XXXXXX";
static struct launch_spawn spawn;

static void
must(int result)
{
	if (result == -1)
		abort();
}

static int
open_sub(const char *name)
{
	if (mkdirat(dirs.state_fd, name, 0700) == -1 && errno != EEXIST)
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
	dirs.fresh_fd = open_sub("profiles/fresh");
	dirs.kept_fd = open_sub("profiles/kept");
	dirs.trash_fd = open_sub("profiles/trash");
	memset(&spawn.session, 7, sizeof(spawn.session));
}

static int
trash_all(void)
{
	int steps = 0;

	while (trash_step(&dirs))
		steps++;
	return steps;
}

/* Nothing but the three directories is left when they can be removed. */
static void
tear_down(void)
{
	is_int(unlinkat(dirs.state_fd, "profiles/trash", AT_REMOVEDIR), 0,
	    "the trash is empty");
	is_int(unlinkat(dirs.state_fd, "profiles/fresh", AT_REMOVEDIR), 0,
	    "no fresh profile is left");
	is_int(unlinkat(dirs.state_fd, "profiles/kept/mine", AT_REMOVEDIR), 0,
	    "the kept one is");
	unlinkat(dirs.state_fd, "profiles/kept", AT_REMOVEDIR);
	unlinkat(dirs.state_fd, "profiles", AT_REMOVEDIR);
	is_int(rmdir(top), 0, "and nothing else");
}

static int
open_fresh(struct profile *p)
{
	char path[PATH_MAX];

	if (profile_open(&dirs, &spawn, geteuid(), p) != 0 ||
	    profile_path(&dirs, p, path) != 0)
		abort();
	return open(path, O_RDONLY | O_DIRECTORY);
}

static void
touch(int dirfd, const char *name)
{
	close(openat(dirfd, name, O_WRONLY | O_CREAT, 0600));
}

static void
test_open(void)
{
	struct profile p, again;
	struct stat st;
	char path[PATH_MAX];

	memset(&p, 0, sizeof(p));
	is_int(profile_open(&dirs, &spawn, geteuid(), &p), 0, "a fresh one");
	is_int(profile_path(&dirs, &p, path), 0, "has a path");
	ok(stat(path, &st) == 0 && st.st_ino == p.st.st_ino,
	    "that leads there");
	is_int(st.st_mode & 0777, 0700, "and is private");
	is_int(profile_open(&dirs, &spawn, geteuid(), &again), EEXIST,
	    "one per session");
	profile_close(&dirs, &p);
	is_int(stat(path, &st), -1, "closed: it is gone from its place");
	profile_close(&dirs, &p);

	strlcpy(spawn.profile, "mine", sizeof(spawn.profile));
	is_int(profile_open(&dirs, &spawn, geteuid(), &p), 0, "a kept one");
	profile_close(&dirs, &p);
	is_int(profile_open(&dirs, &spawn, geteuid(), &p), 0, "is found again");
	profile_close(&dirs, &p);
	is_int(profile_open(&dirs, &spawn, geteuid() + 1, &p), EPERM,
	    "but not for another uid");
	is_int(faccessat(dirs.kept_fd, "mine", F_OK, 0), 0, "and stays");
	spawn.profile[0] = '\0';
	trash_all();
}

static void
test_many(void)
{
	struct profile p;
	char name[32];
	int fd = open_fresh(&p), steps;

	for (int i = 0; i < 4 * TRASH_BUDGET; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		touch(fd, name);
	}
	close(fd);
	profile_close(&dirs, &p);
	steps = trash_all();
	ok(steps >= 4 && steps < 20, "many files: %d steps", steps);
}

static void
test_deep(void)
{
	struct profile p;
	int fd = open_fresh(&p), next, depth, steps;

	/* Deeper than a path can be long. */
	for (depth = 0; depth < 3000; depth++) {
		if (mkdirat(fd, "dddddddd", 0700) == -1)
			break;
		next = openat(fd, "dddddddd", O_RDONLY | O_DIRECTORY);
		touch(fd, "file");
		close(fd);
		fd = next;
	}
	close(fd);
	profile_close(&dirs, &p);
	steps = trash_all();
	ok(depth == 3000 && steps > 3, "%d levels: %d steps", depth, steps);
}

static void
test_hostile(void)
{
	struct profile p;
	struct stat st;
	int fd = open_fresh(&p);

	touch(dirs.state_fd, "outside");
	mkdirat(dirs.state_fd, "outdir", 0700);
	touch(dirs.state_fd, "outdir/inside");
	if (symlinkat("../../../outside", fd, "to-file") == -1 ||
	    symlinkat("../../../outdir", fd, "to-dir") == -1 ||
	    linkat(dirs.state_fd, "outside", fd, "same", 0) == -1)
		abort();
	mkdirat(fd, "closed", 0700);
	mkdirat(fd, "closed/sub", 0700);
	touch(fd, "closed/sub/file");
	must(fchmodat(fd, "closed/sub", 0, 0));
	must(fchmodat(fd, "closed", 0, 0));
	mkfifoat(fd, "fifo", 0600);
	must(fchmod(fd, 0));
	close(fd);
	profile_close(&dirs, &p);
	trash_all();
	ok(fstatat(dirs.state_fd, "outside", &st, 0) == 0,
	    "what a link led to is there");
	is_int(st.st_mode & 0777, 0600, "untouched");
	is_int(faccessat(dirs.state_fd, "outdir/inside", F_OK, 0), 0,
	    "a directory, too");
	unlinkat(dirs.state_fd, "outdir/inside", 0);
	unlinkat(dirs.state_fd, "outdir", AT_REMOVEDIR);
	unlinkat(dirs.state_fd, "outside", 0);
}

/* The directories as a new mount namespace has them. */
static bool
enter_namespace(void)
{
	if ((unshare(CLONE_NEWNS) == -1 &&
		unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return false;
	dirs.state_fd = open(top, O_RDONLY | O_DIRECTORY);
	dirs.fresh_fd = open_sub("profiles/fresh");
	dirs.trash_fd = open_sub("profiles/trash");
	return true;
}

/* A mount point cannot be removed or renamed, not even by root. */
static int
stuck_child(void)
{
	struct profile p;
	char path[PATH_MAX];
	int fd, steps = 0;

	if (!enter_namespace())
		return 100;
	fd = open_fresh(&p);
	if (profile_path(&dirs, &p, path) != 0 ||
	    strlcat(path, "/stuck", sizeof(path)) >= sizeof(path) ||
	    mkdir(path, 0700) == -1 ||
	    mount("none", path, "tmpfs", 0, NULL) == -1)
		return 100;
	touch(fd, "file");
	close(fd);
	profile_close(&dirs, &p);
	while (steps < 50 && trash_step(&dirs))
		steps++;
	return steps;
}

static void
test_stuck(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(stuck_child());
	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		abort();
	if (WEXITSTATUS(status) == 100)
		tap_skip("what cannot be removed", "no mounts allowed here");
	else
		ok(WIFEXITED(status) && WEXITSTATUS(status) < 5,
		    "what cannot be removed is left alone after %d steps",
		    WEXITSTATUS(status));
	profiles_discard_all(&dirs);
	trash_all();
}

static void
test_discard_all(void)
{
	struct profile p;
	int fd = open_fresh(&p);

	touch(fd, "left");
	close(fd);
	profiles_discard_all(&dirs);
	ok(trash_all() >= 1, "what an earlier instance left is removed");
	is_int(trash_step(&dirs), 0, "then there is nothing to do");
}

int
main(void)
{
	umask(022);
	set_up();
	test_open();
	test_many();
	test_deep();
	test_hostile();
	test_stuck();
	test_discard_all();
	tear_down();
	return done_testing();
}
