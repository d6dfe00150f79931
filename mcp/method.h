/*
 * method: what a client may ask. The table is in methods.c; a handler of a
 * further feature is one more row there.
 */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include "mcp/adapter.h"
#include "mcp/lines.h"
#include "mcp/reply.h"
#include "mcp/rpc.h"

/* A request. A handler answers, or moves both into what answers later. */
struct request {
	struct reply reply;
	struct rpc_msg msg;
};

typedef void method_fn(struct adapter *, struct request *);

/* One line of the client, its newline not counted; all answers follow. */
void method_line(struct adapter *, const uint8_t *, size_t len);
/* A line that was longer than RPC_LINE_BYTES_MAX. */
void method_long_line(struct adapter *, const struct lines_cut *);

/* Handlers. */
method_fn basic_initialize, basic_discover, basic_ping;
method_fn tools_list;
method_fn call_tool;
method_fn resources_list, resources_templates, resources_read;
method_fn resources_subscribe, resources_unsubscribe, subscriptions_listen;
method_fn prompts_list, prompts_get;
method_fn completion_complete;
method_fn tasks_get, tasks_cancel, tasks_update;
method_fn tasks_result, tasks_stop, tasks_list;

/* Handlers of notifications. */
typedef void note_fn(struct adapter *, const struct rpc_msg *);
note_fn calls_cancel;

#endif
