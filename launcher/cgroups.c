/*
 * cgroups: control groups of cells. Runs in the launcher. The kernel holds a
 * cell to its memory and its processes, kills all of it when memory is used up,
 * and says so by an event. This never touches a group that others may be in,
 * nor one that its owner has not handed over.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fdio.h"
#include "launcher/cgroups.h"

#define SERVICE    "service" /* where the launcher itself goes */
#define PREFIX     "cell-"
#define FILE_BYTES 4096
#define INFO_BYTES 262144
#define EMPTY_MS   5000 /* for what a former life left to be gone */

static bool
file_read(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	if (fd == -1)
		return false;
	while (len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	close(fd);
	buf[len] = '\0';
	return n != -1;
}

static int
file_write(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CLOEXEC), error;

	if (fd == -1)
		return errno;
	error = fd_write_all(fd, text, strlen(text));
	close(fd);
	return error;
}

static int
file_write_number(int dir, const char *name, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	return file_write(dir, name, text);
}

/* Which group this is. */

bool
cgroups_own(const char *text, char *ret_path, size_t size)
{
	size_t len;

	while (strncmp(text, "0::/", 4) != 0) {
		text = strchr(text, '\n');
		if (text == NULL)
			return false;
		text++;
	}
	text += 3;
	len = strcspn(text, "\n");
	if (len >= size || text[len] != '\n')
		return false;
	memcpy(ret_path, text, len);
	ret_path[len] = '\0';
	return true;
}

/* Words 4 and 5 are the root of the mount and its place. */
static bool
mount_line(char *line, char *ret_point, char *ret_root, size_t size)
{
	char *word, *rest = line, *words[5];

	if (strstr(line, " - cgroup2 ") == NULL)
		return false;
	for (size_t i = 0; i < 5; i++) {
		word = strsep(&rest, " ");
		if (word == NULL)
			return false;
		words[i] = word;
	}
	return strlcpy(ret_root, words[3], size) < size &&
	    strlcpy(ret_point, words[4], size) < size;
}

bool
cgroups_mount(const char *text, char *ret_point, char *ret_root, size_t size)
{
	char line[2 * PATH_MAX];
	size_t len;

	for (; *text != '\0'; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		if (len >= sizeof(line))
			continue;
		memcpy(line, text, len);
		line[len] = '\0';
		if (mount_line(line, ret_point, ret_root, size))
			return true;
	}
	return false;
}

uint64_t
cgroups_number(const char *text, const char *key)
{
	size_t len = strlen(key);

	while (text != NULL && *text != '\0') {
		if (strncmp(text, key, len) == 0 && text[len] == ' ')
			return strtoull(text + len + 1, NULL, 10);
		text = strchr(text, '\n');
		if (text != NULL)
			text++;
	}
	return 0;
}

/* The directory of this process's group, or -1. */
static int
own_open(void)
{
	static char text[INFO_BYTES];
	char own[PATH_MAX], point[PATH_MAX], root[PATH_MAX];
	char path[2 * PATH_MAX];
	size_t skip;

	if (!file_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text)) ||
	    !cgroups_own(text, own, sizeof(own)) ||
	    !file_read(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text)) ||
	    !cgroups_mount(text, point, root, sizeof(point)))
		return -1;
	skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(own, root, skip) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s%s", point, own + skip);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Whether it may be used. */

static bool
has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; (p = strstr(p, word)) != NULL; p += len)
		if ((p == text || p[-1] == ' ') &&
		    strchr(" \n", p[len]) != NULL)
			return true;
	return false;
}

static bool
has_xattr(int dir, const char *name)
{
	char value[64], full[64];

	/* For root's groups the one, for users' the other. */
	snprintf(full, sizeof(full), "trusted.%s", name);
	if (fgetxattr(dir, full, value, sizeof(value)) > 0)
		return true;
	snprintf(full, sizeof(full), "user.%s", name);
	return fgetxattr(dir, full, value, sizeof(value)) > 0;
}

/* A manager other than systemd hands over what it puts a program in alone. */
static const char *
own_refusal(int dir)
{
	char text[FILE_BYTES], self[32];

	if (dir == -1)
		return "there is no control group of version 2";
	if (faccessat(dir, "cgroup.type", F_OK, 0) == -1)
		return "it is the root of all groups";
	if (has_xattr(dir, "invocation_id") && !has_xattr(dir, "delegate"))
		return "its unit has no Delegate=memory pids";
	if (!file_read(dir, "cgroup.controllers", text, sizeof(text)) ||
	    !has_word(text, "memory") || !has_word(text, "pids"))
		return "it has no controllers for memory and processes";
	snprintf(self, sizeof(self), "%d\n", (int)getpid());
	if (!file_read(dir, "cgroup.procs", text, sizeof(text)) ||
	    strcmp(text, self) != 0)
		return "other processes are in it";
	return NULL;
}

/* Leftovers. */

static bool
cgroup_is_empty(int dir)
{
	char text[FILE_BYTES];

	return !file_read(dir, "cgroup.events", text, sizeof(text)) ||
	    cgroups_number(text, "populated") == 0;
}

