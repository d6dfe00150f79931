/*
 * sched: the queue: first come, first served within a priority class; who
 * waits rises a class per SCHED_AGE_MS, so that nobody waits for ever. Knows
 * nothing of runs.
 */
#ifndef SUPERVISORD_SCHED_H
#define SUPERVISORD_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "model/run.h"

#define SCHED_AGE_MS 60000

/* Embedded in what is queued. Zeroed before its first use. */
struct sched_entry {
	TAILQ_ENTRY(sched_entry) entry;
	enum run_priority priority;
	uint64_t order; /* of arrival */
	uint32_t owner; /* a uid */
	int64_t since_ms;
	bool queued;
	bool held; /* may not start now */
};

TAILQ_HEAD(sched_class, sched_entry);

struct sched {
	struct sched_class classes[PRIORITY__MAX];
	uint64_t arrivals;
	size_t count;
};

void sched_init(struct sched *);
/* Behind all of its class. */
void sched_add(
    struct sched *, struct sched_entry *, enum run_priority, int64_t now_ms);
void sched_remove(struct sched *, struct sched_entry *);
/* Keeps its place, but its turn does not come while it is held. */
void sched_hold(struct sched *, struct sched_entry *, bool held);
/* Whose turn it is, or NULL; stays in the queue. */
struct sched_entry *sched_first(const struct sched *, int64_t now_ms);
/* 1 for the first, among its owner's or all. Time grows with the queue. */
size_t sched_position(const struct sched *, const struct sched_entry *,
    bool among_own, int64_t now_ms);

#endif
