/*
 * reply: the answer that is owed to one request of the client, alone or in a
 * batch.
 */
#ifndef MCP_REPLY_H
#define MCP_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "json/writer.h"
#include "mcp/adapter.h"
#include "mcp/rpc.h"

struct batch;

/* A value; may be moved by assignment. Answered once, or dropped. */
struct reply {
	struct adapter *adapter;    /* NULL: answered, dropped or moved */
	const struct revision *rev; /* NULL: not known yet */
	struct batch *batch;        /* NULL: it is a line of its own */
	uint8_t *id;                /* NULL: none could be read */
	size_t id_len;
};

/* An answer that is being written. */
struct reply_text {
	struct buf buf;
	struct json_writer w;
};

/* False without memory. A reply without id can only be an error. */
bool reply_init(struct reply *, struct adapter *, struct batch *,
    const uint8_t *id, size_t id_len);
/* Begins a result: its members follow. */
void reply_begin(const struct reply *, struct reply_text *);
/* One of another type than "complete", which only the modern era has. */
void
reply_begin_type(const struct reply *, struct reply_text *, const char *type);
/* One that ends the subscription of this request, of the modern era. */
void reply_begin_ended(const struct reply *, struct reply_text *);
/*
 * Ends the result and sends it. False when it is longer than an answer may
 * be: it is forgotten, and the reply still owed.
 */
bool reply_send(struct reply *, struct reply_text *);
/* data: JSON text, or NULL. */
void reply_error(
    struct reply *, enum rpc_code, const char *message, const char *data);
/* Nothing is said. */
void reply_drop(struct reply *);
/* The name and version of this program, an object. */
void reply_write_self(struct json_writer *);

/* Collects the answers of a batch; sent when all are there and it is closed. */
struct batch *batch_new(struct adapter *);
void batch_close(struct batch *);

#endif
