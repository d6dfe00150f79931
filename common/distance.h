/*
 * distance: how much two names differ, to guess which one was meant.
 */
#ifndef COMMON_DISTANCE_H
#define COMMON_DISTANCE_H

#include <stddef.h>

#define DISTANCE_MAX_BYTES 64

/*
 * Letters to change, add or remove to make one of the other, case not counted
 * (Levenshtein's distance). SIZE_MAX when one is above DISTANCE_MAX_BYTES.
 */
size_t name_distance(const char *a, size_t na, const char *b, size_t nb);

#endif
