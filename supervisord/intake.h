/*
 * intake: what the worker of one run sends: steps, items, artifacts, result.
 */
#ifndef SUPERVISORD_INTAKE_H
#define SUPERVISORD_INTAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "ipc/msg.h"
#include "supervisord/outcome.h"

struct intake;
struct store_txn;
struct ulid;
struct spool;
struct task;

/*
 * NULL when memory ran out or the spool could not be opened; then ret_why is a
 * sentence for people.
 */
struct intake *intake_new(struct task *, char *ret_why, size_t size);
/*
 * For a run whose worker is gone and had said that it is over: what it said is
 * taken up. It takes no messages and needs no spool. NULL when there is no such
 * thing, or no memory.
 */
struct intake *intake_new_ended(struct task *);
void intake_free(struct intake **);
/*
 * The run goes on with a worker of a supervisord before, which stored the
 * messages up to this number: those may come again.
 */
void intake_resume(struct intake *, uint64_t stored);
/*
 * Takes up what the worker of a run said at its end, which was stored; false
 * when there is no such thing. A breach of the store is logged.
 */
bool intake_load_end(struct intake *);
/* Whether it was; within a transaction. */
bool intake_end_is_stored(struct store_txn *, const struct ulid *run);
/* One message of the run's worker. A breach ends the run (task_abort). */
void intake_msg(struct intake *, const struct ipc_params *);
/* Whether any came; NULL: none. */
bool intake_has_heard(const struct intake *);
/* The worker's last word; one that is not given without it, or for NULL. */
const struct run_end *intake_end(const struct intake *);
/* The worker's result document so far; NULL and 0 when there is none. */
const void *intake_result(const struct intake *, size_t *ret_len);
/* NULL when it has none; NULL is accepted. */
struct spool *intake_spool(struct intake *);

#endif
