/* verdict: the outcome of a run, when all that is known of it is stored. */
#ifndef SUPERVISORD_VERDICT_H
#define SUPERVISORD_VERDICT_H

#include "supervisord/envelope.h"
#include "supervisord/outcome.h"

struct task;

/* Also sets status, error and number of items in the task's record. */
void
verdict_reach(struct task *, const struct items *, struct outcome *ret_outcome);

#endif
