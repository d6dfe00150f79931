/*
 * lock: takes a lock, or says who has it. Runs in the launcher at its start,
 * before it has an event loop or blocks a signal.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "common/clock.h"
#include "common/log.h"
#include "launcher/lock.h"

/* Until it has begun to wait, a single one could come too early. */
#define TICK_US 50000

static void
on_tick(int sig)
{
}

/* The process that took the lock of this file; 0 when none is to be seen. */
static long
owner_of(const struct stat *st)
{
	FILE *f = fopen("/proc/locks", "re");
	unsigned long inode;
	char line[256];
	long pid = 0, at;

	while (f != NULL && pid == 0 && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "%*s FLOCK %*s WRITE %ld %*x:%*x:%lu", &at,
			&inode) == 2 &&
		    inode == st->st_ino)
			pid = at;
	if (f != NULL)
		fclose(f);
	return pid > 0 ? pid : 0;
}

/* By its first argument: its name is that of a descriptor, if it was one's. */
static void
name_of(long pid, char *name, size_t size)
{
	char path[64], text[PATH_MAX] = "";
	const char *base;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	f = fopen(path, "re");
	if (f != NULL) {
		if (fgets(text, sizeof(text), f) == NULL)
			text[0] = '\0';
		fclose(f);
	}
	base = strrchr(text, '/');
	strlcpy(name, base == NULL ? text : base + 1, size);
}

static void
say_who(int fd, char who[LOCK_WHO_BYTES])
{
	char name[24];
	struct stat st;
	long pid = 0;

	if (fstat(fd, &st) == 0)
		pid = owner_of(&st);
	strlcpy(who, "a process that is not to be seen", LOCK_WHO_BYTES);
	if (pid == 0)
		return;
	name_of(pid, name, sizeof(name));
	if (name[0] == '\0')
		snprintf(who, LOCK_WHO_BYTES, "process %ld, which ends", pid);
	else
		snprintf(who, LOCK_WHO_BYTES, "process %ld (%s)", pid, name);
}

/* Its clock interrupts it. */
static int
wait_for(int fd, int64_t until_ms)
{
	while (flock(fd, LOCK_EX) == -1) {
		if (errno != EINTR)
			return errno;
		if (clock_mono_ms() >= until_ms)
			return EWOULDBLOCK;
	}
	return 0;
}

static int
wait_a_while(int fd)
{
	const struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };
	const struct sigaction tick = { .sa_handler = on_tick };
	struct sigaction before;
	sigset_t alarm, mask;
	int error;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &tick, &before);
	sigprocmask(SIG_UNBLOCK, &alarm, &mask);
	setitimer(ITIMER_REAL, &every, NULL);
	error = wait_for(fd, clock_mono_ms() + LOCK_WAIT_MS);
	setitimer(ITIMER_REAL, &never, NULL);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGALRM, &before, NULL);
	return error;
}

int
lock_take(int fd, const char *what, char who[LOCK_WHO_BYTES])
{
	int error;

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return errno;
	say_who(fd, who);
	log_info("waits up to %d s for %s, which has %s", LOCK_WAIT_MS / 1000,
	    who, what);
	error = wait_a_while(fd);
	if (error == EWOULDBLOCK)
		say_who(fd, who);
	return error;
}
