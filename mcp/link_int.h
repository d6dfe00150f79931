/*
 * link_int: what the files of the link share; nobody else looks inside.
 */
#ifndef MCP_LINK_INT_H
#define MCP_LINK_INT_H

#include <event2/util.h>

#include "client/client.h"
#include "ipc/chan.h"
#include "mcp/fault.h"
#include "mcp/link.h"

enum link_state {
	LINK_DOWN,
	LINK_STARTING,
	LINK_HELLO,
	LINK_READY
};

TAILQ_HEAD(link_list, link_req);

struct event;

struct link {
	struct event_base *base;
	const struct link_config *config;
	enum link_state state;
	struct chan *chan;
	struct start *start;
	struct event *timer;   /* to dial again, for hello, or until idle */
	struct event *overdue; /* the first of those sent will be then */
	struct link_list waiting, sent;
	size_t busy; /* of those sent, without the ones that wait for events */
	char path[CLIENT_PATH_MAX];
	uint32_t hello_seq;
	int64_t since_ms; /* of an outage: when dialing began; 0: none */
	int64_t heard_ms; /* the service's last word of any kind */
	int64_t grace_ms; /* for how long it may be gone; 0: none was there */
	bool started;     /* within that outage */
	bool held;
	char why[FAULT_TEXT_MAX / 2]; /* the start of it failed; or empty */
};

/* The request is not the link's any more, and is answered. */
void link_req_done(struct link_req *, bool good, const char *json, size_t len);
/* It is not on its way any more. */
void link_forget_sent(struct link *, struct link_req *);
/* All that wait are answered with an error about the service. */
void link_fail_all(struct link *, const char *why);
/* The connection is over; what was asked waits again. */
void link_down(struct link *);

/* link_silent.c: the request was sent, and is to be answered in time. */
void link_await(struct link *, struct link_req *);
/* The time of the first of those sent is over. */
void link_on_overdue(evutil_socket_t, short what, void *arg);
/* The service hangs: ends the connection and answers all that wait. */
void link_fail_silent(struct link *);

#endif
