/*
 * uidblock: locks a block of uids and kills what an earlier instance left in
 * it. Runs in the launcher at its start, as root. Never touches a process
 * outside the block, which is why the lock comes first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "launcher/options.h"
#include "launcher/uidblock.h"

/* Uids are the machine's, whatever prefix an instance was installed under. */
#define LOCK_DIR      "/run/browsertask-uids"
#define SWEEP_MS      10000
#define SWEEP_WAIT_MS 2000

static int
open_lock_dir(int *ret_fd)
{
	struct stat st;
	int fd;

	if (mkdir(LOCK_DIR, 0755) == -1 && errno != EEXIST) {
		log_err("cannot make %s: %s", LOCK_DIR, strerror(errno));
		return EXIT_CANNOT_USE;
	}
	fd = open(LOCK_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1 || fstat(fd, &st) == -1 || st.st_uid != 0 ||
	    (st.st_mode & 022) != 0) {
		log_err("%s is not a directory that only root may change",
		    LOCK_DIR);
		return EXIT_CANNOT_USE;
	}
	*ret_fd = fd;
	return 0;
}

/* The descriptor holds the lock; EWOULDBLOCK: another one does. */
static int
try_block(int dirfd, uid_t base, int *ret_fd)
{
	char name[32];
	int fd, error;

	snprintf(name, sizeof(name), "%u.lock", (unsigned int)base);
	fd = openat(
	    dirfd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd == -1)
		return errno;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
		*ret_fd = fd;
		return 0;
	}
	error = errno;
	close(fd);
	return error;
}

static int
say_none_free(const struct settings *s, int error)
{
	if (error != EWOULDBLOCK) {
		log_err("cannot lock a block of uids in %s: %s", LOCK_DIR,
		    strerror(error));
		return EXIT_CANNOT_USE;
	}
	log_err("all %lld blocks of uids from %lld on are taken by other "
		"instances (locks in %s): stop one, or set uidBlocks or "
		"uidBase with -o",
	    (long long)s->uidBlocks, (long long)s->uidBase, LOCK_DIR);
	return EXIT_OTHER_RUNS;
}

/*
 * The preferred block may be locked: by another instance that found it free, or
 * by the last moments of the one that had this state directory before. That one
 * is not waited for. The lock of the directory was, and is let go in the same
 * exit; with that the kernel kills all that the instance had started. So nothing
 * of it is left to be swept that would not go by itself, and the directory and
 * each profile are given to whatever block is taken.
 */
int
uidblock_lock(
    const struct settings *s, uid_t prefer, uid_t *ret_base, int *ret_fd)
{
	int64_t start = s->uidBase, own = ((int64_t)prefer - start) / 64;
	int dirfd, code, error, worst = EWOULDBLOCK;
	uid_t base;

	code = open_lock_dir(&dirfd);
	if (code != 0)
		return code;
	for (int64_t i = -1; i < s->uidBlocks; i++) {
		if (i == -1 && ((int64_t)prefer < start || own >= s->uidBlocks))
			continue;
		base = (uid_t)(start + (i == -1 ? own : i) * UIDBLOCK_SIZE);
		error = try_block(dirfd, base, ret_fd);
		if (error == 0) {
			close(dirfd);
			*ret_base = base;
			return 0;
		}
		if (error != EWOULDBLOCK)
			worst = error;
	}
	close(dirfd);
	return say_none_free(s, worst);
}

/* Whether the text of /proc/PID/status shows a live process of the block. */
static bool
status_in_block(const char *text, uid_t base)
{
	const char *state = strstr(text, "\nState:\t");
	const char *uids = strstr(text, "\nUid:\t");
	char *end;
	unsigned long uid;

	if (state == NULL || uids == NULL || state[8] == 'Z' || state[8] == 'X')
		return false;
	uids += 6;
	for (int i = 0; i < 4; i++, uids = end) {
		uid = strtoul(uids, &end, 10);
		if (end == uids)
			return false;
		if (uid >= base && uid < base + UIDBLOCK_SIZE)
			return true;
	}
	return false;
}

static bool
process_in_block(int proc, const char *pid, uid_t base)
{
	char name[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "%.20s/status", pid);
	fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return status_in_block(text, base);
}

/*
 * Kills one process of the block. The uid is read again once the pidfd is
 * open: then it is certainly the process that dies.
 */
static void
sweep_one(int proc, const char *pid, uid_t base)
{
	struct pollfd p = { .events = POLLIN };

	p.fd = pidfd_open((pid_t)strtol(pid, NULL, 10), 0);
	if (p.fd == -1)
		return;
	if (process_in_block(proc, pid, base)) {
		log_warn(
		    "killing process %s, left by an earlier instance", pid);
		if (pidfd_send_signal(p.fd, SIGKILL, NULL, 0) == 0)
			poll(&p, 1, SWEEP_WAIT_MS);
	}
	close(p.fd);
}

/* One walk over all processes; how many of the block were met. */
static int
sweep_once(uid_t base)
{
	struct dirent *d;
	DIR *proc = opendir("/proc");
	int met = 0;

	if (proc == NULL)
		return -1;
	while ((d = readdir(proc)) != NULL) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9' ||
		    !process_in_block(dirfd(proc), d->d_name, base))
			continue;
		met++;
		sweep_one(dirfd(proc), d->d_name, base);
	}
	closedir(proc);
	return met;
}

int
uidblock_sweep(uid_t base)
{
	int64_t end = clock_mono_ms() + SWEEP_MS;
	int met;

	while ((met = sweep_once(base)) > 0)
		if (clock_mono_ms() > end)
			break;
	if (met == 0)
		return 0;
	if (met == -1)
		log_err("cannot read /proc: %s", strerror(errno));
	else
		log_err("processes of uids %u to %u cannot be killed",
		    (unsigned int)base, (unsigned int)base + UIDBLOCK_SIZE - 1);
	return EXIT_SYSTEM;
}
