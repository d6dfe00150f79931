/*
 * Retention in supervisord, driven by the store's expiry index.
 */
#include <stdbool.h>
#include <stdlib.h>

#include <event2/event.h>

#include "common/clock.h"
#include "common/log.h"
#include "storage/artifact.h"
#include "storage/store.h"
#include "storage/sweep.h"
#include "supervisord/reply.h"
#include "supervisord/session.h"
#include "supervisord/sup.h"
#include "supervisord/sweep.h"

#define SWEEP_BATCH    200
#define SWEEP_MAX_MS   3600000 /* looks again at least once an hour */
#define SWEEP_RETRY_MS 10000
#define SWEEP_PAUSE_MS 10 /* between two batches: others come first */

struct sweep {
	struct sup *sup;
	struct event *timer;
	bool running;
	bool trim;  /* the next batch is for the artifacts' budget */
	bool stuck; /* too much is held, but nothing can go just now */
};

static void
sweep_in(struct sweep *s, int64_t ms)
{
	struct timeval tv;

	if (ms < 0)
		ms = 0;
	if (ms > SWEEP_MAX_MS)
		ms = SWEEP_MAX_MS;
	tv.tv_sec = ms / 1000;
	tv.tv_usec = ms % 1000 * 1000;
	evtimer_add(s->timer, &tv);
}

static void
sweep_look(struct sweep *s)
{
	uint64_t held = 0, budget = (uint64_t)s->sup->settings.artifactMaxBytes;
	struct store_txn *txn;
	int64_t next_ms = 0;
	int err;

	if (s->running || store_read_begin(s->sup->store, &txn) != STORE_OK)
		return;
	err = store_next_expiry(txn, &next_ms);
	s->trim = !s->stuck && artifact_total(txn, &held) == STORE_OK &&
	    held > budget;
	store_read_end(s->sup->store);
	if (s->trim)
		sweep_in(s, 0);
	else if (err == STORE_OK)
		sweep_in(s, next_ms - clock_stamp_ms());
}

void
sweep_arm(struct sweep *s)
{
	if (s == NULL)
		return;
	s->stuck = false;
	sweep_look(s);
}

static void
sweep_done(void *arg, int err, const struct sweep_result *result)
{
	struct sweep *s = arg;

	s->running = false;
	if (err == STORE_CLOSED)
		return;
	if (err != STORE_OK) {
		log_warn("sweep: %s", store_strerror(err));
		sweep_in(s, SWEEP_RETRY_MS);
		return;
	}
	if (result->runs + result->artifacts > 0)
		log_info("sweep: %u runs, %u artifacts", result->runs,
		    result->artifacts);
	if (result->more)
		sweep_in(s, SWEEP_PAUSE_MS);
	else
		sweep_look(s);
}

static void
sweep_trimmed(void *arg, int err, const struct sweep_result *result)
{
	struct sweep *s = arg;

	s->stuck = err == STORE_OK && !result->more && result->artifacts == 0;
	/* What expires must not wait until this works. */
	s->trim = s->trim && err == STORE_OK;
	if (err == STORE_OK && result->artifacts > 0)
		log_info("sweep: %u artifacts before their time: all of them"
			 " held more than artifactMaxBytes",
		    result->artifacts);
	if (s->stuck)
		log_warn("sweep: the artifacts of active runs hold more than"
			 " artifactMaxBytes");
	/* Nothing is said twice. */
	sweep_done(s, err, &(struct sweep_result){ .more = result->more });
}

static void
sweep_ended(void *arg, const struct ulid *session)
{
	struct sweep *s = arg;
	char name[ID_CHARS + 1];

	id_format("sess_", session, name);
	log_info("%s: expired", name);
	session_end(s->sup, session, NULL, NULL);
}

static enum store_err
sweep_start(struct sweep *s)
{
	struct settings *set = &s->sup->settings;
	int64_t now_ms = clock_stamp_ms();

	if (s->trim)
		return store_trim(s->sup->store, now_ms, set->tombstoneTtlMs,
		    (uint64_t)set->artifactMaxBytes, SWEEP_BATCH, sweep_trimmed,
		    s);
	return store_sweep(s->sup->store, now_ms, set->tombstoneTtlMs,
	    SWEEP_BATCH, sweep_done, sweep_ended, s);
}

static void
sweep_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct sweep *s = arg;

	if (s->running)
		return;
	s->running = true;
	if (sweep_start(s) != STORE_OK) {
		s->running = false;
		sweep_in(s, SWEEP_RETRY_MS);
	}
}

struct sweep *
sweep_new(struct sup *sup)
{
	struct sweep *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->sup = sup;
	s->timer = evtimer_new(sup->base, sweep_on_timer, s);
	if (s->timer == NULL)
		sweep_free(&s);
	return s;
}

void
sweep_free(struct sweep **sweep)
{
	struct sweep *s = *sweep;

	if (s == NULL)
		return;
	if (s->timer != NULL)
		event_free(s->timer);
	free(s);
	*sweep = NULL;
}
