/*
 * egress: supervisord's connection to egressd: which cell's connections belong
 * to which run and where that run may go, and what egressd tells of them.
 * egressd may be started anew at any time: it is told all of it again.
 */
#ifndef SUPERVISORD_EGRESS_H
#define SUPERVISORD_EGRESS_H

#include <stdint.h>

#include "ipc/msg.h"
#include "model/egress.h"
#include "model/run.h"

struct egress;
struct egress_binding;
struct event_base;

/* Where a run may go. */
struct egress_rules {
	enum trust_level trust;
	const char *allowed; /* patterns of model/domains.h, one a line */
	const char *forbidden;
	const char *kept;  /* what its client keeps all of its runs to */
	const char *named; /* hosts that its inputs name, one a line */
	int64_t max_connections;
	int64_t max_bytes;
};

/* A connection that did not come about; texts live for the call. */
struct egress_report {
	const char *host;
	uint16_t port;
	const char *address; /* the one that decided, or NULL */
	enum egress_outcome outcome;
	const char *rule; /* the one that decided, or "" */
};

struct egress_sums {
	int64_t connections;
	int64_t bytes_in, bytes_out;
	int64_t refused;
};

struct egress_ops {
	/* The run may begin. Once, never from within egress_bind(). */
	void (*on_bound)(void *ctx);
	/* Instead: egressd is not there or does not take it. */
	void (*on_failed)(void *ctx, const char *why);
	void (*on_report)(void *ctx, const struct egress_report *);
	/* After egress_unbind(), once, unless egressd is lost. */
	void (*on_sums)(void *ctx, const struct egress_sums *);
};

/* NULL when memory ran out. */
struct egress *egress_new(struct event_base *);
/* Bindings are to be released before. */
void egress_free(struct egress **);

/* Cells have no other way to the network: there will be an egressd. */
void egress_expect(struct egress *);
/*
 * A socket towards an egressd that has just been started; takes it. False: no
 * memory, and it is closed.
 */
bool egress_take(struct egress *, int fd);
/* There is none, and none will be for a while. */
void egress_lost(struct egress *);

/*
 * Binds a cell to a run; rules and run are copied. on_failed follows after a
 * few seconds at most when there is no egressd. NULL when memory ran out.
 */
struct egress_binding *
egress_bind(struct egress *, uint32_t cell_id, const char *run,
    const struct egress_rules *, const struct egress_ops *, void *ctx);
/* The run is over: its connections are closed. Does nothing the second time. */
void egress_unbind(struct egress_binding *);
/* Unbinds and forgets; no call follows. NULL is accepted. */
void egress_release(struct egress_binding **);

#endif
