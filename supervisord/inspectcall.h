/*
 * inspectcall: store.check and store.backup: the client's connection goes to a
 * process of its own, which reads the store beside this one. There is one such
 * process at a time; who asks meanwhile waits for its turn.
 */
#ifndef SUPERVISORD_INSPECTCALL_H
#define SUPERVISORD_INSPECTCALL_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct inspections;
struct sup;

/* Those who wait. */
struct inspections *inspections_new(void);
/* After the clients. */
void inspections_free(struct inspections **);

void
inspectcall_check(struct client *, uint32_t seq, const struct ipc_params *);
void
inspectcall_backup(struct client *, uint32_t seq, const struct ipc_params *);
/* That process is gone: the next one. */
void inspectcall_over(struct sup *);
/* From now on nobody has a turn; why is for them, and not copied. */
void inspectcall_close(struct sup *, const char *why);

#endif
