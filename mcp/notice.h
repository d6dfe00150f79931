/* notice: a notification to the client, one line. */
#ifndef MCP_NOTICE_H
#define MCP_NOTICE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "json/writer.h"
#include "mcp/adapter.h"

struct notice {
	struct buf buf;
	struct json_writer w; /* its params are open */
};

/*
 * subscription: the id of the request that asked for it, as it was written;
 * NULL: nobody's.
 */
void notice_begin(struct notice *, const char *method,
    const uint8_t *subscription, size_t len);
/* What does not fit an answer is not said. */
void notice_send(struct notice *, struct adapter *);

#endif
