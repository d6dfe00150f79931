/*
 * without: runs a program where something is really missing, for tests of what
 * the service makes of it.
 *
 *	without WHAT[,WHAT...] PROGRAM [ARGUMENT ...]
 *
 * landlock and filters: the kernel says that it has no such system calls. user,
 * pid, mnt, net, ipc, uts: no such namespace can be made below a user namespace
 * that has the caller's ids: all of them for root, its own for others.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void
die(const char *what)
{
	fprintf(stderr, "without: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void
put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1 || write(fd, text, strlen(text)) == -1)
		die(path);
	close(fd);
}

/* Written from outside: only there may one map more than oneself. */
static void
map_ids(pid_t pid)
{
	char path[64], line[64];

	snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	if (geteuid() == 0)
		snprintf(line, sizeof(line), "0 0 4294967295");
	else
		snprintf(line, sizeof(line), "%u %u 1", geteuid(), geteuid());
	put(path, line);
	if (geteuid() != 0) {
		snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
		put(path, "deny");
		snprintf(line, sizeof(line), "%u %u 1", getegid(), getegid());
	}
	snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	put(path, line);
}

/* A child maps the ids of its parent, which stays what the caller started. */
static void
enter_namespace(void)
{
	int go[2], status;
	pid_t parent = getpid(), pid;
	char c;

	if (pipe(go) == -1 || (pid = fork()) == -1)
		die("fork");
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		map_ids(parent);
		_exit(0);
	}
	if (unshare(CLONE_NEWUSER) == -1 || write(go[1], "", 1) != 1)
		die("unshare");
	close(go[0]);
	close(go[1]);
	if (waitpid(pid, &status, 0) == -1 || status != 0)
		exit(99);
}

static void
refuse_calls(bool landlock, bool filters)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int bad = ctx == NULL;

	if (landlock)
		bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), 444, 0);
	if (filters) {
		bad |= seccomp_rule_add(
		    ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(seccomp), 0);
		bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EINVAL),
		    SCMP_SYS(prctl), 1,
		    SCMP_A0(SCMP_CMP_EQ, PR_SET_SECCOMP, 0));
	}
	if (bad || seccomp_load(ctx) != 0)
		die("filter");
	seccomp_release(ctx);
}

int
main(int argc, char **argv)
{
	bool landlock = false, filters = false, inside = false;
	char *rest, *what, path[64];

	if (argc < 3)
		return 64;
	rest = argv[1];
	while ((what = strsep(&rest, ",")) != NULL) {
		if (strcmp(what, "landlock") == 0) {
			landlock = true;
			continue;
		}
		if (strcmp(what, "filters") == 0) {
			filters = true;
			continue;
		}
		if (!inside)
			enter_namespace();
		inside = true;
		snprintf(path, sizeof(path), "/proc/sys/user/max_%s_namespaces",
		    what);
		put(path, "0");
	}
	if (landlock || filters)
		refuse_calls(landlock, filters);
	execv(argv[2], argv + 2);
	die(argv[2]);
}
