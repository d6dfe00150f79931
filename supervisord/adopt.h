/*
 * adopt: what outlived a supervisord: cells whose runs go on, browsers of
 * sessions that wait, secrets of runs. The launcher offers it at the start.
 */
#ifndef SUPERVISORD_ADOPT_H
#define SUPERVISORD_ADOPT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ulid.h"
#include "launch/launch.h"

struct cell;
struct sup;
struct worker;
struct worker_ops;

/* Of the link. */
void adopt_offer(
    struct sup *, uint32_t cell_id, const struct launch_adopt *, int fds[2]);
void adopt_secrets(struct sup *, const struct launch_kept *);
/*
 * All was offered: answers what is kept and what is not, before anything else
 * is done, for the launcher waits for it.
 */
void adopt_decide(struct sup *);

/* The cell whose worker has that run; NULL when it has none that lives. */
struct cell *adopt_find(struct sup *, const struct ulid *run);
/* Whether the launcher has the run's secrets; they are not dropped then. */
bool adopt_claim_secrets(struct sup *, const struct ulid *run);
/*
 * The worker of that cell, for on_msg and on_reaped as of worker_start(), after
 * on_resumed. stored: number of its last message that is in the store. NULL
 * when memory ran out: another start may take it up.
 */
struct worker *adopt_worker(struct cell *, uint64_t stored, const char *name,
    const struct worker_ops *, void *ctx);
/*
 * The runs have taken what is theirs: browsers without one wait for the next
 * run of their session, all else goes.
 */
void adopt_rest(struct sup *);

/* Of cells: the worker of a cell that was not taken up has ended. */
void adopt_worker_ended(struct cell *);

void adopt_free(struct sup *);

#endif
