/* start: forks the worker and the browser of a cell. */
#ifndef CELL_START_H
#define CELL_START_H

#include <sys/types.h>

#include "launch/launch.h"

/*
 * Starts them as START says, with their descriptors and nothing else. The
 * worker is told how many there were before it, if there were any; secrets is
 * the end of a pipe from which it may read some (feed.h). A program that cannot
 * be executed ends with status 127 and a line in the log.
 * Return 0 and the child's pid (of this namespace), or an errno value.
 */
int start_worker(const struct launch_start *, unsigned int generation,
    int secrets, pid_t *ret_pid);
int start_browser(const struct launch_start *, pid_t *ret_pid);

#endif
