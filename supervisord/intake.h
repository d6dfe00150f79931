/*
 * intake: what the worker of one run sends: steps, items, artifacts, result.
 */
#ifndef SUPERVISORD_INTAKE_H
#define SUPERVISORD_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"

struct intake;
struct spool;
struct task;

/* NULL when memory ran out or the spool could not be opened. */
/* On failure, NULL, ret_why is a sentence for people. */
struct intake *intake_new(struct task *, char *ret_why, size_t size);
void intake_free(struct intake **);
/* One message of the run's worker. A breach ends the run (task_abort). */
void intake_msg(struct intake *, const struct ipc_params *);
/* The worker's result document so far; NULL and 0 when there is none. */
const void *intake_result(const struct intake *, size_t *ret_len);
struct spool *intake_spool(struct intake *);

#endif
