/*
 * What doctor looks at in the machine's resources: directories, disk, limits,
 * memory, cgroup.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "ctl/doctor.h"
#include "ctl/text.h"

#define FILES_LEAST  513           /* supervisord does not start below */
#define FILES_WANTED (512 + 1024)  /* the reserve, and maxClients */
#define MEMORY_EACH  (250ll << 20) /* of a run's processes */
#define SHARE_LEAST  5

/* Directories. */

/* The nearest part of path that exists. */
static void
existing_part(const char *path, char ret[PATH_MAX])
{
	struct stat st;
	char *slash;

	strlcpy(ret, path, PATH_MAX);
	while (stat(ret, &st) == -1 && (slash = strrchr(ret, '/')) != NULL)
		if (slash == ret) {
			ret[1] = '\0';
			break;
		} else
			*slash = '\0';
}

static void
say_absent(struct doctor *d, const char *what, const char *path)
{
	char part[PATH_MAX];

	existing_part(path, part);
	if (access(part, W_OK) == 0)
		doctor_say(d, DOCTOR_OK, what, NULL,
		    "%s is made by the first start", path);
	else
		doctor_say(d, DOCTOR_FAIL, what,
		    "make it, or name another one to browsertaskd",
		    "%s is not there and cannot be made: %s: %s", path, part,
		    strerror(errno));
}

static void
check_dir(struct doctor *d, const char *what, const char *path, mode_t wrong)
{
	struct stat st;
	mode_t mode;

	if (path[0] == '\0')
		return;
	if (stat(path, &st) == -1 && errno == ENOENT) {
		say_absent(d, what, path);
		return;
	}
	if (stat(path, &st) == -1) {
		doctor_say(d, DOCTOR_WARN, what,
		    "ask again as root or as the user of the service", "%s: %s",
		    path, strerror(errno));
		return;
	}
	mode = st.st_mode & 07777;
	if (!S_ISDIR(st.st_mode))
		doctor_say(d, DOCTOR_FAIL, what,
		    "move it away, or name another one to browsertaskd",
		    "%s is no directory", path);
	else if ((mode & wrong) != 0)
		doctor_say(d, DOCTOR_FAIL, what,
		    "chmod go-w it (the state directory: chmod 0700)",
		    "%s has mode %04o: others could get at it", path,
		    (unsigned)mode);
	else if (!d->system && st.st_uid != geteuid() && !d->running)
		doctor_say(d, DOCTOR_FAIL, what,
		    "name another one to browsertaskd", "%s belongs to uid %u",
		    path, (unsigned)st.st_uid);
	else
		doctor_say(d, DOCTOR_OK, what, NULL, "%s, mode %04o, uid %u",
		    path, (unsigned)mode, (unsigned)st.st_uid);
}

static void
check_socket(struct doctor *d, const char *name, mode_t wrong)
{
	char path[PATH_MAX + 32];
	struct stat st;
	mode_t mode;

	snprintf(path, sizeof(path), "%s/%s", d->run_dir, name);
	if (!d->running || stat(path, &st) == -1)
		return;
	mode = st.st_mode & 0777;
	if ((mode & wrong) != 0)
		doctor_say(d, DOCTOR_FAIL, "sockets",
		    "restart browsertaskd; it makes them with the right mode",
		    "%s has mode %04o: too many may use it", path,
		    (unsigned)mode);
	else
		doctor_say(d, DOCTOR_OK, "sockets", NULL, "%s, mode %04o", name,
		    (unsigned)mode);
}

/* Is there a group of administrators, as the service says? */
static bool
has_admins(const struct doctor *d)
{
	struct json_val settings = json_obj_get(d->profile.root, "settings");
	char group[64] = "";

	return d->running &&
	    json_str_copy(
		json_obj_get(settings, "adminGroup"), group, sizeof(group)) &&
	    group[0] != '\0';
}

