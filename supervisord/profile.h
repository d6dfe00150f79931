/*
 * profile: the answer of profile.get (MCP contract v1 section 4.5, and more).
 */
#ifndef SUPERVISORD_PROFILE_H
#define SUPERVISORD_PROFILE_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

void profile_get(struct client *, uint32_t seq, const struct ipc_params *);

#endif
