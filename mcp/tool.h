/*
 * tool: the tools a client may call. What a client sees of one is its file in
 * tools/, compiled in; how its arguments become a request of the service is a
 * row of the table in tools.c.
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ipc/msg.h"
#include "json/tape.h"

struct call;

struct tool_arg {
	const char *name; /* NULL ends the list */
	/* Of the request's row, with type and range; F__MAX: of prepare. */
	enum msg_key key;
	bool required;
};

struct tool {
	const char *name;
	const uint8_t *json; /* the definition, one object */
	size_t len;
	enum msg_id msg; /* the request */
	const struct tool_arg *args;
	/* Adds what the arguments leave open; may be NULL. False: answered. */
	bool (*prepare)(struct call *);
	/* The service has answered; as link_done_fn. */
	void (*answered)(struct call *, bool good, const char *, size_t len);
};

/* NULL when there is none of that name. */
const struct tool *tool_find(struct json_val name);

#endif
