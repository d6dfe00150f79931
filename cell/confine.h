/* confine: the cell gives up what it does not need once all is started. */
#ifndef CELL_CONFINE_H
#define CELL_CONFINE_H

#include <stdbool.h>

/*
 * When the worker and the browser were forked and the cell has its own uid. A
 * kept cell stays able to start further workers. 0 or an errno value.
 */
int cell_confine(bool kept);

#endif