void
doctor_dirs(struct doctor *d)
{
	check_dir(d, "state dir", d->state_dir, 077);
	check_dir(d, "socket dir", d->run_dir, d->system ? 022 : 077);
	check_socket(d, "client.sock", 0007);
	check_socket(d, "admin.sock", has_admins(d) ? 0007 : 0077);
}

/* Disk. */

void
doctor_disk(struct doctor *d)
{
	char part[PATH_MAX], text[32], least[32];
	struct statvfs v;
	unsigned long long bytes;
	unsigned share;

	if (d->state_dir[0] == '\0')
		return;
	existing_part(d->state_dir, part);
	if (statvfs(part, &v) == -1 || v.f_blocks == 0)
		return;
	bytes = (unsigned long long)v.f_bavail * v.f_frsize;
	share = (unsigned)(100ull * v.f_bavail / v.f_blocks);
	text_bytes((int64_t)bytes, text, sizeof(text));
	text_bytes(d->settings.minFreeBytes, least, sizeof(least));
	if (bytes < (unsigned long long)d->settings.minFreeBytes ||
	    share < SHARE_LEAST)
		doctor_say(d, DOCTOR_FAIL, "disk",
		    "free space there: submissions are refused",
		    "%s (%u %%) free at %s, %s and %d %% are needed", text,
		    share, part, least, SHARE_LEAST);
	else if (share < 2 * SHARE_LEAST)
		doctor_say(d, DOCTOR_WARN, "disk",
		    "free space there, or lower artifactTtlMs",
		    "%s (%u %%) free at %s", text, share, part);
	else
		doctor_say(d, DOCTOR_OK, "disk", NULL, "%s (%u %%) free at %s",
		    text, share, part);
	if (v.f_files > 0 && v.f_favail < 10000)
		doctor_say(d, DOCTOR_WARN, "disk",
		    "make room for files: each artifact and profile needs some",
		    "%llu inodes free at %s", (unsigned long long)v.f_favail,
		    part);
}

/* Limits. */

/* The hard limit of a process, from its /proc; -1: none is known. */
static long long
hard_limit(long pid, const char *name)
{
	char path[64], line[256], *p;
	long long limit = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/limits", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return -1;
	while (limit == -1 && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		p = line + strlen(name);
		p += strspn(p, " ");
		p += strcspn(p, " ");
		p += strspn(p, " ");
		limit = strncmp(p, "unlimited", 9) == 0 ? LLONG_MAX
							: strtoll(p, NULL, 10);
	}
	fclose(f);
	return limit;
}

void
doctor_limits(struct doctor *d)
{
	long pid = d->pid > 0 ? d->pid : (long)getpid();
	long long files = hard_limit(pid, "Max open files");
	const char *whose = d->pid > 0 ? "the service's" : "this shell's";

	if (files == -1) {
		pid = (long)getpid();
		whose = "this shell's";
		files = hard_limit(pid, "Max open files");
	}
	if (files == -1)
		return;
	if (files < FILES_LEAST)
		doctor_say(d, DOCTOR_FAIL, "open files",
		    "raise it: LimitNOFILE= of the unit, or ulimit -Hn",
		    "%s limit is %lld, at least %d are needed", whose, files,
		    FILES_LEAST);
	else if (files < FILES_WANTED)
		doctor_say(d, DOCTOR_WARN, "open files",
		    "raise it: LimitNOFILE= of the unit, or ulimit -Hn",
		    "%s limit is %lld: fewer clients than maxClients can "
		    "connect",
		    whose, files);
	else if (files == LLONG_MAX)
		doctor_say(d, DOCTOR_OK, "open files", NULL, "no limit");
	else
		doctor_say(d, DOCTOR_OK, "open files", NULL, "%s limit is %lld",
		    whose, files);
}

