/*
 * Loading a document and knowing when it is there, in the worker. The page's
 * own script (stable.js, in an isolated world) is started as soon as the
 * document is committed and waits inside the page for load and quiet, so no
 * load event can be lost on the way; this file follows the documents: the one
 * asked for, then those the page itself goes on to.
 */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/panic.h"
#include "page/priv.h"

#define LOAD_RESTARTS_MAX 30
#define LOAD_LEAVING_MS   3000
/* How soon after an answer its effect on the page may still be missing. */
#define LOAD_EFFECT_MS 50
#define LOAD_REST_MS   1000

void
load_result(const struct page *p, enum page_status status, const char *message,
    struct page_nav *ret_nav)
{
	const struct page_load *l = &p->load;

	*ret_nav = (struct page_nav){ .status = status,
		.message = message,
		.final_url = l->url[0] != '\0' ? l->url : l->asked,
		.mime = l->mime,
		.http_status = l->http_status,
		.redirected = l->redirected,
		.partial = l->partial || l->stopped,
		.pending = l->pending,
		.elapsed_ms = (int)(clock_mono_ms() - l->started_ms) };
	ret_nav->pending.requests = (int)p->flights.n;
	if (!l->reading || status != PAGE_OK)
		return;
	if (p->doc_error[0] != '\0')
		ret_nav->doc_error = p->doc_error;
	else {
		ret_nav->doc = (const char *)p->doc.data;
		ret_nav->doc_len = p->doc.len;
	}
}

/* Runs the stable script in the document that is there now. */
static void
load_look(struct page *p)
{
	struct page_load *l = &p->load;

	l->scripting = true;
	l->settled = false;
	l->waiting = false;
	l->asking = false;
	event_del(p->pause);
	cdp_forget(p->browser->cdp, p);
	if (p->context != 0)
		load_on_world(p);
	else
		script_need_world(p);
}

void
load_start_script(struct page *p)
{
	if (++p->load.restarts > LOAD_RESTARTS_MAX) {
		page_finish(p, PAGE_NAVIGATION_FAILED,
		    "the page keeps loading other documents");
		return;
	}
	p->load.quiet_by_ms = 0;
	load_look(p);
}

bool
load_may_be_read(const struct page *p)
{
	const struct page_load *l = &p->load;

	return page_is_loading(p) && l->reading && l->committed &&
	    !l->stopped && !p->scripts_off;
}

void
load_look_stopped(struct page *p)
{
	p->load.quiet_by_ms = clock_mono_ms();
	load_look(p);
}

/* The document is there. Without scripts nobody in it can wait for its load. */
static void
load_on_commit(struct page *p)
{
	p->load.committed = true;
	if (p->scripts_off) {
		p->load.scripting = p->load.asking = p->load.waiting = false;
		page_pause(p, p->load.opts.load_grace_ms);
	} else
		load_start_script(p);
}

void
load_retry(struct page *p)
{
	p->load.scripting = false;
	p->context = 0;
	page_pause(p, LOAD_RETRY_MS);
}

/* When no request was seen for long enough, where that is wanted. */
static int64_t
load_rest_until(const struct page *p)
{
	const struct page_load *l = &p->load;
	int64_t last = l->quiet_by_ms - l->opts.stable_timeout_ms;

	if (l->opts.settle != PAGE_SETTLE_NETWORK)
		return 0;
	if (p->flights.ended_ms > last)
		last = p->flights.ended_ms;
	return last + LOAD_REST_MS;
}

/*
 * The document is loaded and quiet. It is stable when its scripts have no
 * request in flight either; else it is looked at again when they have none.
 */
void
load_settle(struct page *p)
{
	struct page_load *l = &p->load;
	int64_t now = clock_mono_ms();
	int64_t until = flight_wait_until(p, l->opts.stable_timeout_ms);

	if (until < load_rest_until(p))
		until = load_rest_until(p);
	if (until > l->quiet_by_ms)
		until = l->quiet_by_ms;
	l->waiting = until > now;
	if (l->waiting) {
		page_pause(p, (int)(until - now));
		return;
	}
	if (now - p->flights.ended_ms < LOAD_EFFECT_MS &&
	    now + LOAD_EFFECT_MS < l->quiet_by_ms) {
		load_look(p);
		return;
	}
	l->settled = true;
	if (l->leaving && l->patient && l->loading)
		return; /* its document comes, or it stops, or the time is up */
	if (l->leaving)
		page_pause(p,
		    l->opts.timeout_ms / 2 < LOAD_LEAVING_MS
			? l->opts.timeout_ms / 2
			: LOAD_LEAVING_MS);
	else
		page_finish(p, PAGE_OK, "");
}

