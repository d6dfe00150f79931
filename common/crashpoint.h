/*
 * crashpoint: places where a test can stop the program, to see what a crash
 * there loses. CRASH_POINT(name) is one of crashpoint.def; it does nothing at
 * all but in builds with CRASH_POINTS, which are for tests only.
 */
#ifndef COMMON_CRASHPOINT_H
#define COMMON_CRASHPOINT_H

enum crash_point {
#define POINT(name, when) CRASH_##name,
#include "common/crashpoint.def"
#undef POINT
	CRASH__MAX
};

#ifdef CRASH_POINTS
/* May not return: t/scenario/crashing.c. */
void crashpoint_pass(enum crash_point);
#define CRASH_POINT(name) crashpoint_pass(CRASH_##name)
#else
#define CRASH_POINT(name) ((void)CRASH_##name)
#endif

#endif
