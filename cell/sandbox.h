/* sandbox: what protects the renderers of this cell, read from /proc. */
#ifndef CELL_SANDBOX_H
#define CELL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/launch.h"

/* Looks at every renderer there is; 0 or an errno value. */
int sandbox_read(struct launch_sandbox *ret_report);
/*
 * Reads the text of a /proc/PID/status into the three values; false when one
 * is missing or not a number.
 */
bool sandbox_parse_status(const char *text, struct launch_sandbox *ret_one);
/* Whether a /proc/PID/cmdline of len bytes is a renderer's. */
bool sandbox_is_renderer(const char *cmdline, size_t len);

#endif
