/*
 * notice: what supervisord tells a worker of its browser's connections.
 */
#ifndef WORKERD_NOTICE_H
#define WORKERD_NOTICE_H

#include "ipc/msg.h"

struct browser;

/* run.egress; one with an outcome that there is not is passed over. */
void notice_take(struct browser *, const struct ipc_params *);

#endif
