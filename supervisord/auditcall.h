/*
 * auditcall: what administrators ask of the audit log.
 */
#ifndef SUPERVISORD_AUDITCALL_H
#define SUPERVISORD_AUDITCALL_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

/* The handlers of the methods. */
void auditcall_list(struct client *, uint32_t seq, const struct ipc_params *);
void auditcall_verify(struct client *, uint32_t seq, const struct ipc_params *);

#endif
