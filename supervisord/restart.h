/*
 * restart: supervisord ends to be started anew, while runs go on. Asked for by
 * an administrator, or by the launcher.
 */
#ifndef SUPERVISORD_RESTART_H
#define SUPERVISORD_RESTART_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct restart;
struct sup;

/* NULL when memory ran out. */
struct restart *restart_new(struct sup *);
void restart_free(struct restart **);
/* The handler of service.restart. */
void restart_call(struct client *, uint32_t seq, const struct ipc_params *);
/* The launcher wants it: the loop ends with LAUNCH_EXIT_RESTART. */
void restart_now(struct restart *);

#endif
