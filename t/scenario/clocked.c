/*
 * supervisord with clocks that a test sets. What the real program runs on is
 * not touched: this one is linked with --wrap.
 *
 * $BROWSERTASK_TEST_CLOCK: the stamp it works with is the one in that file
 * (decimal ms), as long as that is not empty or 0. It never goes back, as the
 * real one.
 * $BROWSERTASK_TEST_JUMP: by how many ms (two decimal numbers) the wall clock,
 * and the clock that goes on while a machine sleeps, differ from the system's.
 * The monotonic clock is the system's.
 *
 * The files are there from the start: the program can open none later.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define UNKNOWN (-2)

int64_t __real_clock_stamp_ms(void);
int64_t __wrap_clock_stamp_ms(void);
int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);

/* Two numbers of a file; 0 stands for one that is not there. */
static void
numbers(int *fd, const char *variable, int64_t ret[2])
{
	const char *path = getenv(variable);
	char text[64] = "", *end;

	if (*fd == UNKNOWN)
		*fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	ret[0] = ret[1] = 0;
	if (*fd != -1 && pread(*fd, text, sizeof(text) - 1, 0) > 0) {
		ret[0] = strtoll(text, &end, 10);
		ret[1] = strtoll(end, NULL, 10);
	}
}

int64_t
__wrap_clock_stamp_ms(void)
{
	static int fd = UNKNOWN;
	static int64_t last;
	int64_t now[2];

	numbers(&fd, "BROWSERTASK_TEST_CLOCK", now);
	if (now[0] == 0)
		now[0] = __real_clock_stamp_ms();
	if (now[0] > last)
		last = now[0];
	return last;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	static int fd = UNKNOWN;
	int64_t by[2], ms;
	int rc = __real_clock_gettime(clock, ts);

	if (rc != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_BOOTTIME))
		return rc;
	numbers(&fd, "BROWSERTASK_TEST_JUMP", by);
	ms = by[clock == CLOCK_BOOTTIME ? 1 : 0];
	ts->tv_sec += ms / 1000;
	return 0;
}
