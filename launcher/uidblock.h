/*
 * uidblock: the block of 64 uids that an instance started by root owns, and
 * what each of them is for.
 */
#ifndef LAUNCHER_UIDBLOCK_H
#define LAUNCHER_UIDBLOCK_H

#include <sys/types.h>

#include "model/settings.h"

#define UIDBLOCK_SIZE 64

enum uidblock_offset {
	UID_SUPERVISORD = 0,
	UID_CELL = 1, /* all cells; none sees another's processes */
	UID_EGRESSD = 2,
	UID_WORKER = 8,   /* + worker slot */
	UID_BROWSER = 32, /* + browser slot */
};

/*
 * Locks the first free block, the one that holds prefer first if there is such a
 * one, as long as *ret_fd is open somewhere. Returns 0, or an exit code after
 * having logged the reason.
 */
int uidblock_lock(
    const struct settings *, uid_t prefer, uid_t *ret_base, int *ret_fd);
/*
 * Kills every process whose uid is in the block and waits until none is left:
 * they are of an instance that was killed. Returns as uidblock_lock().
 */
int uidblock_sweep(uid_t base);

#endif
