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
#include "launcher/netns.h"
#include "launcher/root.h"

#define HOST_NAME "browsertask"
/* Where the profile is from within the tree. */
#define PROFILE_PLACE (&COMPARTMENT_PROFILE[1])

uint64_t
compartment_clone_flags(const struct compartment *c)
{
	uint64_t flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET;

	if (!c->shares_ipc)
		flags |= CLONE_NEWIPC;
	if (!c->shares_uts)
		flags |= CLONE_NEWUTS;
	if (c->own_cgroups)
		flags |= CLONE_NEWCGROUP;
	if (c->user_namespace)
		flags |= CLONE_NEWUSER;
	return flags;
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
begin_root(const struct compartment *c)
{
	return root_begin();
}

static int
put_system(const struct compartment *c)
{
	return root_put_system();
}

/*
 * Another proc would show the processes outside.
 * Only in system mode does hidepid keep anything apart: else all
 * have one uid, and the cell could not read what it must.
 */
static int
mount_proc(const struct compartment *c)
{
	char data[64] = "";
	int error = root_make_dir("proc");

	if (!c->user_namespace)
		snprintf(data, sizeof(data), "hidepid=2,gid=%u",
		    (unsigned int)c->proc_gid);
	if (error == 0 &&
	    mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		data) == -1)
		error = errno;
	return error;
}

static int
mount_tmp(const struct compartment *c)
{
	return root_put_tmpfs("tmp", c->memory_bytes, "mode=1777", MS_NOEXEC);
}

static int
mount_shm(const struct compartment *c)
{
	return root_put_tmpfs(
	    "dev/shm", c->memory_bytes, "mode=1777", MS_NOEXEC);
}

static int
put_browser(const struct compartment *c)
{
	return c->browser_dir[0] == '\0'
	    ? 0
	    : root_put(c->browser_dir, MOUNT_ATTR_NODEV);
}

/*
 * A copy of the mount at the profile. The path runs through a directory of
 * supervisord's: hence the comparison.
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
profile_put(const struct compartment *c)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	int tree = -1, error;

	error = root_make_dir(PROFILE_PLACE);
	if (error == 0)
		error = profile_take(c, &tree);
	if (error != 0)
		return error;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) == -1 ||
	    move_mount(tree, "", AT_FDCWD, PROFILE_PLACE,
		MOVE_MOUNT_F_EMPTY_PATH) == -1)
		error = errno;
	close(tree);
	return error;
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

	snprintf(data, sizeof(data), "mode=0700,uid=%u,gid=%u",
	    (unsigned int)c->profile_uid, (unsigned int)c->profile_gid);
	return root_put_tmpfs(PROFILE_PLACE, c->profile_bytes, data, MS_NOEXEC);
}

static int
mount_profile(const struct compartment *c)
{
	if (c->profile[0] != '\0')
		return profile_put(c);
	return c->fresh_profile ? profile_make(c) : 0;
}

static int
enter_root(const struct compartment *c)
{
	return root_enter();
}

static int
hide(const struct compartment *c)
{
	/* What helps to find one's way in the kernel, or names the machine. */
	static const char *const always[] = { "/usr/src", "/proc/config.gz",
		"/proc/interrupts", "/proc/iomem", "/proc/ioports",
		"/proc/kallsyms", "/proc/key-users", "/proc/keys",
		"/proc/modules" };
	int error = 0;

	for (size_t i = 0;
	     i < sizeof(c->hidden) / sizeof(c->hidden[0]) && error == 0; i++)
		error = root_hide(c->hidden[i]);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && error == 0;
	     i++)
		error = root_hide(always[i]);
	return error;
}

static int
seal_root(const struct compartment *c)
{
	return root_seal();
}

static int
name_host(const struct compartment *c)
{
	if (c->shares_uts)
		return 0;
	return sethostname(HOST_NAME, strlen(HOST_NAME)) == -1 ? errno : 0;
}

static int
start_network(const struct compartment *c)
{
	return netns_up();
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
		{ "begin a root directory", begin_root },
		{ "mount the system", put_system },
		{ "mount /proc", mount_proc },
		{ "mount /tmp", mount_tmp },
		{ "mount /dev/shm", mount_shm },
		{ "mount the browser's directory", put_browser },
		{ "mount the profile", mount_profile },
		{ "leave the machine's root", enter_root },
		{ "hide directories", hide },
		{ "make the root read-only", seal_root },
		{ "set host name", name_host },
		{ "start the loopback device", start_network },
	};
	mode_t mask = umask(022);
	int error = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && error == 0;
	     i++) {
		*ret_stage = steps[i].stage;
		error = steps[i].run(c);
	}
	umask(mask);
	return error;
}

int
compartment_listen(const struct compartment *c, int *ret_fd)
{
	*ret_fd = -1;
	return c->browser ? netns_listen(ret_fd) : 0;
}
