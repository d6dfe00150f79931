/*
 * worker: the one worker of this process, shared by what its browser and its
 * run do (workerd.c) and what supervisord orders (orders.c).
 */
#ifndef WORKERD_WORKER_H
#define WORKERD_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct browser;
struct chan;
struct chan_ops;
struct event;
struct event_base;
struct keep;
struct outbox;
struct page;
struct run;

struct worker {
	struct event_base *base;
	struct chan *chan;
	struct outbox *out;
	struct browser *browser;
	struct page *first;
	struct run *run;
	struct keep *keep;
	struct event *stop_timer, *end_event;
	struct event *secrets_event; /* NULL: the run has none */
	struct buf text;             /* to describe */
	char product[128];
	uint32_t generation; /* workers this browser had before */
	bool describing, browser_ready;
	bool told;   /* run.go came */
	bool go;     /* and the template is still to be started */
	bool warm;   /* no run is waited for yet */
	bool saving; /* the session's state, when the template is over */
	bool stopping;
	bool ending; /* run.end was said; its run.ack is awaited */
	int status;
};

/* Ends the loop, and with it the process. */
void worker_leave(struct worker *, int status);
/* Starts the template when all is there that it needs. */
void worker_try_go(struct worker *);
/* Reads the secrets of the run from their pipe. */
void worker_await_secrets(struct worker *);
void worker_cancel(struct worker *, const char *reason);

/* What supervisord says; ctx is the worker. */
extern const struct chan_ops worker_orders;

#endif
