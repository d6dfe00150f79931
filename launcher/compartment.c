/*
 * compartment: turns fresh namespaces into a compartment. Runs in the child
 * between clone and exec of the cell: as root in system mode, in user mode
 * with the capabilities of a new user namespace, which vanish at exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/fdio.h"
#include "launcher/compartment.h"

#define HOST_NAME     "browsertask"
#define PROFILE_BYTES "256m"

uint64_t
compartment_clone_flags(const struct compartment *c)
{
	uint64_t flags =
	    CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;

	return c->user_namespace ? flags | CLONE_NEWUSER : flags;
}

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), error;

	if (fd == -1)
		return errno;
	error = fd_write_all(fd, text, strlen(text));
	close(fd);
	return error;
}

static int
map_ids(const struct compartment *c)
{
	char line[64];
	int error;

	if (!c->user_namespace)
		return 0;
	error = write_file("/proc/self/setgroups", "deny");
	if (error != 0)
		return error;
	snprintf(line, sizeof(line), "%u %u 1\n", (unsigned int)c->uid,
	    (unsigned int)c->uid);
	error = write_file("/proc/self/uid_map", line);
	if (error != 0)
		return error;
	snprintf(line, sizeof(line), "%u %u 1\n", (unsigned int)c->gid,
	    (unsigned int)c->gid);
	return write_file("/proc/self/gid_map", line);
}

static int
make_private(const struct compartment *c)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ? errno
								       : 0;
}

static int
mount_tmpfs(const char *where, unsigned long flags, const char *data)
{
	return mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV | flags,
		   data) == -1
	    ? errno
	    : 0;
}

/*
 * A copy of the mount at the profile, made while the path still leads there.
 * The path runs through a directory of supervisord's: hence the comparison.
 */
static int
profile_take(const struct compartment *c, int *ret_tree)
{
	struct stat st;
	int fd, tree, error;

	fd = open(c->profile, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return errno;
	if (fstat(fd, &st) == -1 || st.st_dev != c->profile_st.st_dev ||
	    st.st_ino != c->profile_st.st_ino) {
		close(fd);
		return ESTALE;
	}
	tree = open_tree(
	    fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	error = tree == -1 ? errno : 0;
	close(fd);
	if (error == 0)
		*ret_tree = tree;
	return error;
}

static int
profile_put(int tree)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };

	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1)
		return errno;
	if (mkdir(COMPARTMENT_PROFILE, 0700) == -1)
		return errno;
	if (move_mount(tree, "", AT_FDCWD, COMPARTMENT_PROFILE,
		MOVE_MOUNT_F_EMPTY_PATH) == -1)
		return errno;
	close(tree);
	return 0;
}

/*
 * In memory, gone with the compartment: a browser makes some eighty files and
 * directories in it, and to remove them from a disk cost more than the rest of
 * the launcher's work for a run. The bound is for pages that store things.
 */
static int
profile_make(const struct compartment *c)
{
	char data[64];

	if (mkdir(COMPARTMENT_PROFILE, 0700) == -1)
		return errno;
	snprintf(data, sizeof(data), "mode=0700,uid=%u,gid=%u,size=%s",
	    (unsigned int)c->profile_uid, (unsigned int)c->profile_gid,
	    PROFILE_BYTES);
	return mount_tmpfs(COMPARTMENT_PROFILE, MS_NOEXEC, data);
}

static int
mount_tmp(const struct compartment *c)
{
	int tree = -1, error = 0;

	if (c->profile[0] != '\0')
		error = profile_take(c, &tree);
	if (error == 0)
		error = mount_tmpfs("/tmp", 0, "mode=1777");
	if (error == 0 && tree != -1)
		error = profile_put(tree);
	if (error == 0 && c->fresh_profile)
		error = profile_make(c);
	return error;
}

static int
mount_shm(const struct compartment *c)
{
	return mount_tmpfs("/dev/shm", 0, "mode=1777");
}

/* Another proc would show the processes outside. */
static int
mount_proc(const struct compartment *c)
{
	return mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		   NULL) == -1
	    ? errno
	    : 0;
}

/* What lies below /tmp is hidden already. */
static int
hide(const struct compartment *c)
{
	int error;

	for (size_t i = 0; i < sizeof(c->hidden) / sizeof(c->hidden[0]); i++) {
		error = mount_tmpfs(
		    c->hidden[i], MS_NOEXEC | MS_RDONLY, "mode=0755");
		if (error != 0 && error != ENOENT)
			return error;
	}
	return 0;
}

static int
name_host(const struct compartment *c)
{
	return sethostname(HOST_NAME, strlen(HOST_NAME)) == -1 ? errno : 0;
}

int
compartment_enter(const struct compartment *c, const char **ret_stage)
{
	static const struct {
		const char *stage;
		int (*run)(const struct compartment *);
	} steps[] = {
		{ "map ids", map_ids },
		{ "make mounts private", make_private },
		{ "mount /tmp", mount_tmp },
		{ "mount /dev/shm", mount_shm },
		{ "mount /proc", mount_proc },
		{ "hide directories", hide },
		{ "set host name", name_host },
	};
	int error;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		error = steps[i].run(c);
		if (error != 0) {
			*ret_stage = steps[i].stage;
			return error;
		}
	}
	return chdir("/") == -1 ? errno : 0;
}
