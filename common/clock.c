#include <stdbool.h>
#include <time.h>

#include "common/clock.h"

/* Of so many ms one is left out until the wall clock has caught up. */
#define CATCH_UP 16

static int64_t stamp_last;
static int64_t floor_stamp, floor_elapsed; /* the floor, and when it was set */

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

/* Since this was called first, also while the machine slept. */
static int64_t
clock_elapsed_ms(int64_t *ret_wall_at_start)
{
	static bool started;
	static int64_t wall_at_start, boot_at_start;

	if (!started) {
		wall_at_start = clock_read_ms(CLOCK_REALTIME);
		boot_at_start = clock_read_ms(CLOCK_BOOTTIME);
		started = true;
	}
	*ret_wall_at_start = wall_at_start;
	return clock_read_ms(CLOCK_BOOTTIME) - boot_at_start;
}

int64_t
clock_stamp_ms(void)
{
	int64_t wall, elapsed = clock_elapsed_ms(&wall), behind;

	behind = (elapsed - floor_elapsed) / CATCH_UP * (CATCH_UP - 1) +
	    (elapsed - floor_elapsed) % CATCH_UP;
	if (wall + elapsed > stamp_last)
		stamp_last = wall + elapsed;
	if (floor_stamp + behind > stamp_last)
		stamp_last = floor_stamp + behind;
	return stamp_last;
}

void
clock_set_floor(int64_t floor_ms)
{
	int64_t wall, elapsed = clock_elapsed_ms(&wall);

	if (floor_ms <= stamp_last)
		return;
	floor_stamp = stamp_last = floor_ms;
	floor_elapsed = elapsed;
}
