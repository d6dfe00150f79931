/*
 * args: the arguments of a call become the params of a request.
 */
#ifndef MCP_ARGS_H
#define MCP_ARGS_H

#include <stdbool.h>

#include "mcp/call.h"

#define ARGS_WHY_MAX 256

/*
 * Fills call->req.params from the arguments by the tool's table. False, and
 * ret_why says which argument is wrong. An argument that is null is not given;
 * those that the tool does not have are noted in call->ignored, a JSON array
 * without its brackets.
 */
bool args_read(struct call *, char ret_why[ARGS_WHY_MAX]);
/*
 * An argument that is not the request's, but of the adapter itself. False: it
 * is wrong, and the call was answered with that.
 */
bool args_number(struct call *, const char *name, int64_t min, int64_t max,
    int64_t absent, int64_t *ret);

#endif
