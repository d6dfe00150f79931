/*
 * relay: carries bytes between a browser and a site until both have ended.
 */
#ifndef EGRESSD_RELAY_H
#define EGRESSD_RELAY_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct relay;

struct relay_ops {
	/* So many came from the site, or go to it. */
	void (*counted)(void *arg, size_t in, size_t out);
	/* It is over, for whatever reason; the relay is gone. */
	void (*ended)(void *arg);
};

/*
 * Takes both sockets, connected and non-blocking, also on failure (NULL). What
 * one side does not take stops the other from being read; an end of file is
 * passed on as such, a reset as a reset. Ends when nothing has moved for
 * idle_s seconds.
 */
struct relay *relay_new(struct event_base *, int browser, int site, int idle_s,
    const struct relay_ops *, void *arg);
/* Resets both at once; nothing is called. NULL is accepted. */
void relay_free(struct relay **);

#endif
