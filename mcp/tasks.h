/*
 * tasks: runs as tasks, by the extension io.modelcontextprotocol/tasks of the
 * modern era. The id of a task is that of its run, so that every run is one,
 * also for other adapters and after restarts.
 */
#ifndef MCP_TASKS_H
#define MCP_TASKS_H

#include <stdbool.h>

#include "json/tape.h"
#include "mcp/call.h"

/* What a client and the adapter declare: the value of extensions. */
#define TASKS_DECLARED "{\"io.modelcontextprotocol/tasks\":{}}"

/* Whether the client of this request has declared the extension in it. */
bool tasks_declared(const struct revision *, struct json_val params);
/* Answers that it has not. */
void tasks_refuse(struct reply *);
/* Answers with the task of the run that was submitted, and frees the call. */
void tasks_answer_made(struct call *, struct json_val run);

#endif
