/*
 * Who waits for something to happen once, in supervisord.
 */
#include <stdlib.h>

#include "supervisord/waiters.h"

struct waiter {
	STAILQ_ENTRY(waiter) entry;
	void (*fn)(void *arg);
	void *arg;
};

void
waiters_call(struct waiters *ws)
{
	struct waiters due = STAILQ_HEAD_INITIALIZER(due);
	struct waiter *w;

	/* One that is called may add another. */
	STAILQ_CONCAT(&due, ws);
	while ((w = STAILQ_FIRST(&due)) != NULL) {
		STAILQ_REMOVE_HEAD(&due, entry);
		w->fn(w->arg);
		free(w);
	}
}

bool
waiters_add(struct waiters *ws, void (*fn)(void *), void *arg)
{
	struct waiter *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	w->fn = fn;
	w->arg = arg;
	STAILQ_INSERT_TAIL(ws, w, entry);
	return true;
}

void
waiters_clear(struct waiters *ws)
{
	struct waiter *w;

	while ((w = STAILQ_FIRST(ws)) != NULL) {
		STAILQ_REMOVE_HEAD(ws, entry);
		free(w);
	}
}
