/*
 * Holding files of artifacts to what was written, in supervisord. A file that
 * was changed on the disk must not be answered, wherever its reading begins,
 * and a file of gigabytes must not hold up anybody: files take turns, a step
 * each, between which the loop goes on.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "supervisord/artcheck.h"
#include "supervisord/client.h"
#include "supervisord/sup.h"
#include "supervisord/watch.h"

#define CHECKS_MAX 32   /* files that are being checked */
#define WAITS_MAX  1024 /* requests that wait for them */
#define KNOWN_MAX  32   /* at most 128 KiB each */

struct wait {
	STAILQ_ENTRY(wait) entry;
	struct watch *watch; /* NULL once its client is gone */
	struct readart_want want;
};
STAILQ_HEAD(waits, wait);

struct artcheck {
	STAILQ_ENTRY(artcheck) entry;
	struct ulid id;
	struct artifact_scan *scan;
	struct waits waits;
};
STAILQ_HEAD(artcheck_list, artcheck);

struct artchecks {
	struct sup *sup;
	struct event *step;
	struct artcheck_list list; /* the first is next */
	size_t count, nwaits;
	struct artifact_sums *known[KNOWN_MAX]; /* that read last first */
};

const struct artifact_sums *
artcheck_find(struct artchecks *a, const struct ulid *id)
{
	struct artifact_sums *sums;

	for (size_t i = 0; i < KNOWN_MAX && a->known[i] != NULL; i++) {
		sums = a->known[i];
		if (memcmp(artifact_sums_id(sums), id, sizeof(*id)) != 0)
			continue;
		memmove(a->known + 1, a->known, i * sizeof(a->known[0]));
		a->known[0] = sums;
		return sums;
	}
	return NULL;
}

static void
remember(struct artchecks *a, struct artifact_sums *sums)
{
	artifact_sums_free(&a->known[KNOWN_MAX - 1]);
	memmove(a->known + 1, a->known, (KNOWN_MAX - 1) * sizeof(a->known[0]));
	a->known[0] = sums;
}

static void
step_soon(struct artchecks *a)
{
	const struct timeval at_once = { 0, 0 };

	if (!STAILQ_EMPTY(&a->list))
		evtimer_add(a->step, &at_once);
}

static void
wait_free_first(struct artchecks *a, struct artcheck *c)
{
	struct wait *w = STAILQ_FIRST(&c->waits);

	STAILQ_REMOVE_HEAD(&c->waits, entry);
	watch_free(&w->watch);
	free(w);
	a->nwaits--;
}

/* One that is not in the list. */
static void
artcheck_free(struct artchecks *a, struct artcheck *c)
{
	while (!STAILQ_EMPTY(&c->waits))
		wait_free_first(a, c);
	a->count--;
	artifact_scan_free(&c->scan);
	free(c);
}

static void
answer(struct artchecks *a, struct artcheck *c, enum store_err err)
{
	struct readart_want want;
	struct client *client;
	struct wait *w;
	uint32_t seq;

	while ((w = STAILQ_FIRST(&c->waits)) != NULL) {
		client = w->watch == NULL ? NULL : w->watch->client;
		seq = w->watch == NULL ? 0 : w->watch->seq;
		want = w->want;
		wait_free_first(a, c);
		if (client != NULL)
			readart_checked(client, seq, &want, err);
	}
	artcheck_free(a, c);
}

static bool
is_wanted(const struct artcheck *c)
{
	const struct wait *w;

	STAILQ_FOREACH(w, &c->waits, entry)
		if (w->watch != NULL)
			return true;
	return false;
}

static void
on_step(evutil_socket_t fd, short what, void *arg)
{
	struct artchecks *a = arg;
	struct artcheck *c = STAILQ_FIRST(&a->list);
	struct artifact_sums *sums = NULL;
	enum store_err err;

	STAILQ_REMOVE_HEAD(&a->list, entry);
	if (!is_wanted(c)) {
		artcheck_free(a, c);
		step_soon(a);
		return;
	}
	err = artifact_scan_step(c->scan, &sums);
	if (sums != NULL)
		remember(a, sums);
	if (err != STORE_OK || sums != NULL)
		answer(a, c, err);
	else
		STAILQ_INSERT_TAIL(&a->list, c, entry);
	step_soon(a);
}

static struct artcheck *
artcheck_of(struct artchecks *a, const struct artifact_row *row)
{
	struct artcheck *c;

	STAILQ_FOREACH(c, &a->list, entry)
		if (memcmp(&c->id, &row->id, sizeof(row->id)) == 0)
			return c;
	if (a->count == CHECKS_MAX || (c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	if (artifact_scan_new(a->sup->store, row, &c->scan) != STORE_OK) {
		free(c);
		return NULL;
	}
	c->id = row->id;
	STAILQ_INIT(&c->waits);
	STAILQ_INSERT_TAIL(&a->list, c, entry);
	a->count++;
	step_soon(a);
	return c;
}

bool
artcheck_wait(struct artchecks *a, struct client *client, uint32_t seq,
    const struct artifact_row *row, const struct readart_want *want)
{
	struct artcheck *c;
	struct wait *w;

	if (a->nwaits == WAITS_MAX || (c = artcheck_of(a, row)) == NULL ||
	    (w = calloc(1, sizeof(*w))) == NULL)
		return false;
	w->want = *want;
	w->watch = watch_new(WATCH_OTHER, client, NULL, &row->run, seq);
	if (w->watch == NULL) {
		free(w);
		return false;
	}
	w->watch->owner = &w->watch;
	STAILQ_INSERT_TAIL(&c->waits, w, entry);
	a->nwaits++;
	return true;
}

struct artchecks *
artchecks_new(struct sup *sup)
{
	struct artchecks *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->sup = sup;
	STAILQ_INIT(&a->list);
	a->step = evtimer_new(sup->base, on_step, a);
	if (a->step == NULL)
		artchecks_free(&a);
	return a;
}

void
artchecks_free(struct artchecks **artchecks)
{
	struct artchecks *a = *artchecks;
	struct artcheck *c;

	if (a == NULL)
		return;
	while ((c = STAILQ_FIRST(&a->list)) != NULL) {
		STAILQ_REMOVE_HEAD(&a->list, entry);
		artcheck_free(a, c);
	}
	for (size_t i = 0; i < KNOWN_MAX; i++)
		artifact_sums_free(&a->known[i]);
	if (a->step != NULL)
		event_free(a->step);
	free(a);
	*artchecks = NULL;
}
