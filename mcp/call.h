/*
 * call: one call of a tool, from its arguments to its answer.
 */
#ifndef MCP_CALL_H
#define MCP_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "mcp/adapter.h"
#include "mcp/link.h"
#include "mcp/progress.h"
#include "mcp/reply.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"

#define CALL_TEXTS_MAX 8

/* What is wanted of an artifact: see artifact.c. */
struct call_part {
	char id[IPC_ID_MAX + 1];
	int64_t item;       /* -1: not given */
	const char *select; /* NULL: not given */
	bool chunked;       /* offset or limit was given */
	bool picture;       /* all of it, to be looked at */
	int64_t offset, limit;
	int64_t done; /* bytes that were read of it */
};

struct call {
	TAILQ_ENTRY(call) entry;
	struct adapter *adapter;
	struct reply reply;
	struct rpc_msg msg; /* until the request was answered */
	const struct tool *tool;
	struct link_req req;
	char *texts[CALL_TEXTS_MAX]; /* what req borrows beside msg */
	size_t ntexts;
	struct buf options, ignored;
	struct progress progress;
	struct event *timer; /* before the answer; NULL: not needed yet */
	/* Of a run that is waited for: see waiting.c. */
	char run_id[IPC_ID_MAX + 1];
	char mode[16];
	bool submitted; /* by this call */
	bool abandoned; /* the client has canceled the call */
	bool own_key;   /* that nobody but us knows */
	bool deduplicated, mismatch;
	bool late;    /* it was waited for long enough */
	bool as_task; /* the client asks for the end of the run by itself */
	bool is_auto; /* the caller left it to the service whether to wait */
	int64_t after_seq;
	int64_t begin_ms, until_ms; /* monotonic */
	struct ipc_params get;      /* how to read it at the end */
	struct buf run;             /* the Run object */
	struct call_part part;
	struct buf whole; /* all of an artifact */
};

#define CALL_WHOLE_BYTES (32u << 20)
/* About so much text of an answer, whose reader pays for all of it. */
#define CALL_ANSWER_BYTES 24576

/* The arguments object of the request; may be missing. */
struct json_val call_arguments(const struct call *);
/* Sends the next request of this call; its params are set. */
void call_ask(struct call *, link_done_fn *);
struct call *call_of(struct link_req *);
/* Keeps a copy for as long as the call; NULL without memory. */
char *call_keep(struct call *, char *text);
/* Answered: forgets all. */
void call_free(struct call **);
/* Nobody waits any more; runs go on. */
void calls_drop_all(struct adapter *);

#endif
