/* flags: the command line of the browser. */
#ifndef CELL_FLAGS_H
#define CELL_FLAGS_H

#include <stdint.h>

#include "launch/launch.h"

#define FLAGS_MAX 64

/*
 * Fills argv (NULL-terminated) for the kind of browser and the spawn flags.
 * Strings are static or kept in dir_arg, which holds --user-data-dir.
 */
void flags_fill(enum launch_browser, uint32_t spawn_flags, const char *dir,
    char dir_arg[LAUNCH_PATH_BYTES + 32], const char *argv[FLAGS_MAX]);

#endif
