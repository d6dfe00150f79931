/*
 * Answers of supervisord. A client that does not take them is dropped by the
 * client's own rule, never waited for.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/panic.h"
#include "storage/store.h"
#include "supervisord/client.h"
#include "supervisord/reply.h"

bool
refuse(struct refusal *r, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	r->code = code;
	va_start(ap, fmt);
	vsnprintf(r->message, sizeof(r->message), fmt, ap);
	va_end(ap);
	return false;
}

void
id_format(const char *prefix, const struct ulid *id, char ret[ID_CHARS + 1])
{
	size_t len = strlen(prefix);

	ASSERT(len + ULID_CHARS <= ID_CHARS);
	strlcpy(ret, prefix, ID_CHARS + 1);
	ulid_format(id, ret + len);
}

bool
id_parse(const char *prefix, const char *text, struct ulid *ret_id)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 &&
	    ulid_parse(text + len, ret_id);
}

void
json_put_id(struct json_writer *w, const char *key, const char *prefix,
    const struct ulid *id)
{
	char text[ID_CHARS + 1];

	id_format(prefix, id, text);
	json_put_str(w, key, text);
}

static void
reply_write_error(struct json_writer *w, enum err_code code,
    const struct ulid *run, const char *message)
{
	json_write_begin_object(w);
	json_put_str(w, "errorCode", err_mcp_name(code));
	json_put_str(w, "message", message);
	json_put_str(w, "recoverHint", err_hint(code));
	json_put_bool(w, "retryable", err_retryable(code));
	json_write_key(w, "details");
	json_write_begin_object(w);
	json_put_str(w, "cause", err_name(code));
	json_write_end_object(w);
	if (run != NULL)
		json_put_id(w, "runId", "run_", run);
	json_write_end_object(w);
}

void
reply_error(struct client *client, uint32_t seq, enum err_code code,
    const struct ulid *run, const char *message)
{
	struct json_writer w;
	struct buf b;

	buf_init(&b, 65536);
	json_writer_init(&w, &b);
	reply_write_error(&w, code, run, message);
	if (json_writer_finish(&w))
		client_send_error(client, seq, b.data, b.len);
	else
		client_drop(client, "no memory for an answer");
	buf_clear(&b);
}

void
reply_json(
    struct client *client, uint32_t seq, struct json_writer *w, struct buf *b)
{
	if (json_writer_finish(w))
		client_send_result(client, seq, b->data, b->len);
	else
		reply_error(
		    client, seq, ERR_INTERNAL, NULL, "the answer is too long");
	buf_clear(b);
}

void
reply_done(
    struct client *client, uint32_t seq, struct json_writer *w, struct buf *b)
{
	if (!b->starved) {
		reply_json(client, seq, w, b);
		return;
	}
	buf_clear(b);
	client_drop(client, "no memory for an answer");
}

enum err_code
reply_store_code(int err)
{
	return err == STORE_FULL ? ERR_STORAGE_FULL : ERR_STORAGE_ERROR;
}
