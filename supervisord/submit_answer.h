/*
 * submit_answer: what a client that submitted a run is told, and when.
 */
#ifndef SUPERVISORD_SUBMIT_ANSWER_H
#define SUPERVISORD_SUBMIT_ANSWER_H

#include <stdbool.h>
#include <sys/types.h>

#include "model/errors.h"
#include "storage/run.h"

struct client;
struct sup;
struct task;
struct template;
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
/*
 * The audit log gets what was refused, before client is told; NULL: it is gone.
 * What it sent is not in it, but for the id of a template that exists.
 */
void submit_tell_refusal(struct sup *, struct client *, uid_t, enum err_code,
    const struct template *);

#endif
