/*
 * keep: the session of a run that outlives it: what its sites keep is loaded
 * before the template starts and exported when it is over, and one tab is left.
 */
#ifndef WORKERD_KEEP_H
#define WORKERD_KEEP_H

#include <stdbool.h>

#include "ipc/msg.h"

struct browser;
struct outbox;
struct keep;

/* What keep_load() or keep_save() waited for is over. */
typedef void keep_done_fn(void *ctx);

/* outbox is borrowed. NULL when memory ran out. */
struct keep *keep_new(struct outbox *, keep_done_fn *, void *ctx);
/* Before the browser is freed. */
void keep_free(struct keep **);

/* The messages that concern it; False: why says what is wrong. */
bool keep_begin(struct keep *, const struct ipc_params *, bool takeover,
    const char **ret_why);
bool keep_state(struct keep *, const struct ipc_params *, const char **ret_why);
/* Whether all that run.begin announced is there. */
bool keep_is_complete(const struct keep *);

/*
 * Brings the session's state into a browser that has no page of it yet. True:
 * there is nothing to wait for.
 */
bool keep_load(struct keep *, struct browser *);
/*
 * Exports the state and reports it, unless the state of before was not yet
 * loaded; then lets the browser go on alone. True: there is nothing to wait
 * for. A short one ends within what is left of a canceled run's grace.
 */
bool keep_save(struct keep *, struct browser *, bool brief);
/* The outbox is not busy any more. */
void keep_drained(struct keep *);
/* Gives up what is under way; done is not called. */
void keep_stop(struct keep *);

#endif
