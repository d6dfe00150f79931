/* sandbox: what protects the renderers of this cell, read from /proc. */
#ifndef CELL_SANDBOX_H
#define CELL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launch/launch.h"

/*
 * Looks at every renderer there is, of the browser with that pid; 0 or an errno
 * value.
 */
int sandbox_read(pid_t browser, struct launch_sandbox *ret_report);
/*
 * Reads the text of a renderer's /proc/PID/status into the three values; false
 * when one is missing or not a number. Filters are those of its own: if it has
 * no more than were inherited, it is as if there was none.
 */
bool sandbox_parse_status(
    const char *text, unsigned int inherited, struct launch_sandbox *ret_one);
/* Whether a /proc/PID/cmdline of len bytes is a renderer's. */
bool sandbox_is_renderer(const char *cmdline, size_t len);

#endif
