/* caps: the few capabilities that a cell goes on with. */
#ifndef CELL_CAPS_H
#define CELL_CAPS_H

#include <stdbool.h>

/*
 * Keeps what it takes to kill a renderer or a worker and, in a kept cell, to
 * give a child another uid; lets go of the rest. After PR_SET_KEEPCAPS and the
 * change of uid. 0 or an errno value.
 */
int caps_keep(bool kept);
/* Lets go of all, in a child that has its uid. 0 or an errno value. */
int caps_drop(void);

#endif
