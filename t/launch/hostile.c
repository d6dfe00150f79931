/*
 * hostile: stands in for the browser in tests of the compartment, as one that
 * was taken over. Obeys commands on descriptor 3 and answers on 4, each ended
 * by a NUL, as a browser does:
 *
 *   fds                "fds 0,1,...": descriptors that are open
 *   ids                "ids UID GID GROUPS"
 *   mounts             "mounts PATHS": what is mounted without nosuid, or
 *                      neither read-only nor in memory, or not at all "nodev"
 *   try WHAT ARG ARG   "try WHAT ...: DONE", or the name of the error
 *   ns WHAT ARG ARG    the same in a child with a user, a mount and a network
 *                      namespace of its own, all capabilities there
 */
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t/launch/hostile_try.h"

#define FD_IN  3
#define FD_OUT 4

static void
answer(const char *text)
{
	size_t len = strlen(text) + 1;

	if (write(FD_OUT, text, len) != (ssize_t)len)
		exit(1);
}

static void
answer_fds(void)
{
	char text[512] = "fds ";

	for (int fd = 0; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			snprintf(text + strlen(text),
			    sizeof(text) - strlen(text), "%d,", fd);
	answer(text);
}

static void
answer_ids(void)
{
	char text[128];

	snprintf(text, sizeof(text), "ids %d %d %d", getuid(), getgid(),
	    getgroups(0, NULL));
	answer(text);
}

static bool
mount_is_odd(const struct mntent *m)
{
	bool device = strncmp(m->mnt_dir, "/dev/", 5) == 0 &&
	    strcmp(m->mnt_dir, "/dev/shm") != 0;
	bool profile = strcmp(m->mnt_dir, "/tmp/browsertask-profile") == 0;

	if (hasmntopt(m, "nosuid") == NULL ||
	    (!device && hasmntopt(m, "nodev") == NULL))
		return true;
	if (hasmntopt(m, "ro") == NULL && hasmntopt(m, "noexec") == NULL)
		return true;
	return hasmntopt(m, "ro") == NULL && !profile &&
	    strcmp(m->mnt_type, "tmpfs") != 0 &&
	    strcmp(m->mnt_type, "proc") != 0;
}

static void
answer_mounts(void)
{
	FILE *f = setmntent("/proc/self/mounts", "r");
	char text[4096] = "mounts";
	const struct mntent *m;

	while (f != NULL && (m = getmntent(f)) != NULL)
		if (mount_is_odd(m))
			snprintf(text + strlen(text),
			    sizeof(text) - strlen(text), " %s", m->mnt_dir);
	answer(f == NULL ? "mounts unknown" : text);
	if (f != NULL)
		endmntent(f);
}

static void
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		_exit(HOSTILE_NO_NAMESPACE);
	close(fd);
}

/* What any process may have: a user namespace in which it is root. */
static void
become_root_inside(void)
{
	char map[64];
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET |
		CLONE_NEWUTS) == -1)
		_exit(HOSTILE_NO_NAMESPACE);
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1\n", (unsigned int)uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1\n", (unsigned int)gid);
	write_text("/proc/self/gid_map", map);
}

/* In a child, so that what it changes of itself is gone. */
static int
attempt_apart(bool inside, const char *what, const char *a, const char *b)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (inside)
			become_root_inside();
		_exit(hostile_try(what, a, b));
	}
	if (pid == -1 || waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		return HOSTILE_UNKNOWN;
	return WEXITSTATUS(status);
}

static void
obey(char *line)
{
	const char *word[4] = { "", "", "", "" };
	char text[1024], *p;
	bool inside;
	int error, n = 0;

	while ((p = strsep(&line, " ")) != NULL && n < 4)
		word[n++] = p;
	if (strcmp(word[0], "fds") == 0) {
		answer_fds();
	} else if (strcmp(word[0], "ids") == 0) {
		answer_ids();
	} else if (strcmp(word[0], "mounts") == 0) {
		answer_mounts();
	} else {
		inside = strcmp(word[0], "ns") == 0;
		error = attempt_apart(inside, word[1], word[2], word[3]);
		snprintf(text, sizeof(text), "%s %s %s %s: %s", word[0],
		    word[1], word[2], word[3],
		    error == 0                          ? "DONE"
			: error == HOSTILE_NO_NAMESPACE ? "NO NAMESPACE"
			: error == HOSTILE_UNKNOWN      ? "NO SUCH ATTEMPT"
						   : strerrorname_np(error));
		answer(text);
	}
}

int
main(void)
{
	static char line[4096];
	size_t len = 0;
	char *end;
	ssize_t n;

	while ((n = read(FD_IN, line + len, sizeof(line) - len)) > 0) {
		len += (size_t)n;
		while ((end = memchr(line, '\0', len)) != NULL) {
			size_t used = (size_t)(end + 1 - line);
			char one[sizeof(line)];

			memcpy(one, line, used);
			len -= used;
			memmove(line, end + 1, len);
			obey(one);
		}
	}
	return 0;
}
