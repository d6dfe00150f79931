/*
 * recover: the crash rules at start.
 */
#ifndef SUPERVISORD_RECOVER_H
#define SUPERVISORD_RECOVER_H

#include <stdbool.h>

#include "model/errors.h"

struct run_record;
struct sup;

/* Why a run fails that may not begin again; the text is static. */
enum err_code recover_lost(const struct run_record *, const char **ret_text);

/*
 * Raises the epoch, decides on every run that was running (goes on with its
 * worker, requeued, or handed to tasks to be ended) and queues what waits. False
 * when the store refuses; the reason is logged.
 */
bool recover_runs(struct sup *);
/*
 * Whether a run whose processes are gone may begin again; untouched: nothing
 * was done for it yet.
 */
bool
recover_may_run_again(struct sup *, const struct run_record *, bool untouched);

#endif
