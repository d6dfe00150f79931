/* waiters: functions that are called once, when something has happened. */
#ifndef SUPERVISORD_WAITERS_H
#define SUPERVISORD_WAITERS_H

#include <stdbool.h>
#include <sys/queue.h>

struct waiter;

/* STAILQ_INIT() makes an empty list. */
STAILQ_HEAD(waiters, waiter);

/* False: no memory, it will not be called. */
bool waiters_add(struct waiters *, void (*fn)(void *arg), void *arg);
/* Calls all that wait now, in the order they came, and forgets them. */
void waiters_call(struct waiters *);
/* Forgets them without a call. */
void waiters_clear(struct waiters *);

#endif
