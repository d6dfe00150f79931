/*
 * waiting: a run from its submission to the answer of the call that submitted
 * it, and the Run object of one that is asked for.
 *
 * The adapter submits with a key, so that a submission can be repeated when the
 * service went away before it answered, and waits by reading the run's events,
 * so that a restart of the service only interrupts the waiting.
 */
#ifndef MCP_WAITING_H
#define MCP_WAITING_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/call.h"

/* Of run_task_template: what its request needs beside the arguments. */
bool waiting_prepare(struct call *);
/* Its answer. */
void waiting_submitted(struct call *, bool good, const char *, size_t len);
/*
 * Of get_task_run: whether the run is read at once. Else its end is waited for
 * first, for as long as waitMs says.
 */
bool waiting_prepare_get(struct call *);
/* A Run object has come; its artifacts are looked up, then it is the answer. */
void waiting_got(struct call *, bool good, const char *, size_t len);
/*
 * Nobody waits for the call: cancels the run it has made. False: there is
 * none, or others share it.
 */
bool waiting_abandon(struct call *);

#endif
