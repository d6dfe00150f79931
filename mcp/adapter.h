/*
 * adapter: what the parts of browsertask-mcp share. It has no state that
 * outlives the process: runs, artifacts and sessions are the service's.
 */
#ifndef MCP_ADAPTER_H
#define MCP_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "ipc/msg.h"
#include "mcp/revision.h"

struct call;
struct event_base;
struct link;
struct out;
struct question;
struct sub;

TAILQ_HEAD(call_list, call);
TAILQ_HEAD(question_list, question);
TAILQ_HEAD(sub_list, sub);

/* An answer is a line of at most so many bytes: clients drop longer ones. */
#define ADAPTER_ANSWER_MAX (4u << 20)

struct adapter {
	struct event_base *base;
	struct out *out;
	struct link *link;
	const struct revision *legacy; /* agreed on; NULL before initialize */
	struct call_list calls;        /* of tools, that are not answered */
	size_t ncalls;
	struct question_list questions; /* of other requests */
	size_t nquestions;
	struct sub_list subs;       /* subscriptions */
	size_t nwatches;            /* of runs, by all of them */
	size_t nopening;            /* those that were not answered yet */
	size_t nsubs;               /* that there ever were */
	char label[IPC_ID_MAX + 1]; /* whose sessions it uses; "": not yet */
	bool public_only; /* no run reaches an address near this machine */
	char *domains;    /* nor others than these, a JSON array; or NULL */
	int64_t auto_ms;  /* how long a call of mode auto waits for its run */
	bool cancel_ends_run; /* a canceled call cancels its run, too */
	void (*on_settled)(struct adapter *); /* none is left; may be NULL */
};

/* Tells on_settled when nothing is unanswered. */
void adapter_settle(struct adapter *);

#endif
