/*
 * Pictures of a page, in the worker. What is to be seen in one was settled
 * before, inside the page (shot.js).
 */
#include "common/base64.h"
#include "page/acting.h"
#include "page/scripts.h"

static void
shot_on_taken(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;
	struct json_span data, text;

	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else if (r->status == CDP_TIMEOUT)
		page_recover(
		    p, PAGE_TIMEOUT, "the page could not be drawn in time");
	else if (r->status == CDP_ERROR)
		page_finish(p, PAGE_SCRIPT_FAILED, r->message);
	else if (!json_span_member(r->result, "data", &data) ||
	    !json_span_str_borrow(data, &text) ||
	    !base64_decode(&p->act.shot, (const char *)text.ptr, text.len) ||
	    p->act.shot.len == 0)
		page_finish(p, PAGE_SCRIPT_FAILED, "the picture is too large");
	else {
		/* Nothing was done that is worth waiting for. */
		p->act.typed = true;
		act_then(p);
	}
}

void
act_shoot(struct page *p, const struct json_span told[TOLD__MAX])
{
	struct json_span clip = told[TOLD_CLIP];
	struct iovec iov[4];
	int n = 0;

	iov[n++] = p->act.jpeg
	    ? SCRIPT_LITERAL("{\"format\":\"jpeg\",\"quality\":80")
	    : SCRIPT_LITERAL("{\"format\":\"png\"");
	if (clip.ptr != NULL) {
		iov[n++] =
		    SCRIPT_LITERAL(",\"captureBeyondViewport\":true,\"clip\":");
		iov[n++] =
		    (struct iovec){ (void *)(uintptr_t)clip.ptr, clip.len };
	}
	iov[n++] = SCRIPT_LITERAL("}");
	cdp_call(p->browser->cdp, p->session, "Page.captureScreenshot", iov, n,
	    PAGE_EXTRACT_TIMEOUT_MS, shot_on_taken, p);
}
