/*
 * session_call: what clients may ask of kept sessions: session.list and
 * session.close.
 */
#ifndef SUPERVISORD_SESSION_CALL_H
#define SUPERVISORD_SESSION_CALL_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

void
session_call_list(struct client *, uint32_t seq, const struct ipc_params *);
void
session_call_close(struct client *, uint32_t seq, const struct ipc_params *);

void
session_call_share(struct client *, uint32_t seq, const struct ipc_params *);

#endif
