/*
 * Progress, in the adapter.
 */
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "common/clock.h"
#include "json/writer.h"
#include "mcp/out.h"
#include "mcp/progress.h"
#include "mcp/rpc.h"

#define GAP_MS       100
#define ALIVE_MS     8000
#define REST_MS      15
#define CROWDED      (256u << 10) /* bytes unread: progress is not worth it */
#define NOTICE_BYTES (RPC_ID_BYTES_MAX + 4096)

/* What was done, or a little more than was said last. */
static double
progress_value(const struct progress *p)
{
	double done = (double)p->done, next;

	if (p->sent_ms == 0 || done > p->last)
		return done;
	next = (double)((int64_t)p->last + 1);
	return p->last + (next - p->last) / 8;
}

static void
progress_send(struct progress *p)
{
	double value = progress_value(p);
	struct json_writer w;
	struct buf b;

	if (out_queued(p->adapter->out) > CROWDED ||
	    (p->sent_ms != 0 && value <= p->last))
		return;
	buf_init(&b, NOTICE_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "jsonrpc", "2.0");
	json_put_str(&w, "method", "notifications/progress");
	json_write_key(&w, "params");
	json_write_begin_object(&w);
	json_put_raw(&w, "progressToken", p->token, p->token_len);
	json_put_double(&w, "progress", value);
	if (p->total > 0)
		json_put_int64(&w, "total", p->total);
	if (p->message[0] != '\0' && (p->rev->features & REV_ANNOTATIONS) != 0)
		json_put_str(&w, "message", p->message);
	json_write_end_object(&w);
	json_write_end_object(&w);
	if (json_writer_finish(&w) &&
	    out_line(p->adapter->out, b.data, b.len)) {
		p->last = value;
		p->sent_ms = clock_mono_ms();
	}
	buf_clear(&b);
}

static void
progress_arm(struct progress *p, int64_t ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	event_add(p->timer, &tv);
}

static void
progress_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct progress *p = arg;

	/* All is done: the answer is near. */
	if (!p->news || p->total == 0 || p->done < p->total)
		progress_send(p);
	p->news = false;
	progress_arm(p, ALIVE_MS);
}

void
progress_begin(struct progress *p, struct adapter *a,
    const struct revision *rev, struct json_val meta)
{
	struct json_val token = json_obj_get(meta, "progressToken");
	const uint8_t *raw;
	size_t len;

	p->adapter = a;
	p->rev = rev;
	if ((!json_is_string(token) && !json_is_number(token)) ||
	    !json_raw(token, &raw, &len) || len > RPC_ID_BYTES_MAX)
		return;
	p->timer = evtimer_new(a->base, progress_on_timer, p);
	p->token = malloc(len);
	if (p->timer == NULL || p->token == NULL) {
		progress_end(p);
		return;
	}
	memcpy(p->token, raw, len);
	p->token_len = len;
	progress_arm(p, ALIVE_MS);
}

bool
progress_wanted(const struct progress *p)
{
	return p->token != NULL;
}

void
progress_set(
    struct progress *p, int64_t done, int64_t total, const char *message)
{
	if (p->token == NULL)
		return;
	p->done = done > p->done ? done : p->done;
	p->total = total > 0 ? total : p->total;
	if (message != NULL)
		strlcpy(p->message, message, sizeof(p->message));
	if (p->news)
		return;
	p->news = true;
	progress_arm(p, GAP_MS);
}

int64_t
progress_rest_ms(const struct progress *p)
{
	int64_t since = clock_mono_ms() - p->sent_ms;

	return p->sent_ms == 0 || since >= REST_MS ? 0 : REST_MS - since;
}

void
progress_end(struct progress *p)
{
	if (p->timer != NULL)
		event_free(p->timer);
	p->timer = NULL;
	free(p->token);
	p->token = NULL;
}
