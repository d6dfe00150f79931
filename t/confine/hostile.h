/* hostile: what runs in a program of ours that was taken over. */
#ifndef T_CONFINE_HOSTILE_H
#define T_CONFINE_HOSTILE_H

#include <stddef.h>

/*
 * Tries the row of attacks.def; what came of it is said as "did NAME RESULT
 * ERRNO", if anything can be said then.
 */
void hostile_do(const char *name, char *ret_said, size_t size);

#endif
