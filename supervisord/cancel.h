/*
 * cancel: run.cancel, answered when the run is terminal.
 */
#ifndef SUPERVISORD_CANCEL_H
#define SUPERVISORD_CANCEL_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct task;

void cancel_run(struct client *, uint32_t seq, const struct ipc_params *);
/* The run is terminal: answers those that canceled it. */
void cancel_end(struct task *);

#endif
