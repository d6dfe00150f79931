/*
 * tasks: what clients ask about tasks: by the extension
 * io.modelcontextprotocol/tasks of the modern era, or by the experimental
 * tasks of the revision 2025-11-25 (task_calls.c).
 */
#ifndef MCP_TASKS_H
#define MCP_TASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "json/tape.h"
#include "mcp/call.h"
#include "mcp/task.h"

/* What a client and the adapter declare: the value of extensions. */
#define TASKS_DECLARED "{\"io.modelcontextprotocol/tasks\":{}}"
/* What the adapter declares in the revision 2025-11-25: the value of tasks. */
#define TASKS_CAPABILITY \
	"{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}"

/* Whether the client of this request has declared the extension in it. */
bool tasks_declared(const struct revision *, struct json_val params);
/* Answers that it has not. */
void tasks_refuse(struct reply *);
/* Whether this call of a tool is to be a task by the revision 2025-11-25. */
bool tasks_wanted(const struct revision *, struct json_val params);
/* Answers with the task of the run that was submitted, and frees the call. */
void tasks_answer_made(struct call *, struct json_val run);
/* Tells the subscription (subs_id()) what the task is now, soon. */
void tasks_tell(struct adapter *, size_t subscription, const char *run_id);

#endif
