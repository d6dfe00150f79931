/*
 * clock: the two times of this system.
 *
 * Deadlines use the monotonic clock. Stamps that are stored or shown are Unix
 * milliseconds which never jump: the wall clock read once at start plus what
 * CLOCK_BOOTTIME has counted since, and never below the last stored stamp. When
 * the wall clock is behind that one, stamps go on from there a little slower
 * than time, until it has caught up: lives go on ending.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC; for deadlines and durations. */
int64_t clock_mono_ms(void);
/* The same in microseconds, to measure. */
int64_t clock_mono_us(void);
/* Unix milliseconds for stamps; never decreases within a process. */
int64_t clock_stamp_ms(void);
/* Makes later stamps go on from floor_ms (the last stored one) at least. */
void clock_set_floor(int64_t floor_ms);

#endif
