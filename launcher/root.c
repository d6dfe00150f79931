/*
 * root: builds the directory tree of a compartment: the system's programs and
 * libraries, read-only, and nothing of the machine's users, its configuration
 * or its other services. Runs in the child between clone and exec of the cell.
 * Must never let in a directory because it might be of use: what is in the
 * table below is what a hostile browser can read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/root.h"

/*
 * The tree is built over the one directory from which nothing is taken, since
 * what lies below the place cannot be reached by its path any more.
 */
#define STAGE "/proc"
/* Directories and links, no file has a size. */
#define TREE_OPTIONS "mode=0755,size=64k,nr_inodes=512"

enum {
	LINK = 1 << 0,   /* a link within /usr stays one */
	DEVICE = 1 << 1, /* must work as one */
	NEEDED = 1 << 2, /* others may be missing */
};

static const struct root_row {
	const char *path;
	unsigned int flags;
} root_rows[] = {
	{ "/usr", NEEDED },
	{ "/bin", LINK },
	{ "/sbin", LINK },
	{ "/lib", LINK },
	{ "/lib32", LINK },
	{ "/lib64", LINK },
	{ "/libx32", LINK },
	{ "/etc/alternatives", 0 },
	{ "/etc/fonts", 0 },
	{ "/etc/ld.so.cache", 0 },
	/* Its name is the time zone's, hence never the file behind it. */
	{ "/etc/localtime", LINK },
	{ "/etc/ssl/certs", 0 },
	/* Without it every start reads all fonts of the machine. */
	{ "/var/cache/fontconfig", 0 },
	{ "/dev/full", NEEDED | DEVICE },
	{ "/dev/null", NEEDED | DEVICE },
	{ "/dev/random", NEEDED | DEVICE },
	{ "/dev/urandom", NEEDED | DEVICE },
	{ "/dev/zero", NEEDED | DEVICE },
};

int
root_begin(void)
{
	if (mount("tmpfs", STAGE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		TREE_OPTIONS) == -1 ||
	    chdir(STAGE) == -1)
		return errno;
	return 0;
}

/* Its parents only. */
static int
make_parents(const char *path)
{
	char part[PATH_MAX];

	if (strlcpy(part, path, sizeof(part)) >= sizeof(part))
		return ENAMETOOLONG;
	for (char *p = part; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			return errno;
		*p = '/';
	}
	return 0;
}

int
root_make_dir(const char *path)
{
	int error = make_parents(path);

	if (error == 0 && mkdir(path, 0755) == -1 && errno != EEXIST)
		error = errno;
	return error;
}

/* Something to mount on. */
static int
make_place(const char *path, mode_t kind)
{
	int error, fd;

	if (S_ISDIR(kind))
		return root_make_dir(path);
	error = make_parents(path);
	if (error != 0)
		return error;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
	if (fd == -1)
		return errno;
	close(fd);
	return 0;
}

/* A copy of the mounts at one path, onto another. */
static int
bind_path(const char *from, const char *to, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	int tree, error = 0;

	tree = open_tree(
	    AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree == -1)
		return errno;
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		sizeof(attr)) == -1 ||
	    move_mount(tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) == -1)
		error = errno;
	close(tree);
	return error;
}

int
root_put(const char *path, uint64_t attributes)
{
	struct stat st;
	int error;

	if (stat(path, &st) == -1)
		return errno;
	error = make_place(path + 1, st.st_mode);
	if (error != 0)
		return error;
	return bind_path(
	    path, path + 1, attributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
}

/* A link that leads into /usr is made anew; *ret_made is false for others. */
static int
put_link(const char *path, bool *ret_made)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	const char *rest = to;
	int error;

	*ret_made = false;
	if (n == -1)
		return errno == EINVAL ? 0 : errno;
	to[n] = '\0';
	while (strncmp(rest, "../", 3) == 0)
		rest += 3;
	if (strncmp(rest[0] == '/' ? rest + 1 : rest, "usr/", 4) != 0)
		return 0;
	error = make_parents(path + 1);
	if (error == 0 && symlink(to, path + 1) == -1)
		error = errno;
	*ret_made = error == 0;
	return error;
}

static int
put_row(const struct root_row *row)
{
	bool made = false;
	int error = 0;

	if (row->flags & LINK)
		error = put_link(row->path, &made);
	if (error == 0 && !made)
		error = root_put(row->path,
		    row->flags & DEVICE ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV);
	return error == ENOENT && (row->flags & NEEDED) == 0 ? 0 : error;
}

/*
 * What the machine's administrator has below /usr/local is nobody's business,
 * but for what programs and browser may be linked with, and fonts.
 */
static int
put_local(void)
{
	static const char *const kept[] = { "/usr/local/lib",
		"/usr/local/lib64", "/usr/local/share/fonts" };
	int error = 0;

	if (access("usr/local", F_OK) == -1)
		return 0;
	if (mount("tmpfs", "usr/local", "tmpfs",
		MS_NOSUID | MS_NODEV | MS_NOEXEC, TREE_OPTIONS) == -1)
		return errno;
	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]) && error == 0;
	     i++)
		if (access(kept[i], F_OK) == 0)
			error = root_put(kept[i], MOUNT_ATTR_NODEV);
	return error;
}

int
root_put_system(void)
{
	int error = 0;

	for (size_t i = 0;
	     i < sizeof(root_rows) / sizeof(root_rows[0]) && error == 0; i++)
		error = put_row(&root_rows[i]);
	return error == 0 ? put_local() : error;
}

int
root_put_tmpfs(
    const char *path, uint64_t bytes, const char *options, uint64_t mount_flags)
{
	char data[128];
	int error = root_make_dir(path);

	if (error != 0)
		return error;
	snprintf(data, sizeof(data), "%s,size=%" PRIu64, options, bytes);
	return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | mount_flags,
		   data) == -1
	    ? errno
	    : 0;
}

/* The old root is put upon the new one, and is what . leads to then. */
int
root_enter(void)
{
	if (syscall(SYS_pivot_root, ".", ".") == -1 ||
	    umount2(".", MNT_DETACH) == -1 || chdir("/") == -1)
		return errno;
	return 0;
}

int
root_hide(const char *path)
{
	struct stat st;
	int error;

	if (path == NULL || lstat(path, &st) == -1)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return bind_path("/dev/null", path,
		    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			MOUNT_ATTR_NOEXEC);
	error = mount("tmpfs", path, "tmpfs",
	    MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "mode=0755,size=4k");
	return error == -1 ? errno : 0;
}

int
root_seal(void)
{
	static const char *const places[] = { "/", "/usr/local" };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	/* The second is a mount of its own where the system has it. */
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (mount_setattr(
			AT_FDCWD, places[i], 0, &attr, sizeof(attr)) == -1 &&
		    (i == 0 || (errno != EINVAL && errno != ENOENT)))
			return errno;
	return 0;
}
