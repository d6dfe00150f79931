/*
 * dial: a TCP connection to the first of some addresses that answers.
 */
#ifndef EGRESSD_DIAL_H
#define EGRESSD_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "model/domains.h"

#define DIAL_MAX 32 /* addresses */
#define DIAL_FDS 4  /* at a time */

struct event_base;
struct dial;

struct dial_ops {
	/* The descriptor becomes the receiver's; the dial is gone. */
	void (*connected)(
	    void *arg, int fd, const struct domain_address *address);
	/*
	 * All have failed and none is to come; the dial is gone. error is that
	 * of the address that tells most.
	 */
	void (*failed)(
	    void *arg, int error, const struct domain_address *address);
};

/*
 * An attempt begins 250 ms after the one before it, or when that has failed;
 * the families take turns, IPv6 first. Has no time limit of its own. NULL
 * without memory.
 */
struct dial *dial_new(
    struct event_base *, uint16_t port, const struct dial_ops *, void *arg);
/* Closes all attempts; nothing is called any more. NULL is accepted. */
void dial_free(struct dial **);
/*
 * One more to try; beyond DIAL_MAX they are left out. Nothing is called before
 * the next turn of the loop.
 */
void dial_add(struct dial *, const struct domain_address *);
/* There are no more than those. */
void dial_end(struct dial *);
/* Whether none was added. */
bool dial_is_empty(const struct dial *);
/* An address that is being tried, NULL before the first. */
const struct domain_address *dial_trying(const struct dial *);

#endif
