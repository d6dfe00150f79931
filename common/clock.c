#include <stdbool.h>
#include <time.h>

#include "common/clock.h"

static int64_t stamp_last;

static int64_t
clock_read_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t
clock_mono_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

int64_t
clock_mono_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t
clock_stamp_ms(void)
{
	static bool started;
	static int64_t wall_at_start, boot_at_start;
	int64_t now;

	if (!started) {
		wall_at_start = clock_read_ms(CLOCK_REALTIME);
		boot_at_start = clock_read_ms(CLOCK_BOOTTIME);
		started = true;
	}
	now = wall_at_start + clock_read_ms(CLOCK_BOOTTIME) - boot_at_start;
	if (now > stamp_last)
		stamp_last = now;
	return stamp_last;
}

void
clock_set_floor(int64_t floor_ms)
{
	if (floor_ms > stamp_last)
		stamp_last = floor_ms;
}
