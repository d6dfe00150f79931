/*
 * paths: Landlock by its system calls, with definitions of its own, since
 * those of the system's headers are older than the kernels they run on. Runs in
 * supervisord, egressd and the browser to be.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/confine.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule       445
#define SYS_landlock_restrict_self  446
#endif

#define GET_VERSION       1U /* a flag of landlock_create_ruleset() */
#define RULE_PATH_BENEATH 1

/* Kernels take the beginning that they know, by its size. */
struct ruleset {
	uint64_t files;
	uint64_t net;    /* from version 4 */
	uint64_t scoped; /* from version 6 */
};

struct path_beneath {
	uint64_t allowed;
	int32_t parent_fd;
} __attribute__((packed));

#define FS_WRITE_FILE   (UINT64_C(1) << 1)
#define FS_READ_FILE    (UINT64_C(1) << 2)
#define FS_READ_DIR     (UINT64_C(1) << 3)
#define FS_MAKE_DEVICE  (UINT64_C(1) << 6 | UINT64_C(1) << 11)
#define FS_MAKE_DIR     (UINT64_C(1) << 7)
#define FS_MAKE_REG     (UINT64_C(1) << 8)
#define FS_REMOVE       (UINT64_C(3) << 4) /* directories, files */
#define FS_REFER        (UINT64_C(1) << 13)
#define FS_TRUNCATE     (UINT64_C(1) << 14)
#define FS_FIRST_ALL    ((UINT64_C(1) << 13) - 1)
#define FS_IOCTL_DEV    (UINT64_C(1) << 15)

#define NET_BIND_TCP    (UINT64_C(1) << 0)
#define NET_CONNECT_TCP (UINT64_C(1) << 1)
#define SCOPE_ALL       UINT64_C(3) /* abstract sockets, signals */

/* What rules can be about at all, of a directory and of a file. */
#define MAY_READ (FS_READ_FILE | FS_READ_DIR)
#define MAY_WRITE                                                           \
	(FS_WRITE_FILE | FS_REMOVE | FS_MAKE_DIR | FS_MAKE_REG | FS_REFER | \
	    FS_TRUNCATE)
#define OF_FILES (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)

/* The first version whose rules let a file move to another directory. */
#define ABI_REFER 2

static size_t
paths_handled(int abi, unsigned int flags, struct ruleset *ret)
{
	struct ruleset set = { .files = FS_FIRST_ALL };

	if (abi >= ABI_REFER)
		set.files |= FS_REFER;
	if (abi >= 3)
		set.files |= FS_TRUNCATE;
	if (abi >= 5)
		set.files |= FS_IOCTL_DEV;
	if (abi >= 4)
		set.net = NET_BIND_TCP |
		    (flags & CONFINE_TCP_CONNECT ? 0 : NET_CONNECT_TCP);
	if (abi >= 6)
		set.scoped = SCOPE_ALL;
	*ret = set;
	if (abi >= 6)
		return sizeof(set);
	return abi >= 4 ? offsetof(struct ruleset, scoped)
			: offsetof(struct ruleset, net);
}

static int
paths_add(int ruleset, uint64_t handled, const struct confine_path *path)
{
	struct path_beneath rule = { 0 };
	struct stat st;
	int fd = open(path->path, O_PATH | O_CLOEXEC), error = 0;

	if (fd == -1)
		return errno == ENOENT ? 0 : errno;
	rule.parent_fd = fd;
	if (path->may & CONFINE_MAY_READ)
		rule.allowed |= MAY_READ;
	if (path->may & CONFINE_MAY_WRITE)
		rule.allowed |= MAY_WRITE;
	if (fstat(fd, &st) == -1)
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	rule.allowed &= handled;
	if (error == 0 &&
	    syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule,
		0) == -1)
		error = errno;
	close(fd);
	return error;
}

static int
paths_restrict(
    const struct confine_path *paths, size_t n, unsigned int flags, int abi)
{
	struct ruleset set;
	size_t size = paths_handled(abi, flags, &set);
	int fd, error = 0;

	fd = (int)syscall(SYS_landlock_create_ruleset, &set, size, 0);
	if (fd == -1)
		return errno;
	for (size_t i = 0; error == 0 && i < n; i++)
		error = paths_add(fd, set.files, &paths[i]);
	if (error == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		error = errno;
	if (error == 0 && syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		error = errno;
	close(fd);
	return error;
}

int
confine_paths_version(void)
{
	int abi =
	    (int)syscall(SYS_landlock_create_ruleset, NULL, 0, GET_VERSION);

	return abi < ABI_REFER ? 0 : abi;
}

int
confine_paths(const struct confine_path *paths, size_t n, unsigned int flags,
    int *ret_abi)
{
	int abi = confine_paths_version(), error;

	if (confine_absence() != NULL) {
		*ret_abi = 0;
		return 0;
	}
	if (abi == 0)
		return EOPNOTSUPP;
	error = paths_restrict(paths, n, flags, abi);
	if (error == 0)
		*ret_abi = abi;
	return error;
}

/*
 * Any ruleset keeps its process from tracing others and from mounting. This one
 * forbids nothing else that a browser could do, but moving files must be
 * allowed, or it would be forbidden everywhere.
 */
static int
apart_restrict(int abi)
{
	struct ruleset set = { .files = FS_MAKE_DEVICE | FS_REFER,
		.scoped = abi >= 6 ? SCOPE_ALL : 0 };
	struct path_beneath rule = { .allowed = FS_REFER };
	int fd, error = 0;

	fd = (int)syscall(SYS_landlock_create_ruleset, &set,
	    abi >= 6 ? sizeof(set) : offsetof(struct ruleset, net), 0);
	if (fd == -1)
		return errno;
	rule.parent_fd = open("/", O_PATH | O_CLOEXEC);
	if (rule.parent_fd == -1 ||
	    syscall(SYS_landlock_add_rule, fd, RULE_PATH_BENEATH, &rule, 0) ==
		-1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		error = errno;
	if (rule.parent_fd != -1)
		close(rule.parent_fd);
	close(fd);
	return error;
}

int
confine_apart(int *ret_abi)
{
	int abi = confine_paths_version(), error;

	if (abi == 0)
		return EOPNOTSUPP;
	error = apart_restrict(abi);
	if (error == 0)
		*ret_abi = abi;
	return error;
}