void
doctor_memory(struct doctor *d)
{
	static const char available[] = "MemAvailable:";
	int64_t runs = d->settings.maxConcurrentRuns, bytes;
	long long kb = -1;
	char line[256], have[32], want[32];
	FILE *f = fopen("/proc/meminfo", "re");

	if (f == NULL)
		return;
	while (kb == -1 && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, available, strlen(available)) == 0)
			kb = strtoll(line + strlen(available), NULL, 10);
	fclose(f);
	if (kb == -1)
		return;
	if (d->running)
		json_get_int64(
		    json_obj_get(d->profile.root, "maxConcurrentRuns"), &runs);
	bytes = kb * 1024;
	text_bytes(bytes, have, sizeof(have));
	text_bytes(runs * MEMORY_EACH, want, sizeof(want));
	if (bytes < runs * MEMORY_EACH)
		doctor_say(d, DOCTOR_WARN, "memory",
		    "lower maxConcurrentRuns, or give the machine more",
		    "%s available; %lld runs at once may want %s", have,
		    (long long)runs, want);
	else
		doctor_say(d, DOCTOR_OK, "memory", NULL,
		    "%s available; %lld runs at once may want %s", have,
		    (long long)runs, want);
}

/* Cgroup. */

/* The path of the unified cgroup of a process; false without one. */
static bool
cgroup_path(long pid, char *ret_path, size_t size)
{
	char file[64], line[PATH_MAX];
	bool found = false;
	FILE *f;

	snprintf(file, sizeof(file), "/proc/%ld/cgroup", pid);
	f = fopen(file, "re");
	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::", 3) == 0;
	}
	fclose(f);
	return found &&
	    snprintf(ret_path, size, "/sys/fs/cgroup%s",
		strcmp(line + 3, "/") == 0 ? "" : line + 3) < (int)size;
}

/*
 * The launcher leaves the group it was given to those of cells and goes to one
 * below it: then the kernel holds each run to its limits.
 */
static void
doctor_run_limits(struct doctor *d, char *path)
{
	static const char leaf[] = "/service";
	size_t len = strlen(path), n = sizeof(leaf) - 1;

	if (len > n && strcmp(path + len - n, leaf) == 0) {
		path[len - n] = '\0';
		doctor_say(d, DOCTOR_OK, "run limits", NULL,
		    "each run has a control group of its own below %s", path);
	} else {
		doctor_say(d, DOCTOR_WARN, "run limits",
		    "start it by its systemd unit, which has Delegate=memory "
		    "pids, on a machine with cgroup v2 only; the log says what "
		    "is in the way",
		    "no control groups: what runs use is looked at once a "
		    "second, and each process is limited by itself");
	}
}

void
doctor_cgroup(struct doctor *d)
{
	char path[PATH_MAX], file[PATH_MAX + 32], memory[64], tasks[64];
	struct stat st;

	if (!cgroup_path(
		d->pid > 0 ? d->pid : (long)getpid(), path, sizeof(path)) ||
	    stat(path, &st) == -1) {
		doctor_say(d, DOCTOR_WARN, "cgroup",
		    "boot with cgroup v2, so that the unit's MemoryMax= and "
		    "TasksMax= bound all runs together",
		    "no unified cgroup: the service's memory and processes "
		    "cannot be limited as a whole");
		return;
	}
	if (d->running && d->pid > 0)
		doctor_run_limits(d, path);
	snprintf(file, sizeof(file), "%s/memory.max", path);
	if (!doctor_read(file, memory, sizeof(memory)))
		strlcpy(memory, "no limit", sizeof(memory));
	snprintf(file, sizeof(file), "%s/pids.max", path);
	if (!doctor_read(file, tasks, sizeof(tasks)))
		strlcpy(tasks, "no limit", sizeof(tasks));
	if (tasks[0] >= '0' && tasks[0] <= '9' && strtol(tasks, NULL, 10) < 500)
		doctor_say(d, DOCTOR_WARN, "cgroup",
		    "raise TasksMax= of the unit: a browser has about 60 "
		    "threads and processes",
		    "%s: at most %s tasks", path, tasks);
	else
		doctor_say(d, DOCTOR_OK, "cgroup", NULL,
		    "v2, %s; memory.max %s, pids.max %s", path, memory, tasks);
}
