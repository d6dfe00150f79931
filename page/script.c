/*
 * Runs scripts in the isolated world of the document that is shown, in the
 * worker: the caller's functions and the extraction. Our own scripts are
 * constants that are sent as they lie in the program; results are passed on as
 * the bytes the browser wrote, undecoded.
 */
#include <stdio.h>
#include <string.h>

#include "common/panic.h"
#include "json/writer.h"
#include "page/priv.h"
#include "page/scripts.h"

#define EVAL_SOURCE_MAX ((size_t)1 << 20)

enum page_status
script_failure(struct json_span result, char *dst, size_t size)
{
	struct json_span details, exception;

	snprintf(dst, size, "the script gave no value");
	if (!json_span_member(result, "exceptionDetails", &details))
		return PAGE_SCRIPT_FAILED;
	snprintf(dst, size, "the script threw an error");
	if (!json_span_member(details, "exception", &exception) ||
	    (!page_member_str(exception, "description", dst, size) &&
		!page_member_str(exception, "value", dst, size)))
		(void)page_member_str(details, "text", dst, size);
	/* What follows are the places in our own scripts. */
	dst[strcspn(dst, "\n")] = '\0';
	return PAGE_SCRIPT_FAILED;
}

void
script_begin_argument(
    const struct page *p, struct json_writer *w, struct buf *b)
{
	json_writer_init(w, b);
	json_write_begin_object(w);
	json_put_int64(w, "executionContextId", p->context);
	json_put_bool(w, "returnByValue", true);
	json_put_bool(w, "awaitPromise", true);
	json_write_key(w, "arguments");
	json_write_begin_array(w);
	json_write_begin_object(w);
	json_write_key(w, "value");
	json_write_begin_object(w);
}

void
script_end_argument(struct json_writer *w)
{
	json_write_end_object(w);
	json_write_end_object(w);
	json_write_end_array(w);
}

static void
script_on_world_made(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct json_span span;

	if (r->status == CDP_OK &&
	    json_span_member(r->result, "executionContextId", &span) &&
	    json_span_get_int64(span, &p->context) && p->context != 0) {
		script_on_world(p);
		return;
	}
	p->context = 0;
	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else if (page_is_loading(p)) {
		p->load.scripting = false;
		page_pause(p, 100);
	} else if (p->op == OP_ACT)
		page_pause(p, 100);
	else
		page_finish(p, PAGE_SCRIPT_FAILED, r->message);
}

void
script_need_world(struct page *p)
{
	char params[PAGE_ID_MAX + 64];
	struct iovec iov = { params, 0 };

	iov.iov_len = (size_t)snprintf(params, sizeof(params),
	    "{\"frameId\":\"%s\",\"worldName\":\"browsertask\"}", p->target);
	cdp_call(p->browser->cdp, p->session, "Page.createIsolatedWorld", &iov,
	    1, PAGE_NAVIGATE_TIMEOUT_MS, script_on_world_made, p);
}

/*
 * It is written {"result":{"type":"object","value":V}} and nothing else, unless
 * the script threw V. A V that has the name in it, too, is left to others.
 */
bool
script_split_value(struct json_span result, struct json_span *ret)
{
	static const char head[] =
	    "{\"result\":{\"type\":\"object\",\"value\":";
	static const char thrown[] = "\"exceptionDetails\":";
	const size_t head_len = sizeof(head) - 1;
	const uint8_t *first = result.ptr + head_len, *last;

	if (result.len < head_len + 4 ||
	    memcmp(result.ptr, head, head_len) != 0)
		return false;
	last = result.ptr + result.len - 3;
	if ((*first != '{' || *last != '}') && (*first != '[' || *last != ']'))
		return false;
	if (last[1] != '}' || last[2] != '}' ||
	    memmem(result.ptr, result.len, thrown, sizeof(thrown) - 1) != NULL)
		return false;
	*ret = (struct json_span){ first, (size_t)(last - first) + 1 };
	return true;
}

static void
script_on_value(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	char message[PAGE_MESSAGE_MAX];
	struct json_span result, value;

	if (r->status == CDP_GONE) {
		page_finish(p, PAGE_GONE, r->message);
		return;
	}
	if (r->status == CDP_TIMEOUT) {
		page_recover(
		    p, PAGE_TIMEOUT, "the page did not answer in time");
		return;
	}
	if (r->status == CDP_ERROR) {
		/* The document went away under the script, or it ran out. */
		p->context = 0;
		page_finish(p, PAGE_SCRIPT_FAILED, r->message);
		return;
	}
	if (script_split_value(r->result, &value)) {
		page_finish_json(p, (const char *)value.ptr, value.len);
		return;
	}
	if (json_span_member(r->result, "exceptionDetails", &value) ||
	    !json_span_member(r->result, "result", &result)) {
		(void)script_failure(r->result, message, sizeof(message));
		page_finish(p, PAGE_SCRIPT_FAILED, message);
		return;
	}
	if (json_span_member(result, "value", &value))
		page_finish_json(p, (const char *)value.ptr, value.len);
	else
		page_finish_json(p, "null", 4);
}

static int
script_head(const struct page *p, char *dst, size_t size)
{
	return snprintf(dst, size,
	    "{\"contextId\":%lld,\"returnByValue\":true,\"awaitPromise\":true,"
	    "\"timeout\":%d,\"expression\":",
	    (long long)p->context, p->script_timeout_ms);
}

