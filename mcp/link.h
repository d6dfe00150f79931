/*
 * link: the adapter's connection to the service. Made when a request needs it
 * and given up when none has for a while; lost ones are made anew and what was
 * asked is asked again, so that a restart of the service is only a delay. One
 * that says nothing for too long, though it is there, hangs: what was asked is
 * answered with that.
 *
 * Only requests that may safely be repeated are sent: questions, cancellations,
 * and submissions with an idempotency key.
 */
#ifndef MCP_LINK_H
#define MCP_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/msg.h"
#include "mcp/start.h"

struct event_base;
struct link;
struct link_req;

/*
 * The answer: a result, or an error as the service writes it, which may also
 * be one of ours about the service. The bytes are followed by a NUL and live
 * for the call. The request is not the link's any more.
 */
typedef void
link_done_fn(struct link_req *, bool good, const char *json, size_t len);

/* Embedded in what waits. params and ctx are set before link_send. */
struct link_req {
	TAILQ_ENTRY(link_req) entry;
	struct ipc_params params; /* what it borrows lives until the answer */
	link_done_fn *done;
	/* Private to the link. */
	uint32_t seq; /* 0: not sent */
	unsigned tries;
	int64_t sent_ms, due_ms; /* since when, until when it is waited for */
	bool waits;              /* it is the link's */
};

struct link_config {
	const char *socket; /* NULL: the places where a service listens */
	const char *label;  /* of its sessions, as it is when it connects */
	bool remote;        /* ask to be trusted as a remote client only */
	bool may_start;     /* a service of the user's own */
	struct start_config start;
};

/* The config lives as long as the link. NULL: no memory. */
struct link *link_new(struct event_base *, const struct link_config *);
/* Requests that wait are forgotten. */
void link_free(struct link **);
/* Never calls done by itself, but from the loop. */
void link_send(struct link *, struct link_req *);
/* The request is not wanted any more; nothing if it is not the link's. */
void link_drop(struct link *, struct link_req *);
/*
 * While held, nothing is sent and no connection made; answers to what was sent
 * still come, since the service drops a client that does not read.
 */
void link_hold(struct link *, bool hold);

#endif
