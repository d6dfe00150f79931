/* runlist: run.list. */
#ifndef SUPERVISORD_RUNLIST_H
#define SUPERVISORD_RUNLIST_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

void runlist_call(struct client *, uint32_t seq, const struct ipc_params *);

#endif