/* The kernel wakes who polls the file of events. */
static void
cgroup_wait_empty(int dir)
{
	struct pollfd p = { .events = POLLPRI };
	int64_t until = clock_mono_ms() + EMPTY_MS, left;

	p.fd = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
	while (p.fd != -1 && !cgroup_is_empty(dir) &&
	    (left = until - clock_mono_ms()) > 0)
		if (poll(&p, 1, (int)left) == -1)
			break;
	fd_close(&p.fd);
}

static void
cgroup_sweep(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return;
	file_write(fd, "cgroup.kill", "1");
	cgroup_wait_empty(fd);
	close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

static void
cgroups_sweep(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (list == NULL) {
		fd_close(&fd);
		return;
	}
	while ((d = readdir(list)) != NULL)
		if (strncmp(d->d_name, PREFIX, strlen(PREFIX)) == 0)
			cgroup_sweep(dir, d->d_name);
	closedir(list);
}

/* Only a group without processes of its own may hand controllers on. */
static int
cgroups_settle(int dir)
{
	int error = 0;

	if (mkdirat(dir, SERVICE, 0755) == -1 && errno != EEXIST)
		return errno;
	error = file_write(dir, SERVICE "/cgroup.procs", "0");
	if (error == 0)
		error =
		    file_write(dir, "cgroup.subtree_control", "+memory +pids");
	if (error == 0)
		return 0;
	file_write(dir, "cgroup.procs", "0");
	unlinkat(dir, SERVICE, AT_REMOVEDIR);
	return error;
}

bool
cgroups_open(struct cgroups *g, char ret_why[GROUP_WHY_BYTES])
{
	int dir = own_open(), error;
	const char *why = own_refusal(dir);

	g->dir = g->changes = -1;
	if (why != NULL) {
		strlcpy(ret_why, why, GROUP_WHY_BYTES);
		fd_close(&dir);
		return false;
	}
	cgroups_sweep(dir);
	g->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	error = g->changes == -1 ? errno : cgroups_settle(dir);
	if (error != 0) {
		snprintf(ret_why, GROUP_WHY_BYTES, "it cannot be used: %s",
		    strerror(error));
		fd_close(&g->changes);
		fd_close(&dir);
		return false;
	}
	g->dir = dir;
	return true;
}

void
cgroups_drain(struct cgroups *g)
{
	char events[FILE_BYTES];
	ssize_t n;

	do
		n = read(g->changes, events, sizeof(events));
	while (n > 0);
}

/* One of them. */

/* Not all kernels have swap to be counted, nor all what follows from it. */
static int
cgroup_limit(int dir, const struct launch_limits *l)
{
	int error = file_write_number(dir, "memory.max", l->memory);

	if (error == 0)
		error = file_write_number(dir, "pids.max", l->processes);
	if (error == 0)
		error = file_write(dir, "memory.oom.group", "1");
	if (error != 0)
		return error;
	error = file_write(dir, "memory.swap.max", "0");
	return error == ENOENT ? 0 : error;
}

/* By the path of the descriptor: that of the group may not lead there. */
static int
cgroup_watch(const struct cgroups *g, int dir)
{
	static const char *const names[] = { "memory.events", "pids.events" };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(
		    path, sizeof(path), "/proc/self/fd/%d/%s", dir, names[i]);
		if (inotify_add_watch(g->changes, path, IN_MODIFY) == -1)
			return errno;
	}
	return 0;
}

int
cgroup_make(struct cgroups *g, uint32_t id, const struct launch_limits *limits,
    struct cgroup *ret_group)
{
	struct cgroup one = { .dir = -1, .limits = *limits };
	int error;

	if (g->dir == -1) {
		*ret_group = one;
		return 0;
	}
	snprintf(one.name, sizeof(one.name), PREFIX "%u", (unsigned int)id);
	if (mkdirat(g->dir, one.name, 0755) == -1)
		return errno;
	one.dir = openat(g->dir, one.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = one.dir == -1 ? errno : cgroup_limit(one.dir, limits);
	if (error == 0)
		error = cgroup_watch(g, one.dir);
	if (error != 0)
		cgroup_remove(g, &one);
	else
		*ret_group = one;
	return error;
}

bool
cgroup_breach(const struct cgroup *one, struct launch_breach *ret_breach)
{
	const struct launch_limits *l = &one->limits;
	char text[FILE_BYTES];

	if (one->dir == -1)
		return false;
	if (file_read(one->dir, "memory.events", text, sizeof(text)) &&
	    cgroups_number(text, "oom_kill") > 0) {
		*ret_breach = (struct launch_breach){ LAUNCH_OVER_MEMORY, 0,
			l->memory, l->memory };
		return true;
	}
	if (file_read(one->dir, "pids.events", text, sizeof(text)) &&
	    cgroups_number(text, "max") > 0) {
		*ret_breach = (struct launch_breach){ LAUNCH_OVER_PROCESSES, 0,
			l->processes, l->processes };
		return true;
	}
	return false;
}

/* The watches go with the files. */
void
cgroup_remove(struct cgroups *g, struct cgroup *one)
{
	if (one->name[0] == '\0' || g->dir == -1)
		return;
	fd_close(&one->dir);
	unlinkat(g->dir, one->name, AT_REMOVEDIR);
	one->name[0] = '\0';
}
