/*
 * egress: the parts of the one egressd process, so that each finds the others.
 */
#ifndef EGRESSD_EGRESS_H
#define EGRESSD_EGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "model/domains.h"

struct event_base;

/* How long what may take, in ms. */
struct egress_times {
	int handshake; /* from connecting to the request */
	int bind;      /* what a request waits for the run of its cell */
	int connect;   /* from the request to the site's answer */
	int idle;      /* without a byte */
};

/* Tests are linked with times of their own. */
extern const struct egress_times egress_times;

struct egress {
	struct event_base *base;
	struct resolver *resolver;
	struct upstream *upstream; /* NULL: none */
	struct own *own;           /* NULL: not known here */
	struct cells *cells;
	struct link *link;         /* with supervisord, NULL: none now */
	struct launchlink *launch; /* with the launcher */
	/* Settings; never NULL. */
	struct domain_list *allowed, *forbidden, *local;
	int names[2];   /* copies of resolv.conf and hosts; -1: the files */
	size_t fds;     /* held by connections */
	size_t fds_max; /* as the limit of descriptors allows */
	bool broken;    /* see setup_break() */
};

#endif
