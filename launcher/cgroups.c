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

#include "common/cgroup.h"
#include "common/clock.h"
#include "common/fdio.h"
#include "launcher/cgroups.h"

#define SERVICE    "service" /* where the launcher itself goes */
#define PREFIX     "cell-"
#define FILE_BYTES 4096
#define NAMES_MAX  64   /* tried for one */
#define EMPTY_MS   5000 /* for what a former life left to be gone */

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
	if (!cgroup_read(dir, "cgroup.controllers", text, sizeof(text)) ||
	    !has_word(text, "memory") || !has_word(text, "pids"))
		return "it has no controllers for memory and processes";
	snprintf(self, sizeof(self), "%d\n", (int)getpid());
	if (!cgroup_read(dir, "cgroup.procs", text, sizeof(text)) ||
	    strcmp(text, self) != 0)
		return "other processes are in it";
	return NULL;
}

/* Leftovers. */

static bool
cgroup_is_empty(int dir)
{
	char text[FILE_BYTES];

	return !cgroup_read(dir, "cgroup.events", text, sizeof(text)) ||
	    cgroup_number(text, "populated") == 0;
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

/* The group as it is dying, or -1. */
static int
cgroup_kill(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd != -1)
		file_write(fd, "cgroup.kill", "1");
	return fd;
}

static void
cgroup_sweep(int dir, const char *name)
{
	int fd = cgroup_kill(dir, name);

	if (fd == -1)
		return;
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
	int dir = cgroup_open_own(), error;
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

/*
 * What is left under a name is ended. While somebody is in it, it is in the
 * way: then another name does.
 */
static int
cgroup_make_dir(int dir, uint32_t id, char ret_name[GROUP_NAME_BYTES])
{
	char name[GROUP_NAME_BYTES];
	int fd;

	snprintf(name, sizeof(name), PREFIX "%u", (unsigned int)id);
	for (unsigned int i = 1; mkdirat(dir, name, 0755) == -1; i++) {
		if (errno != EEXIST || i > NAMES_MAX)
			return errno;
		if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
			continue;
		fd = cgroup_kill(dir, name);
		fd_close(&fd);
		snprintf(
		    name, sizeof(name), PREFIX "%u.%u", (unsigned int)id, i);
	}
	strlcpy(ret_name, name, GROUP_NAME_BYTES);
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
	error = cgroup_make_dir(g->dir, id, one.name);
	if (error != 0)
		return error;
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
	if (cgroup_read(one->dir, "memory.events", text, sizeof(text)) &&
	    cgroup_number(text, "oom_kill") > 0) {
		*ret_breach = (struct launch_breach){ LAUNCH_OVER_MEMORY, 0,
			l->memory, l->memory };
		return true;
	}
	if (cgroup_read(one->dir, "pids.events", text, sizeof(text)) &&
	    cgroup_number(text, "max") > 0) {
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
