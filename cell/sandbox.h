/* sandbox: what protects the browser's children in this cell, from /proc. */
#ifndef CELL_SANDBOX_H
#define CELL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "launch/launch.h"

/*
 * Looks at every child there is of the browser with that pid; 0 or an errno
 * value.
 */
int sandbox_read(pid_t browser, struct launch_sandbox *ret_report);
/*
 * Reads the text of a child's /proc/PID/status into a renderer's values; false
 * when one is missing or not a number. Filters are those of its own: if it has
 * no more than were inherited, it is as if there was none.
 */
bool sandbox_parse_status(
    const char *text, unsigned int inherited, struct launch_sandbox *ret_one);
/* Processes of a browser, by what they were started as. */
enum sandbox_kind {
	SANDBOX_NONE, /* the browser's main process, or none of the browser's */
	SANDBOX_ZYGOTE, /* zygotes and brokers, which never see a page */
	SANDBOX_RENDERER,
	SANDBOX_GPU,
	SANDBOX_UTILITY, /* and all other types */
};

/* What a /proc/PID/cmdline of len bytes says. */
enum sandbox_kind sandbox_kind(const char *cmdline, size_t len);

#endif
