/* trap: names the call that a filter kills, in builds that are to tell. */
#ifndef CONFINE_TRAP_H
#define CONFINE_TRAP_H

/*
 * Before a filter is loaded. Does nothing unless --enable-filter-debug was
 * given. 0 or an errno value.
 */
int trap_set(void);

#endif
