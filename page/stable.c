/*
 * The page's own script that waits until it is stable (stable.js), in the
 * worker: sends it into the document's isolated world, with the extraction if
 * the page is to be read, and takes its answer. What the answer means for the
 * navigation is in navigate.c.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "json/writer.h"
#include "page/priv.h"
#include "page/scripts.h"

/* What the script answers; the document last, for it may be long. */
enum said {
	SAID_URL,
	SAID_MIME,
	SAID_STATUS,
	SAID_REDIRECTED,
	SAID_PARTIAL,
	SAID_RAN,
	SAID_QUIET_MS,
	SAID_TIMERS,
	SAID_CONNECTIONS,
	SAID_REFRESH_MS,
	SAID_DOC,
	SAID_FAILED,
	SAID__MAX
};

static const char *const said_names[] = { "url", "mime", "status", "redirected",
	"partial", "ran", "quietMs", "timers", "connections", "refreshMs",
	"doc", "failed" };

static int
said_count(struct json_span value)
{
	int64_t n;

	if (value.ptr == NULL || !json_span_get_int64(value, &n) || n < 0)
		return 0;
	return n < INT32_MAX ? (int)n : INT32_MAX;
}

static bool
said_flag(struct json_span value)
{
	bool flag = false;

	return value.ptr != NULL && json_span_get_bool(value, &flag) && flag;
}

/* How long the page may take to become stable counts from its load. */
static void
load_set_patience(struct page_load *l, int taken_ms)
{
	int64_t last = l->started_ms + l->opts.timeout_ms;

	l->quiet_by_ms = clock_mono_ms() - taken_ms + l->opts.stable_timeout_ms;
	/* A page that was loaded in time must not fail by waiting on. */
	if (l->quiet_by_ms > last - LOAD_RETRY_MS)
		l->quiet_by_ms = last - LOAD_RETRY_MS;
}

static void
load_read_state(struct page_load *l, const struct json_span *said)
{
	int status = said_count(said[SAID_STATUS]);

	if (!l->error_page && said[SAID_URL].ptr != NULL)
		(void)json_span_str_copy(
		    said[SAID_URL], l->url, sizeof(l->url));
	if (!l->error_page && said[SAID_MIME].ptr != NULL)
		(void)json_span_str_copy(
		    said[SAID_MIME], l->mime, sizeof(l->mime));
	if (status > 0 && status < 1000)
		l->http_status = status;
	l->redirected = l->redirected || said_flag(said[SAID_REDIRECTED]);
	l->partial = said_flag(said[SAID_PARTIAL]);
	if (l->quiet_by_ms == 0)
		load_set_patience(l, said_count(said[SAID_QUIET_MS]));
	l->pending.timers = said_count(said[SAID_TIMERS]);
	l->pending.connections = said_count(said[SAID_CONNECTIONS]);
	l->pending.refresh_ms = said_count(said[SAID_REFRESH_MS]);
}

/* Keeps what was read of the page, until it shows that it was the last. */
static void
load_keep_doc(struct page *p, const struct json_span *said)
{
	struct json_span doc = said[SAID_DOC], failed = said[SAID_FAILED];

	buf_reset(&p->doc);
	p->doc_error[0] = '\0';
	if (doc.ptr != NULL && buf_add(&p->doc, doc.ptr, doc.len))
		return;
	if (failed.ptr == NULL ||
	    !json_span_str_copy(failed, p->doc_error, sizeof(p->doc_error)) ||
	    p->doc_error[0] == '\0')
		snprintf(p->doc_error, sizeof(p->doc_error),
		    "the page could not be read");
}

static void
load_on_caught_up(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	p->load.scripting = false;
	load_settle(p);
}

/*
 * What the page's scripts asked the network for just before our script ended
 * is reported on another way than its answer, and may come after it. The
 * browser answers this when it has reported all that.
 */
static void
load_catch_up(struct page *p)
{
	cdp_call(p->browser->cdp, p->session, "Target.getTargetInfo", NULL, 0,
	    PAGE_CALL_MS, load_on_caught_up, p);
}

static void
load_on_stable(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct page_load *l = &p->load;
	char message[PAGE_MESSAGE_MAX];
	struct json_span result, value, said[SAID__MAX];

	if (r->status == CDP_GONE) {
		page_finish(p, PAGE_GONE, r->message);
		return;
	}
	if (r->status != CDP_OK) {
		load_retry(p);
		return;
	}
	if ((!script_split_value(r->result, &value) &&
		(!json_span_member(r->result, "result", &result) ||
		    !json_span_member(result, "value", &value))) ||
	    !json_span_members(value, said_names, SAID__MAX, said)) {
		(void)script_failure(r->result, message, sizeof(message));
		page_finish(p, PAGE_NAVIGATION_FAILED, message);
		return;
	}
	load_read_state(l, said);
	if (l->reading)
		load_keep_doc(p, said);
	/* What is missing may be a frame that hangs. */
	l->asking = l->partial && frames_check(p);
	if (l->asking)
		return;
	if (said_flag(said[SAID_RAN]))
		load_catch_up(p);
	else
		load_on_caught_up(p->browser->cdp, r, p);
}

/* What the script is called with, up to the end of the arguments. */
static void
load_add_arguments(const struct page *p, struct buf *b)
{
	const struct page_load *l = &p->load;
	struct json_writer w;

	script_begin_argument(p, &w, b);
	json_put_str(&w, "asked", l->asked);
	json_put_int64(&w, "graceMs", l->opts.load_grace_ms);
	json_put_int64(&w, "stableMs",
	    l->quiet_by_ms == 0 ? l->opts.stable_timeout_ms
				: l->quiet_by_ms - clock_mono_ms());
	json_put_bool(&w, "again", l->quiet_by_ms != 0);
	json_put_int64(
	    &w, "settleMs", l->quiet_by_ms == 0 ? l->opts.settle_ms : 0);
	json_put_bool(&w, "settleText",
	    l->quiet_by_ms == 0 && l->opts.settle == PAGE_SETTLE_TEXT);
	json_put_bool(&w, "undrawn", p->browser->undrawn);
	json_put_bool(&w, "scripts", !p->scripts_off);
	script_end_argument(&w);
}

/*
 * The source is the same for every page: the browser keeps what it compiled of
 * it, which saves a fifth of the time of a page.
 */
void
load_on_world(struct page *p)
{
	const struct page_load *l = &p->load;
	char tail[SCRIPT_EXTRACT_TAIL];
	struct iovec iov[8 + SCRIPT_EXTRACT_IOV];
	struct buf head;
	int n = 0;

	buf_init(&head, PAGE_URL_MAX_BYTES * 6 + 512);
	load_add_arguments(p, &head);
	iov[n++] = (struct iovec){ head.data, head.len };
	iov[n++] =
	    SCRIPT_LITERAL(",\"functionDeclaration\":\"function(o){return ");
	iov[n++] = SCRIPT_IOV(stable);
	if (l->reading) {
		iov[n++] = SCRIPT_LITERAL("(o,function(){");
		n = script_add_extract(p, iov, n, tail);
		iov[n++] = SCRIPT_LITERAL("})}\"}");
	} else
		iov[n++] = SCRIPT_LITERAL("(o)}\"}");
	cdp_call(p->browser->cdp, p->session, "Runtime.callFunctionOn", iov, n,
	    l->opts.timeout_ms + PAGE_RECOVER_MS, load_on_stable, p);
	buf_clear(&head);
}
