/*
 * sched: the queue. Slots are shared over the owners: the next run is of the
 * owner who has the fewest active, and of those the one whose last start is the
 * longest ago. Within an owner the higher priority class is first, then the
 * earlier arrival; an entry rises a class per SCHED_AGE_MS, so that none waits
 * for ever. Knows nothing of runs.
 */
#ifndef SUPERVISORD_SCHED_H
#define SUPERVISORD_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/tree.h>

#include "model/run.h"

#define SCHED_AGE_MS 60000

struct sched_owner;

/* Embedded in what is queued. Zeroed before its first use. */
struct sched_entry {
	TAILQ_ENTRY(sched_entry) entry;
	struct sched_owner *owner;
	enum run_priority priority;
	uint64_t order; /* of arrival */
	int64_t since_ms;
	bool queued;
	bool held; /* may not start now */
};

TAILQ_HEAD(sched_class, sched_entry);

/* One user, as long as there is a run of theirs. */
struct sched_owner {
	RB_ENTRY(sched_owner) entry;
	uint32_t uid;
	bool unlimited; /* may have every slot */
	size_t refs;
	size_t active;
	size_t queued;
	uint64_t started; /* serial of the last start, 0: none yet */
	struct sched_class classes[PRIORITY__MAX];
};

RB_HEAD(sched_owners, sched_owner);

struct sched {
	struct sched_owners owners;
	uint64_t arrivals;
	uint64_t starts;
	size_t count;
};

void sched_init(struct sched *);
/* The owner of that uid, to be given back. NULL: no memory. */
struct sched_owner *
sched_owner_take(struct sched *, uint32_t uid, bool unlimited);
/* Sets the pointer to NULL; NULL is accepted. */
void sched_owner_give(struct sched *, struct sched_owner **);
/* One of the owner's runs takes a slot, or gives it up. */
void sched_start(struct sched *, struct sched_owner *);
void sched_stop(struct sched_owner *);
/* Has that user, whose slots are limited, as many as most? */
bool sched_is_full(const struct sched *, uint32_t uid, size_t most);
/* Behind all of its class and owner, which is set. */
void sched_add(
    struct sched *, struct sched_entry *, enum run_priority, int64_t now_ms);
void sched_remove(struct sched *, struct sched_entry *);
/* Keeps its place, but its turn does not come while it is held. */
void sched_hold(struct sched *, struct sched_entry *, bool held);
/*
 * The entry to start next when an owner may have most slots, or NULL; stays in
 * the queue.
 */
struct sched_entry *
sched_first(const struct sched *, size_t most, int64_t now_ms);
/*
 * 1 for the first, among its owner's or all, as if no slot were given up
 * meanwhile. Time grows with the owner's queue.
 */
size_t sched_position(const struct sched *, const struct sched_entry *,
    bool among_own, int64_t now_ms);

#endif
