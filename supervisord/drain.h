/*
 * drain: an administrator keeps the service from starting runs. Submissions are
 * taken and wait, runs that were started end by themselves. It outlives a
 * restart, until it is told to resume.
 */
#ifndef SUPERVISORD_DRAIN_H
#define SUPERVISORD_DRAIN_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;
struct sup;

/* Reads from the store whether the last start was drained. */
void drain_load(struct sup *);
/* The handlers of service.drain and service.resume. */
void drain_start(struct client *, uint32_t seq, const struct ipc_params *);
void drain_end(struct client *, uint32_t seq, const struct ipc_params *);

#endif
