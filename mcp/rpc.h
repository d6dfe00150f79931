/*
 * rpc: one JSON-RPC message of a client, taken apart. Pure.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/tape.h"

/* A line of a client, its newline not counted. */
#define RPC_LINE_BYTES_MAX (8u << 20)
/* Of a line; what goes on to the service has a lower one of its own. */
#define RPC_DEPTH_MAX    128
#define RPC_ID_BYTES_MAX 4096
/* In the error that says that it is too long. */
#define RPC_ID_ECHOED_MAX (1u << 20)

/* JSON-RPC's codes, and those of the revision 2026-07-28. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_RESOURCE_NOT_FOUND = -32002, /* legacy revisions only */
	RPC_MISSING_CAPABILITY = -32021,
	RPC_UNSUPPORTED_VERSION = -32022
};

enum rpc_form {
	RPC_REQUEST,
	RPC_NOTE,     /* a notification */
	RPC_RESPONSE, /* of a client, who was asked nothing */
	RPC_BATCH,    /* root is a non-empty array */
	RPC_BAD       /* to be answered with code and message */
};

struct rpc_msg {
	enum rpc_form form;
	struct json_doc *doc; /* owned */
	struct json_val root;
	struct json_val method; /* a string */
	struct json_val params; /* an object, or missing */
	/*
	 * The id as it was written, inside the doc or, of a text that is no
	 * message, inside the line; NULL: there is none to answer to.
	 */
	const uint8_t *id;
	size_t id_len;
	enum rpc_code code;
	const char *message;
};

/*
 * Never fails: what is no message has the form RPC_BAD. Members are borrowed
 * from the doc, and of a bad message's id from the line.
 */
void rpc_parse(const uint8_t *line, size_t len, struct rpc_msg *ret);
/*
 * Of a line that was too long: what it begins and ends with. The id is found
 * where it is the last member, or all before it are plain.
 */
void rpc_parse_cut(const uint8_t *head, size_t head_len, const uint8_t *tail,
    size_t tail_len, struct rpc_msg *ret);
/* One element of a batch; its text is copied. */
void rpc_parse_element(struct json_val, struct rpc_msg *ret);
/* Frees what it owns; the message may be parsed into again. */
void rpc_clear(struct rpc_msg *);

#endif
