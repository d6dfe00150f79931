/* relief: ends the renderer that holds most when a cell's memory runs short. */
#ifndef CELL_RELIEF_H
#define CELL_RELIEF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct relief {
	pid_t victim;     /* killed last; 0: none yet */
	int64_t until_ms; /* when its memory must be free again */
};

/*
 * Kills the renderer that holds most of what the cell may use, in bytes. True
 * while memory is on its way back; false when there is no renderer whose end
 * would help.
 */
bool relief_seek(struct relief *, uint64_t limit, int64_t now_ms);

#endif