void
load_on_landed(struct page *p)
{
	if (page_is_loading(p) && p->late_status == PAGE_OK &&
	    p->load.waiting &&
	    flight_wait_until(p, p->load.opts.stable_timeout_ms) <=
		clock_mono_ms())
		load_look(p);
}

void
load_on_frames(struct page *p)
{
	if (!p->load.asking || p->late_status != PAGE_OK)
		return;
	p->load.asking = false;
	p->load.scripting = false;
	load_settle(p);
}

void
load_on_pause(struct page *p)
{
	if (!page_is_loading(p))
		return;
	if (p->load.excusing)
		excuse_on_pause(p);
	else if (!p->load.committed)
		page_unstick(p);
	else if (p->load.settled)
		page_finish(p, PAGE_OK, "");
	else if (p->load.waiting && p->load.reading)
		load_look(p); /* what was read before the wait is stale */
	else if (p->load.waiting)
		load_settle(p);
	else if (!p->load.scripting)
		load_start_script(p);
}

void
load_on_deadline(struct page *p)
{
	const struct page_load *l = &p->load;
	char words[PAGE_MESSAGE_MAX];

	if (l->granted)
		snprintf(words, sizeof(words),
		    "the page could not be read within %d ms",
		    PAGE_EXTRACT_TIMEOUT_MS);
	else
		snprintf(words, sizeof(words), "the %s within %d ms",
		    l->replied ? "page did not load" : "server did not answer",
		    l->opts.timeout_ms);
	page_recover(p, PAGE_NAVIGATION_TIMEOUT, words);
}

/* A new main document: the one asked for, or where the page itself went. */
static void
load_on_document(struct page *p, struct json_span params)
{
	struct page_load *l = &p->load;
	struct json_span frame, parent, url;

	if (!json_span_member(params, "frame", &frame) ||
	    !scheme_on_document(p, frame) ||
	    json_span_member(frame, "parentId", &parent))
		return;
	p->context = 0;
	p->loader[0] = '\0';
	flight_on_commit(p);
	frames_clear(p);
	(void)page_member_str(frame, "loaderId", p->loader, sizeof(p->loader));
	origins_note(p, frame);
	if (p->op == OP_ACT)
		act_on_document(p);
	if (!page_is_loading(p) || p->late_status != PAGE_OK)
		return;
	if (json_span_member(frame, "unreachableUrl", &url) &&
	    excuse_on_document(p, url))
		return;
	if (!l->replied)
		return;
	if (!l->committed) {
		if (strcmp(p->loader, l->loader) != 0)
			return;
	} else
		l->redirected = true;
	l->leaving = l->loading = false;
	load_on_commit(p);
}

static bool
load_is_main_frame(const struct page *p, struct json_span params)
{
	struct json_span id;

	return json_span_member(params, "frameId", &id) &&
	    json_span_str_eq(id, p->target);
}

/* A page that was loaded in time shall not fail by being read, either. */
static void
load_grant_reading(struct page *p)
{
	struct timeval tv = { PAGE_EXTRACT_TIMEOUT_MS / 1000, 0 };
	int64_t last = p->load.started_ms + p->load.opts.timeout_ms;

	if (!p->load.reading || p->load.granted ||
	    last - clock_mono_ms() >= PAGE_EXTRACT_TIMEOUT_MS)
		return;
	p->load.granted = true;
	event_add(p->deadline, &tv);
}

/* The main frame has nothing more to load. */
static void
load_on_stopped(struct page *p)
{
	struct page_load *l = &p->load;

	if (!l->replied)
		return;
	l->leaving = l->loading = false;
	load_grant_reading(p);
	if (l->settled)
		page_finish(p, PAGE_OK, "");
	else if (!l->committed || (!l->scripting && !l->waiting)) {
		/* Its commit was not reported: what is there now is it. */
		l->committed = true;
		load_start_script(p);
	}
}

