/*
 * fair: the time of the loop, shared over the users. Whose requests took their
 * slice is not read until all others had their turn, and what takes longer than
 * a slice goes on in the next turns.
 */
#ifndef SUPERVISORD_FAIR_H
#define SUPERVISORD_FAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisord/share.h"

struct fair;
struct sup;

/* A request that is answered in steps. Embedded; zeroed at first. */
struct fair_work {
	TAILQ_ENTRY(fair_work) entry;
	struct share *share;
	/* One step of a millisecond or two; true: it is over, and freed. */
	bool (*step)(struct fair_work *);
};

struct fair *fair_new(struct sup *);
/* When no client is left: the last step of each. */
void fair_free(struct fair **);
/* What was done for that user took so long. */
void fair_spend(struct fair *, struct share *, int64_t us);
/* Takes the first step now, unless others of that user come first. */
void fair_start(struct fair *, struct share *, struct fair_work *);

#endif
