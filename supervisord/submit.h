/*
 * submit: run.submit: checks a submission, creates its run or finds the one
 * its key stands for, and answers (MCP contract v1 section 4.1).
 */
#ifndef SUPERVISORD_SUBMIT_H
#define SUPERVISORD_SUBMIT_H

#include <stdint.h>

#include "ipc/msg.h"

struct client;

void submit_run(struct client *, uint32_t seq, const struct ipc_params *);

#endif