/* The page asks for another document in its place, or the browser loads one. */
static bool
load_is_leaving(const struct cdp_event *ev)
{
	static const char script[] = "\"javascript:";
	struct json_span span;
	int64_t delay_s;

	/* That is said of a link that only runs a script, too. */
	if (json_span_member(ev->params, "url", &span) &&
	    span.len >= sizeof(script) &&
	    memcmp(span.ptr, script, sizeof(script) - 1) == 0)
		return false;
	if (ev->kind == CDP_EV_FRAME_REQUESTED)
		return json_span_member(ev->params, "disposition", &span) &&
		    json_span_str_eq(span, "currentTab");
	if (ev->kind == CDP_EV_FRAME_SCHEDULED)
		return json_span_member(ev->params, "delay", &span) &&
		    json_span_get_int64(span, &delay_s) && delay_s <= 1;
	return ev->kind == CDP_EV_FRAME_STARTED;
}

/* Something that happened to the main frame while it loads. */
static void
load_on_step(struct page *p, const struct cdp_event *ev)
{
	struct page_load *l = &p->load;

	if (ev->kind == CDP_EV_FRAME_STOPPED)
		load_on_stopped(p);
	else if (ev->kind == CDP_EV_FRAME_STARTED) {
		if (!l->patient)
			return;
		l->leaving = l->loading = true;
		if (l->settled)
			event_del(p->pause);
	} else if (load_is_leaving(ev))
		l->leaving = l->committed;
}

void
load_on_event(struct page *p, const struct cdp_event *ev)
{
	if (ev->kind == CDP_EV_FRAME_NAVIGATED) {
		load_on_document(p, ev->params);
		return;
	}
	if (p->late_status != PAGE_OK || !load_is_main_frame(p, ev->params))
		return;
	if (page_is_loading(p))
		load_on_step(p, ev);
	else if (p->op == OP_ACT && ev->kind == CDP_EV_FRAME_STOPPED)
		act_on_stopped(p);
	else if (p->op == OP_ACT && load_is_leaving(ev))
		act_on_leaving(p, ev->kind == CDP_EV_FRAME_STARTED);
}

static bool
load_is_download(struct json_span result)
{
	struct json_span value;
	bool is = false;

	return json_span_member(result, "isDownload", &value) &&
	    json_span_get_bool(value, &is) && is;
}

/* Ends the operation when the answer to Page.navigate says it failed. */
static bool
load_failed(struct page *p, const struct cdp_reply *r)
{
	struct page_load *l = &p->load;
	char text[PAGE_MESSAGE_MAX] = "", words[PAGE_MESSAGE_MAX];

	if (r->status == CDP_GONE) {
		page_finish(p, PAGE_GONE, r->message);
		return true;
	}
	if (r->status == CDP_TIMEOUT) {
		page_recover(p, PAGE_NAVIGATION_TIMEOUT,
		    "the server did not answer in time");
		return true;
	}
	if (r->status == CDP_ERROR) {
		page_finish(p, PAGE_BAD_URL, r->message);
		return true;
	}
	if (load_is_download(r->result)) {
		page_finish(p, PAGE_DOWNLOAD,
		    "the address is a file to download, not a page");
		return true;
	}
	if (!page_member_str(r->result, "errorText", text, sizeof(text)) ||
	    text[0] == '\0')
		return false;
	/* An error status without a body: Chromium shows a page of its own. */
	if (strcmp(text, "net::ERR_HTTP_RESPONSE_CODE_FAILURE") == 0) {
		l->error_page = true;
		return false;
	}
	if (excuse_begin(p, text, r->result))
		return true;
	page_load_error(text, words, sizeof(words));
	page_finish(p, PAGE_NAVIGATION_FAILED, words);
	return true;
}

void
load_on_navigate(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct page_load *l = &p->load;

	if (load_failed(p, r))
		return;
	l->replied = true;
	/* No loader: the same document, only another fragment. */
	if (!page_member_str(
		r->result, "loaderId", l->loader, sizeof(l->loader))) {
		l->committed = true;
		load_start_script(p);
	} else if (strcmp(l->loader, p->loader) == 0)
		load_on_commit(p);
}
