/* caps: the few capabilities that a kept cell goes on with. */
#ifndef CELL_CAPS_H
#define CELL_CAPS_H

/*
 * Keeps what it takes to give a child another uid and to kill it, and lets go
 * of the rest. After PR_SET_KEEPCAPS and the change of uid. 0 or an errno
 * value.
 */
int caps_keep(void);
/* Lets go of all, in a child that has its uid. 0 or an errno value. */
int caps_drop(void);

#endif
