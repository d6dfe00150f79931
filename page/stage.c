/*
 * The stage, in the worker: a tab in which every request is answered with an
 * empty document and none leaves the browser. What a site keeps in its storage
 * belongs to its origin and can only be reached from a document of it; here
 * such a document is there without the site being asked, and without one of its
 * scripts. For a page of one origin at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/writer.h"
#include "model/limits.h"
#include "page/priv.h"

#define STAGE_VISIT_MS 3000
#define STAGE_ARGS_MAX LIMIT_STATE_BYTES

struct stage {
	struct browser *browser;
	struct page *page;
	bool busy;
	bool leaving; /* to be closed when it is not busy */
	bool closing;
	page_result_cb *cb; /* NULL: nobody waits */
	void *arg;
	const char *source; /* static */
	struct buf args;
	char origin[PAGE_ORIGIN_MAX + 1];
};

static void
stage_on_closed(
    struct page *p, enum page_status status, const char *message, void *arg)
{
	struct stage *s = arg;

	s->browser->options.max_pages--;
	s->page = NULL;
	s->closing = false;
}

void
stage_close(struct browser *b)
{
	struct stage *s = b->stage;

	if (s == NULL || s->page == NULL || s->closing)
		return;
	s->leaving = s->busy;
	if (s->leaving)
		return;
	s->closing = true;
	page_close(s->page, stage_on_closed, s);
}

static void
stage_answer(struct stage *s, const struct page_result *r)
{
	page_result_cb *cb = s->cb;
	void *arg = s->arg;

	s->busy = false;
	s->cb = NULL;
	if (s->leaving || page_status_needs_fresh(r->status))
		stage_close(s->browser);
	if (cb != NULL)
		cb(s->page, r, arg);
}

static void
stage_fail(struct stage *s, enum page_status status, const char *message)
{
	struct page_result r = { status, message, NULL, 0 };

	stage_answer(s, &r);
}

static void
stage_on_result(struct page *p, const struct page_result *r, void *arg)
{
	stage_answer(arg, r);
}

static void
stage_on_nav(struct page *p, const struct page_nav *nav, void *arg)
{
	struct stage *s = arg;

	if (nav->status != PAGE_OK)
		stage_fail(s, nav->status, nav->message);
	/* The browser may have gone on to another scheme by itself. */
	else if (strcmp(p->origin, s->origin) != 0)
		stage_fail(s, PAGE_NAVIGATION_FAILED,
		    "the browser does not load this origin");
	else if (!page_eval(p, s->source, strlen(s->source),
		     (const char *)s->args.data, s->args.len, STAGE_VISIT_MS,
		     stage_on_result, s))
		stage_fail(s, PAGE_CLOSED, "the tab is gone");
}

static void
stage_go(struct stage *s)
{
	struct page_nav_options opts = { .timeout_ms = STAGE_VISIT_MS };
	char url[PAGE_ORIGIN_MAX + 32];

	(void)snprintf(url, sizeof(url), "%s/%s", s->origin, STAGE_MARK);
	if (!page_navigate(s->page, url, &opts, stage_on_nav, s))
		stage_fail(s, PAGE_CLOSED, "the tab is gone");
}

/* Nothing may leave, and no worker of the site may answer either. */
static void
stage_on_open(
    struct page *p, enum page_status status, const char *message, void *arg)
{
	static const char all[] = "{\"patterns\":[{\"urlPattern\":\"*\"}]}";
	static const char bypass[] = "{\"bypass\":true}";
	struct iovec iov = { (void *)(uintptr_t)all, sizeof(all) - 1 };
	struct cdp *cdp = p->browser->cdp;
	struct stage *s = arg;

	if (status != PAGE_OK) {
		s->browser->options.max_pages--;
		s->page = NULL;
		stage_fail(s, status, message);
		return;
	}
	p->staged = true;
	cdp_call(
	    cdp, p->session, "Fetch.enable", &iov, 1, PAGE_CALL_MS, NULL, NULL);
	cdp_call(cdp, p->session, "Network.enable", NULL, 0, PAGE_CALL_MS, NULL,
	    NULL);
	iov = (struct iovec){ (void *)(uintptr_t)bypass, sizeof(bypass) - 1 };
	cdp_call(cdp, p->session, "Network.setBypassServiceWorker", &iov, 1,
	    PAGE_CALL_MS, NULL, NULL);
	stage_go(s);
}

void
stage_on_paused(struct page *p, const char *request_id)
{
	static const char tail[] =
	    ",\"responseCode\":200,\"responseHeaders\":[{\"name\":"
	    "\"content-type\",\"value\":\"text/html\"}]}";
	struct json_writer w;
	struct iovec iov;
	struct buf b;

	buf_init(&b, 1024);
	buf_add_str(&b, "{\"requestId\":");
	json_writer_init(&w, &b);
	json_write_str(&w, request_id);
	buf_add_str(&b, tail);
	iov = (struct iovec){ b.data, b.len };
	if (!b.failed)
		cdp_call(p->browser->cdp, p->session, "Fetch.fulfillRequest",
		    &iov, 1, PAGE_CALL_MS, NULL, NULL);
	buf_clear(&b);
}

static struct stage *
stage_of(struct browser *b)
{
	if (b->stage == NULL) {
		b->stage = calloc(1, sizeof(*b->stage));
		if (b->stage == NULL)
			return NULL;
		b->stage->browser = b;
		buf_init(&b->stage->args, STAGE_ARGS_MAX);
	}
	return b->stage;
}

bool
stage_visit(struct browser *b, const char *origin, const char *source,
    const void *args, size_t args_len, page_result_cb *cb, void *arg)
{
	struct stage *s = stage_of(b);

	if (s == NULL || s->busy || s->closing || browser_is_gone(b) ||
	    strlen(origin) > PAGE_ORIGIN_MAX)
		return false;
	buf_reset(&s->args);
	if (args_len > 0 && !buf_add(&s->args, args, args_len)) {
		buf_reset(&s->args);
		return false;
	}
	strlcpy(s->origin, origin, sizeof(s->origin));
	s->source = source;
	s->cb = cb;
	s->arg = arg;
	s->busy = true;
	if (s->page != NULL) {
		stage_go(s);
		return true;
	}
	/* It is none of the run's tabs. */
	b->options.max_pages++;
	s->page = page_open(b, stage_on_open, s);
	if (s->page != NULL)
		return true;
	b->options.max_pages--;
	s->busy = false;
	s->cb = NULL;
	return false;
}

void
stage_forget(struct browser *b)
{
	if (b->stage != NULL)
		b->stage->cb = NULL;
}

void
stage_leave(struct browser *b)
{
	if (b->stage != NULL && b->stage->page != NULL &&
	    b->stage->page->target[0] != '\0')
		browser_close_target(b, b->stage->page->target);
}

void
stage_free(struct stage **sp)
{
	if (*sp == NULL)
		return;
	buf_clear(&(*sp)->args);
	free(*sp);
	*sp = NULL;
}
