/*
 * label: the name under which an agent's sessions are its own.
 */
#ifndef MCP_LABEL_H
#define MCP_LABEL_H

#include "json/tape.h"
#include "mcp/adapter.h"

/*
 * Makes the adapter's label of the client's name (clientInfo, which may be
 * missing) and of the directory it was started in, unless there is one: the
 * same agent in the same workspace finds its sessions again after a restart.
 */
void label_make(struct adapter *, struct json_val client_info);

#endif
