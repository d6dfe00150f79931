/*
 * supervisord with a clock that a test sets: the stamp it works with is the one
 * in the file $BROWSERTASK_TEST_CLOCK (decimal ms), which is there from the
 * start, as long as that is not empty or 0. It never goes back, as the real one.
 * Linked with --wrap in place of clock_stamp_ms(); what the real program runs on
 * is not touched.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"

int64_t __real_clock_stamp_ms(void);
int64_t __wrap_clock_stamp_ms(void);

int64_t
__wrap_clock_stamp_ms(void)
{
	static int fd = -2;
	static int64_t last;
	const char *path = getenv("BROWSERTASK_TEST_CLOCK");
	char text[24] = "";
	int64_t now = 0;

	/* Once: the real program can open no such file later. */
	if (fd == -2)
		fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd != -1 && pread(fd, text, sizeof(text) - 1, 0) > 0)
		now = strtoll(text, NULL, 10);
	if (now == 0)
		now = __real_clock_stamp_ms();
	if (now > last)
		last = now;
	return last;
}
