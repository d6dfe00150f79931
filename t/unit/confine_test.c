/*
 * Each filter in a child of its own: what it lets through, what it answers,
 * how it kills; which paths remain; which limits are zero.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config.h"
#include "confine/confine.h"
#include "confine/rows.h"
#include "t/unit/tap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#ifdef CONFINE_DEBUG
#define KILLED ((128 + SIGSYS) << 8)
#else
#define KILLED SIGSYS
#endif

static const struct confine_call calls[] = {
	/* clang-format off */
	ALLOW(exit_group)
	ALLOW(write)
	REFUSE(getppid)
	ABSENT(getpgid)
	ALLOW_IF(mmap, WITHOUT(2, PROT_EXEC),
	    BITS(3, MAP_ANONYMOUS, MAP_ANONYMOUS))
	ALLOW_IF(fcntl, IS(1, F_GETFL))
	ALLOW_IF(fcntl, IS(1, F_GETFD))
	ALLOW_IF(tgkill, SELF(0), IS(2, 0))
	ALLOW(munmap)
	ALLOW(gettid)
	ALLOW(getpid)
	/* clang-format on */
};
static const struct confine_table narrow = { calls, COUNT(calls),
	CONFINE_KILL };

static const struct confine_call bad_calls[] = { ABSENT(getppid) };
static const struct confine_table wide = { bad_calls, 1, CONFINE_ALLOW };

/* The wait status of a child that loads the table and then acts. */
static int
status_of(const struct confine_table *table, int (*act)(void))
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (confine_filter(table) != 0)
			_exit(99);
		_exit(act());
	}
	if (pid == -1 || waitpid(pid, &status, 0) == -1)
		return -1;
	return status & ~0x80; /* whether there was a core */
}

static bool
can_map(int prot, int flags, int fd)
{
	void *p = mmap(NULL, 4096, prot, MAP_PRIVATE | flags, fd, 0);

	if (p != MAP_FAILED)
		munmap(p, 4096);
	return p != MAP_FAILED;
}

static int
act_allowed(void)
{
	return can_map(PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1) &&
		fcntl(1, F_GETFL) != -1 && fcntl(1, F_GETFD) != -1 &&
		syscall(SYS_tgkill, getpid(), gettid(), 0) == 0
	    ? 0
	    : 1;
}

static int
act_refused(void)
{
	return syscall(SYS_getppid) == -1 && errno == EACCES ? 0 : 1;
}

static int
act_absent(void)
{
	return syscall(SYS_getpgid, 0) == -1 && errno == ENOSYS ? 0 : 1;
}

static int
act_other_call(void)
{
	return (int)syscall(SYS_getuid) * 0;
}

static int
act_exec_memory(void)
{
	return !can_map(PROT_EXEC, MAP_ANONYMOUS, -1);
}

static int
act_map_file(void)
{
	return !can_map(PROT_READ, 0, 0);
}

static int
act_other_argument(void)
{
	return fcntl(1, F_DUPFD, 10) == -1;
}

static int
act_other_process(void)
{
	return (int)syscall(SYS_tgkill, 1, 1, 0);
}

#ifdef __x86_64__
static int
act_x32(void)
{
	return (int)syscall(0x40000000 | SYS_getpid) * 0;
}

static int
act_i386(void)
{
	long result = 20; /* getpid, in its numbers */

	__asm__ volatile("int $0x80" : "+a"(result) : : "memory");
	return 0;
}
#endif

static int
act_nothing_more(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
		syscall(SYS_getppid) == -1 && errno == ENOSYS && getpid() > 0
	    ? 0
	    : 1;
}

