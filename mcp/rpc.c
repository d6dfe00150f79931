/*
 * JSON-RPC, in the adapter: a client's line becomes a request, a notification,
 * or a reason why it is neither. Total on any bytes.
 */
#include <string.h>

#include "json/span.h"
#include "mcp/rpc.h"

static void
rpc_bad(struct rpc_msg *m, enum rpc_code code, const char *message)
{
	m->form = RPC_BAD;
	m->code = code;
	m->message = message;
}

/* Strings and numbers are ids; they are repeated as they were written. */
static bool
rpc_take_id(struct rpc_msg *m, struct json_val v)
{
	if (!json_is_string(v) && !json_is_number(v))
		return false;
	if (!json_raw(v, &m->id, &m->id_len) || m->id_len > RPC_ID_BYTES_MAX) {
		m->id = NULL;
		m->id_len = 0;
		return false;
	}
	return true;
}

/* Too deep to be parsed: perhaps its id can be told nevertheless. */
static void
rpc_find_id(struct rpc_msg *m, const uint8_t *line, size_t len)
{
	struct json_span all = { line, len }, id;
	struct json_doc *doc;

	if (!json_span_member(all, "id", &id) || id.len > RPC_ID_BYTES_MAX ||
	    !json_parse(id.ptr, id.len, NULL, 0, &doc, NULL))
		return;
	if (json_is_string(json_root(doc)) || json_is_number(json_root(doc))) {
		m->id = id.ptr;
		m->id_len = id.len;
	}
	json_doc_free(&doc);
}

static void
rpc_classify_object(struct rpc_msg *m)
{
	struct json_val id = json_obj_get(m->root, "id");
	bool has_id = rpc_take_id(m, id);

	m->method = json_obj_get(m->root, "method");
	m->params = json_obj_get(m->root, "params");
	if (!json_str_eq(json_obj_get(m->root, "jsonrpc"), "2.0"))
		rpc_bad(m, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	else if (json_is_missing(m->method) &&
	    (!json_is_missing(json_obj_get(m->root, "result")) ||
		!json_is_missing(json_obj_get(m->root, "error"))))
		m->form = RPC_RESPONSE;
	else if (!json_is_string(m->method))
		rpc_bad(m, RPC_INVALID_REQUEST, "method must be a string");
	else if (!json_is_missing(id) && !has_id)
		rpc_bad(m, RPC_INVALID_REQUEST,
		    "id must be a string or a number of at most 4096 bytes");
	else if (!json_is_missing(m->params) && !json_is_object(m->params))
		rpc_bad(m, RPC_INVALID_PARAMS, "params must be an object");
	else
		m->form = has_id ? RPC_REQUEST : RPC_NOTE;
}

static void
rpc_classify(struct rpc_msg *m)
{
	m->root = json_root(m->doc);
	if (json_is_object(m->root))
		rpc_classify_object(m);
	else if (json_is_array(m->root) && json_len(m->root) > 0)
		m->form = RPC_BATCH;
	else
		rpc_bad(m, RPC_INVALID_REQUEST, "a message is an object");
}

void
rpc_parse(const uint8_t *line, size_t len, struct rpc_msg *ret)
{
	const struct json_limits limits = { RPC_LINE_BYTES_MAX, RPC_DEPTH_MAX };
	struct json_error error;

	memset(ret, 0, sizeof(*ret));
	if (json_parse(line, len, &limits, 0, &ret->doc, &error)) {
		rpc_classify(ret);
	} else if (error.kind == JSON_ERROR_SYNTAX) {
		rpc_bad(ret, RPC_PARSE_ERROR, error.message);
	} else {
		rpc_find_id(ret, line, len);
		rpc_bad(ret,
		    error.kind == JSON_ERROR_LIMIT ? RPC_INVALID_REQUEST
						   : RPC_INTERNAL_ERROR,
		    error.message);
	}
}

void
rpc_parse_element(struct json_val v, struct rpc_msg *ret)
{
	const uint8_t *raw;
	size_t len;

	if (json_raw(v, &raw, &len))
		rpc_parse(raw, len, ret);
	else
		memset(ret, 0, sizeof(*ret));
	if (ret->form == RPC_BATCH)
		rpc_bad(ret, RPC_INVALID_REQUEST, "a message is an object");
}

void
rpc_clear(struct rpc_msg *m)
{
	json_doc_free(&m->doc);
	memset(m, 0, sizeof(*m));
}
