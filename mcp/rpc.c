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
	/* One that is too long is answered to by the same id. */
	if (!json_raw(v, &m->id, &m->id_len) || m->id_len > RPC_ID_ECHOED_MAX) {
		m->id = NULL;
		m->id_len = 0;
	}
	return m->id != NULL && m->id_len <= RPC_ID_BYTES_MAX;
}

/* Too deep to be parsed: perhaps its id can be told nevertheless. */
static void
rpc_find_id(struct rpc_msg *m, const uint8_t *line, size_t len)
{
	struct json_span all = { line, len }, id;
	struct json_doc *doc;

	if (!json_span_member(all, "id", &id) || id.len > RPC_ID_ECHOED_MAX ||
	    !json_parse(id.ptr, id.len, NULL, 0, &doc, NULL))
		return;
	if (json_is_string(json_root(doc)) || json_is_number(json_root(doc))) {
		m->id = id.ptr;
		m->id_len = id.len;
	}
	json_doc_free(&doc);
}

/* A member's name or plain value at p: its end, or NULL. */
static const uint8_t *
rpc_skip_plain(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *from = p;

	if (p < end && *p == '"') {
		for (p++; p < end && *p != '"'; p++)
			if (*p == '\\')
				return NULL;
		return p < end ? p + 1 : NULL;
	}
	while (p < end && ((*p >= '0' && *p <= '9') || *p == '-'))
		p++;
	return p == from ? NULL : p;
}

static const uint8_t *
rpc_skip_space(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p;
}

/* The id among the plain members at the beginning of an object. */
static struct json_span
rpc_find_id_first(const uint8_t *p, const uint8_t *end)
{
	const struct json_span none = { NULL, 0 };
	const uint8_t *name, *value;

	p = rpc_skip_space(p, end);
	if (p == end || *p != '{')
		return none;
	do {
		name = rpc_skip_space(p + 1, end);
		p = rpc_skip_plain(name, end);
		if (p == NULL || *name != '"')
			return none;
		value = rpc_skip_space(p, end);
		if (value == end || *value != ':')
			return none;
		value = rpc_skip_space(value + 1, end);
		if (p - name == 4 && memcmp(name, "\"id\"", 4) == 0) {
			p = rpc_skip_plain(value, end);
			return p == NULL
			    ? none
			    : (struct json_span){ value, (size_t)(p - value) };
		}
		p = rpc_skip_plain(value, end);
		if (p != NULL)
			p = rpc_skip_space(p, end);
	} while (p != NULL && p < end && *p == ',');
	return none;
}

/* The id as the last member of the object that ends there. */
static struct json_span
rpc_find_id_last(const uint8_t *p, const uint8_t *end)
{
	const struct json_span none = { NULL, 0 };
	const uint8_t *at, *value, *after;

	while (end > p && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	if (end == p || *--end != '}')
		return none;
	for (at = end - 1; at > p; at--) {
		if (at + 5 > end || memcmp(at, "\"id\"", 4) != 0)
			continue;
		value = rpc_skip_space(at + 4, end);
		if (value == end || *value != ':')
			continue;
		value = rpc_skip_space(value + 1, end);
		after = rpc_skip_plain(value, end);
		if (after != NULL && rpc_skip_space(after, end) == end)
			return (
			    struct json_span){ value, (size_t)(after - value) };
		return none;
	}
	return none;
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
rpc_parse_cut(const uint8_t *head, size_t head_len, const uint8_t *tail,
    size_t tail_len, struct rpc_msg *ret)
{
	struct json_span id = rpc_find_id_first(head, head + head_len);
	struct json_doc *doc = NULL;

	memset(ret, 0, sizeof(*ret));
	if (id.len == 0)
		id = rpc_find_id_last(tail, tail + tail_len);
	/* It was not parsed: what is no JSON must not get into the answer. */
	if (id.len > 0 && json_parse(id.ptr, id.len, NULL, 0, &doc, NULL)) {
		ret->id = id.ptr;
		ret->id_len = id.len;
		json_doc_free(&doc);
	}
	rpc_bad(ret, RPC_INVALID_REQUEST, "the line is longer than 8 MiB");
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