static void
test_filter(void)
{
	static const struct {
		const char *name;
		const struct confine_table *table;
		int (*act)(void);
		int status;
	} rows[] = {
		{ "what the table allows", &narrow, act_allowed, 0 },
		{ "EACCES", &narrow, act_refused, 0 },
		{ "ENOSYS", &narrow, act_absent, 0 },
		{ "a call of no row", &narrow, act_other_call, KILLED },
		{ "executable memory", &narrow, act_exec_memory, KILLED },
		{ "memory of a file", &narrow, act_map_file, KILLED },
		{ "another argument", &narrow, act_other_argument, KILLED },
		{ "another process", &narrow, act_other_process, KILLED },
#ifdef __x86_64__
		{ "the x32 door", &narrow, act_x32, KILLED },
		{ "the i386 door", &narrow, act_i386, KILLED },
		{ "the x32 door, open table", &wide, act_x32, KILLED },
#endif
		{ "a table of what is forbidden", &wide, act_nothing_more, 0 },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		is_int(status_of(rows[i].table, rows[i].act), rows[i].status,
		    rows[i].name);
}

/* In a child, for the case that one is loaded. */
static int
look_at_bad_tables(void)
{
	static const struct confine_call unknown[] = { ALLOW(no_such_call) };
	static const struct confine_call same[] = { ALLOW(read) };
	const struct confine_table no_call = { unknown, 1, CONFINE_KILL };
	const struct confine_table useless = { same, 1, CONFINE_ALLOW };

	if (confine_filter(&no_call) != EINVAL)
		return 1;
	if (confine_filter(&useless) == 0)
		return 2;
	return syscall(SYS_getppid) > 0 ? 0 : 3;
}

/* In a child: 0, or the number of what failed. */
static bool
can_open(const char *path, int flags)
{
	int fd = open(path, flags, 0600), error = errno;

	if (fd != -1)
		close(fd);
	errno = error;
	return fd != -1;
}

static int
look_at_paths(const char *dir)
{
	struct confine_path paths[] = {
		{ "in", CONFINE_MAY_READ | CONFINE_MAY_WRITE },
		{ "read", CONFINE_MAY_READ }, { "absent", CONFINE_MAY_READ }
	};
	int abi = 0, error;

	if (chdir(dir) == -1)
		return 1;
	error = confine_paths(paths, 3, 0, &abi);
	if (error != 0)
		return error == EOPNOTSUPP ? 77 : 2;
	if (!can_open("in/file", O_RDWR | O_CREAT) ||
	    rename("in/file", "in/sub/file") == -1 ||
	    unlink("in/sub/file") == -1 || mkdir("in/new", 0700) == -1 ||
	    rmdir("in/new") == -1)
		return 3;
	if (!can_open("read/file", O_RDONLY) ||
	    can_open("read/file", O_WRONLY) || errno != EACCES)
		return 4;
	if (can_open("out", O_RDONLY) || errno != EACCES ||
	    symlink("x", "in/link") != -1 || can_open("/etc", O_RDONLY))
		return 5;
	if (abi >= 6 && (kill(getppid(), 0) != -1 || errno != EPERM))
		return 6;
	return 0;
}

static void
test_paths(void)
{
	char dir[] = "/tmp/confine_test.XXXXXX", command[128];
	int status = 0;
	pid_t pid;

	if (!ok(mkdtemp(dir) != NULL, "a directory"))
		return;
	snprintf(command, sizeof(command),
	    "cd %s && mkdir in in/sub read && : > read/file && : > out", dir);
	is_int(system(command), 0, "with files");
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(look_at_paths(dir));
	waitpid(pid, &status, 0);
	if (WEXITSTATUS(status) == 77)
		tap_skip("paths", "no Landlock");
	else
		is_int(WEXITSTATUS(status), 0, "only these paths");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	is_int(system(command), 0, "away");
}

static int
look_at_newest(void)
{
	/* On each machine the next one is openat2. */
	if (confine_newest(SYS_openat2 - 1) != 0)
		return 1;
	if (syscall(SYS_getppid) == -1)
		return 2;
	if (syscall(SYS_openat2, -1, "x", NULL, 0) != -1 || errno != ENOSYS)
		return 3;
	return 0;
}

static int
look_at_limits(void)
{
	int fd = dup(1), pipes[2];
	struct rlimit limit;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (confine_limits(CONFINE_NO_DESCRIPTORS | CONFINE_NO_GROWTH) != 0)
		return 1;
	if (getrlimit(RLIMIT_CORE, &limit) == -1 || limit.rlim_max != 0)
		return 2;
	if (getrlimit(RLIMIT_NPROC, &limit) == -1 || limit.rlim_max == 0)
		return 3;
	if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 4;
	if (pipe(pipes) != -1 || errno != EMFILE || close(fd) == -1)
		return 5;
	return 0;
}

static void
test_child(int (*look)(void), const char *name)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(look());
	waitpid(pid, &status, 0);
	is_int(status, 0, name);
}

/* By name: a kept cell's filter is that of its later workers, too. */
static void
test_kept_cells(void)
{
	static const struct confine_call worker[] = {
#include "workerd/calls.def"
	};
	static const struct confine_call cell[] = {
#define NEW_NAMESPACES 0
#include "cell/calls.def"
#include "cell/keep_calls.def"
	};
	bool found;

	for (size_t i = 0; i < COUNT(worker); i++) {
		found = worker[i].answer != CONFINE_ALLOW;
		for (size_t j = 0; j < COUNT(cell) && !found; j++)
			found = strcmp(worker[i].name, cell[j].name) == 0;
		ok(found, "a worker in a kept cell may call %s",
		    worker[i].name);
	}
}

int
main(void)
{
	if (confine_absence() != NULL)
		tap_skip("filters", confine_absence());
	else {
		test_filter();
		test_child(look_at_bad_tables, "tables that are wrong");
		test_child(
		    look_at_newest, "calls above the newest known are absent");
		test_paths();
		test_child(look_at_limits, "limits");
	}
	test_kept_cells();
	return done_testing();
}
