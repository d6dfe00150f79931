/*
 * inspectcall: store.check and store.backup: the client's connection goes to a
 * process of its own, which reads the store beside this one.
 */
#ifndef SUPERVISORD_INSPECTCALL_H
#define SUPERVISORD_INSPECTCALL_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct sup;

void
inspectcall_check(struct client *, uint32_t seq, const struct ipc_params *);
void
inspectcall_backup(struct client *, uint32_t seq, const struct ipc_params *);
/* That process is gone. */
void inspectcall_over(struct sup *);

#endif
