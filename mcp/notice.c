/*
 * Notifications, in the adapter.
 */
#include "mcp/notice.h"
#include "mcp/out.h"

#define META "io.modelcontextprotocol/"

void
notice_begin(struct notice *n, const char *method, const uint8_t *subscription,
    size_t len)
{
	buf_init(&n->buf, ADAPTER_ANSWER_MAX);
	json_writer_init(&n->w, &n->buf);
	json_write_begin_object(&n->w);
	json_put_str(&n->w, "jsonrpc", "2.0");
	json_put_str(&n->w, "method", method);
	json_write_key(&n->w, "params");
	json_write_begin_object(&n->w);
	if (subscription == NULL)
		return;
	json_write_key(&n->w, "_meta");
	json_write_begin_object(&n->w);
	json_put_raw(&n->w, META "subscriptionId", subscription, len);
	json_write_end_object(&n->w);
}

void
notice_send(struct notice *n, struct adapter *a)
{
	json_write_end_object(&n->w);
	json_write_end_object(&n->w);
	if (json_writer_finish(&n->w))
		out_line(a->out, n->buf.data, n->buf.len);
	buf_clear(&n->buf);
}
