/*
 * Answers, in the adapter: the envelope around a result or an error, ids as
 * the client wrote them, and batches, whose answers leave together.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/out.h"
#include "mcp/reply.h"

struct batch {
	struct adapter *adapter;
	struct buf text;
	size_t owed;
	bool closed;
};

static void
batch_settle(struct batch *b)
{
	if (b->owed > 0 || !b->closed)
		return;
	if (b->text.len > 0 && buf_add_str(&b->text, "]"))
		out_line(b->adapter->out, b->text.data, b->text.len);
	buf_clear(&b->text);
	free(b);
}

struct batch *
batch_new(struct adapter *a)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->adapter = a;
	buf_init(&b->text, ADAPTER_ANSWER_MAX);
	return b;
}

void
batch_close(struct batch *b)
{
	b->closed = true;
	batch_settle(b);
}

/* False when it does not fit beside the others and the final bracket. */
static bool
batch_add(struct batch *b, const struct buf *answer)
{
	if (b->text.len + answer->len + 2 > b->text.max)
		return false;
	return buf_add_str(&b->text, b->text.len == 0 ? "[" : ",") &&
	    buf_add(&b->text, answer->data, answer->len);
}

bool
reply_init(struct reply *r, struct adapter *a, struct batch *batch,
    const uint8_t *id, size_t id_len)
{
	memset(r, 0, sizeof(*r));
	if (id != NULL) {
		r->id = malloc(id_len);
		if (r->id == NULL) {
			out_break(a->out);
			return false;
		}
		memcpy(r->id, id, id_len);
		r->id_len = id_len;
	}
	r->adapter = a;
	r->batch = batch;
	if (batch != NULL)
		batch->owed++;
	return true;
}

static void
reply_close(struct reply *r)
{
	struct batch *batch = r->batch;

	free(r->id);
	memset(r, 0, sizeof(*r));
	if (batch == NULL)
		return;
	batch->owed--;
	batch_settle(batch);
}

void
reply_drop(struct reply *r)
{
	if (r->adapter != NULL)
		reply_close(r);
}

static void
reply_head(const struct reply *r, struct reply_text *t)
{
	buf_init(&t->buf, ADAPTER_ANSWER_MAX);
	json_writer_init(&t->w, &t->buf);
	json_write_begin_object(&t->w);
	json_put_str(&t->w, "jsonrpc", "2.0");
	if (r->id != NULL)
		json_put_raw(&t->w, "id", r->id, r->id_len);
}

void
reply_write_self(struct json_writer *w)
{
	json_write_begin_object(w);
	json_put_str(w, "name", "browsertask-mcp");
	json_put_str(w, "title", "Browser tasks");
	json_put_str(w, "version", PACKAGE_VERSION);
	json_write_end_object(w);
}

static void
begin(const struct reply *r, struct reply_text *t, const char *type, bool ended)
{
	reply_head(r, t);
	json_write_key(&t->w, "result");
	json_write_begin_object(&t->w);
	if (r->rev == NULL || r->rev->era != ERA_MODERN)
		return;
	json_put_str(&t->w, "resultType", type);
	json_write_key(&t->w, "_meta");
	json_write_begin_object(&t->w);
	json_write_key(&t->w, "io.modelcontextprotocol/serverInfo");
	reply_write_self(&t->w);
	if (ended)
		json_put_raw(&t->w, "io.modelcontextprotocol/subscriptionId",
		    r->id, r->id_len);
	json_write_end_object(&t->w);
}

void
reply_begin(const struct reply *r, struct reply_text *t)
{
	begin(r, t, "complete", false);
}

void
reply_begin_type(const struct reply *r, struct reply_text *t, const char *type)
{
	begin(r, t, type, false);
}

void
reply_begin_ended(const struct reply *r, struct reply_text *t)
{
	begin(r, t, "complete", true);
}

static bool
reply_out(struct reply *r, struct reply_text *t)
{
	bool sent = json_writer_finish(&t->w);

	if (sent && r->batch != NULL)
		sent = batch_add(r->batch, &t->buf);
	else if (sent)
		sent = out_line(r->adapter->out, t->buf.data, t->buf.len);
	if (!sent && t->buf.starved)
		out_break(r->adapter->out);
	buf_clear(&t->buf);
	return sent;
}

bool
reply_send(struct reply *r, struct reply_text *t)
{
	json_write_end_object(&t->w);
	json_write_end_object(&t->w);
	if (!reply_out(r, t))
		return false;
	reply_close(r);
	return true;
}

void
reply_error(
    struct reply *r, enum rpc_code code, const char *message, const char *data)
{
	struct reply_text t;

	reply_head(r, &t);
	json_write_key(&t.w, "error");
	json_write_begin_object(&t.w);
	json_put_int64(&t.w, "code", code);
	json_put_str(&t.w, "message", message);
	if (data != NULL)
		json_put_raw(&t.w, "data", data, strlen(data));
	json_write_end_object(&t.w);
	json_write_end_object(&t.w);
	reply_out(r, &t);
	reply_close(r);
}