static void
script_send_eval(struct page *p)
{
	char head[192];
	struct iovec iov[3];

	iov[0].iov_base = head;
	iov[0].iov_len = (size_t)script_head(p, head, sizeof(head));
	iov[1] = (struct iovec){ p->script.data, p->script.len };
	iov[2] = SCRIPT_LITERAL("}");
	cdp_call(p->browser->cdp, p->session, "Runtime.evaluate", iov, 3,
	    p->script_timeout_ms + PAGE_RECOVER_MS, script_on_value, p);
}

int
script_add_extract(const struct page *p, struct iovec *iov, int n,
    char tail[SCRIPT_EXTRACT_TAIL])
{
	const struct page_extract_options *o = &p->extract_opts;

	iov[n++] = SCRIPT_IOV(common);
	if (o->page_info) {
		iov[n++] = SCRIPT_IOV(pagetype);
		iov[n++] = SCRIPT_IOV(pageinfo);
	}
	if (o->content || o->readability) {
		iov[n++] = SCRIPT_IOV(walk);
		iov[n++] = SCRIPT_IOV(text);
	}
	if (o->content)
		iov[n++] = SCRIPT_IOV(content);
	if (o->readability) {
		iov[n++] = SCRIPT_IOV(readability);
		iov[n++] = SCRIPT_IOV(reader);
	}
	iov[n].iov_base = tail;
	iov[n++].iov_len = (size_t)snprintf(tail, SCRIPT_EXTRACT_TAIL,
	    "return extract({maxElements:%d,maxContentLength:%d,"
	    "ids:%d,rects:%d,pageInfo:%s,content:%s,readability:%s})",
	    o->max_elements, o->max_content_length, o->ids, o->rects,
	    o->page_info ? "pageInfo" : "null", o->content ? "content" : "null",
	    o->readability ? "reader" : "null");
	return n;
}

/* The parts asked for, called with the options, as one expression. */
static void
script_send_extract(struct page *p)
{
	char head[192], tail[SCRIPT_EXTRACT_TAIL];
	struct iovec iov[CDP_PARAMS_MAX];
	int n = 0;

	iov[n].iov_base = head;
	iov[n++].iov_len = (size_t)script_head(p, head, sizeof(head));
	iov[n++] = SCRIPT_LITERAL("\"(function(){");
	n = script_add_extract(p, iov, n, tail);
	iov[n++] = SCRIPT_LITERAL("})()\"}");
	cdp_call(p->browser->cdp, p->session, "Runtime.evaluate", iov, n,
	    p->script_timeout_ms + PAGE_RECOVER_MS, script_on_value, p);
}

void
script_on_world(struct page *p)
{
	if (page_is_loading(p))
		load_on_world(p);
	else if (p->op == OP_EVAL)
		script_send_eval(p);
	else if (p->op == OP_EXTRACT)
		script_send_extract(p);
	else if (p->op == OP_ACT)
		act_on_world(p);
}

static bool
script_begin(struct page *p, enum page_op op, int timeout_ms,
    page_result_cb *cb, void *arg)
{
	MAGIC_CHECK(p, PAGE_MAGIC);
	if (!page_is_open(p) || p->op != OP_NONE)
		return false;
	p->script_timeout_ms =
	    timeout_ms > 0 ? timeout_ms : PAGE_EXTRACT_TIMEOUT_MS;
	p->cb.result = cb;
	page_begin(p, op, p->script_timeout_ms, arg);
	return true;
}

static void
script_go(struct page *p)
{
	if (p->context != 0)
		script_on_world(p);
	else
		script_need_world(p);
}

bool
page_eval(struct page *p, const char *source, size_t source_len,
    const char *args, size_t args_len, int timeout_ms, page_result_cb *cb,
    void *arg)
{
	struct json_writer w;
	struct buf text;

	if (!script_begin(p, OP_EVAL, timeout_ms, cb, arg))
		return false;
	buf_init(&text, EVAL_SOURCE_MAX + PAGE_JSON_MAX / 8);
	buf_add_str(&text, "(");
	buf_add(&text, source, source_len);
	buf_add_str(&text, "\n)(");
	if (args != NULL)
		buf_add(&text, args, args_len);
	buf_add_str(&text, ")");
	json_writer_init(&w, &p->script);
	json_write_strn(&w, (const char *)text.data, text.len);
	if (text.failed || !json_writer_finish(&w))
		page_finish_later(
		    p, PAGE_SCRIPT_FAILED, "the script is too large");
	else
		script_go(p);
	buf_clear(&text);
	return true;
}

static int
clamp(int value, int standard, int max)
{
	if (value <= 0)
		return standard;
	return value < max ? value : max;
}

bool
script_set_extract(struct page *p, const struct page_extract_options *opts)
{
	p->extract_opts = *opts;
	p->extract_opts.max_elements = clamp(opts->max_elements, 50, 1000);
	p->extract_opts.max_content_length =
	    clamp(opts->max_content_length, 4000, 50000);
	return !opts->readability || page_has_readability();
}

bool
page_extract(struct page *p, const struct page_extract_options *opts,
    page_result_cb *cb, void *arg)
{
	if (!script_begin(p, OP_EXTRACT, opts->timeout_ms, cb, arg))
		return false;
	if (!script_set_extract(p, opts))
		page_finish_later(p, PAGE_SCRIPT_FAILED, SCRIPT_NO_READABILITY);
	else
		script_go(p);
	return true;
}

bool
page_has_readability(void)
{
	return script_readability_len > 0;
}
