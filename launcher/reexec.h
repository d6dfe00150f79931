/*
 * reexec: the program on the disk takes the place of the one that runs, under
 * the same pid and with all that it holds.
 */
#ifndef LAUNCHER_REEXEC_H
#define LAUNCHER_REEXEC_H

#include <stdbool.h>

struct carry;
struct instance;

/*
 * At the start: what an earlier program in this process has left, else NULL; and
 * whether this is only to see if it could be taken over. False, logged, when it
 * cannot.
 */
bool reexec_before(const struct carry **ret_before, bool *ret_probe);
/*
 * While there is no supervisord: has the program on the disk tried, and becomes
 * it. Returns only when that one cannot take over, which is logged: then all
 * goes on with the programs that there are.
 */
void reexec_try(struct instance *);

#endif
