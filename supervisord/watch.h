/*
 * watch: a client that waits for something of a run. Belongs to its client and,
 * while the run is live, to the run's task; goes when either side lets go.
 */
#ifndef SUPERVISORD_WATCH_H
#define SUPERVISORD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/ulid.h"
#include "model/run.h"
#include "storage/idem.h"

struct client;
struct event;
struct event_base;
struct task;

enum watch_kind {
	WATCH_SYNC,   /* run.submit, answered when the run is terminal */
	WATCH_CANCEL, /* run.cancel, likewise */
	WATCH_POLL,   /* run.events, answered by the next event */
	WATCH_FOLLOW, /* run.follow, gets every event until terminal */
	WATCH_OTHER,  /* not of a run: waits for its owner */
	WATCH__MAX
};

struct watch {
	TAILQ_ENTRY(watch) by_task, by_client;
	enum watch_kind kind;
	struct client *client;
	struct task *task; /* NULL once the run is terminal */
	struct ulid run;
	uint32_t seq; /* of the request */
	struct event *timer;
	struct watch **owner; /* set to NULL with the watch; may be NULL */
	void *state; /* OTHER: its owner's, freed with the watch; or NULL */
	/* POLL, FOLLOW */
	uint64_t sent; /* last event the client has */
	uint64_t limit;
	bool lagging; /* its queue is too full; resumes when drained */
	/* SYNC */
	enum run_mode mode;
	bool deduplicated;
	enum idem_match match; /* of a submission that was repeated */
	int64_t wait_ms;       /* left to the client itself; 0: it waits here */
	/* POLL, SYNC */
	size_t max_bytes; /* of the answer, about; 0: no limit */
};

TAILQ_HEAD(watch_list, watch);

/* task may be NULL. NULL when memory ran out. */
struct watch *watch_new(enum watch_kind, struct client *, struct task *,
    const struct ulid *run, uint32_t seq);
void watch_free(struct watch **);
/* on_timer(fd, what, watch) is called once after ms. */
bool watch_arm(struct watch *, struct event_base *, int64_t ms,
    void (*on_timer)(int fd, short what, void *watch));
/* The run is over: leaves the task's list. */
void watch_detach(struct watch *);

#endif
