/*
 * submit_answer: what a client that submitted a run is told, and when.
 */
#ifndef SUPERVISORD_SUBMIT_ANSWER_H
#define SUPERVISORD_SUBMIT_ANSWER_H

#include <stdbool.h>

#include "storage/run.h"

struct sup;
struct task;
struct watch;

/*
 * Takes the watch, whose run and mode are set. rec is the record of a new run
 * as it was committed, NULL for one that was there. no_wait: the client does
 * not wait for the end of a sync run.
 */
void submit_answer(
    struct sup *, struct watch *, const struct run_record *rec, bool no_wait);
/* The run is terminal: answers those that waited for it. */
void submit_end(struct task *);

#endif
