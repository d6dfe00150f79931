/*
 * recover: the crash rules at start (architecture section 5).
 */
#ifndef SUPERVISORD_RECOVER_H
#define SUPERVISORD_RECOVER_H

#include <stdbool.h>

struct sup;

/*
 * Raises the epoch, settles every run that was running (requeued, or handed to
 * tasks to be ended as failed) and queues what waits. False when the store
 * refuses; the reason is logged.
 */
bool recover_runs(struct sup *);

#endif
