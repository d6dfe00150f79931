/*
 * The ladder for a tab that does not answer, in the worker: stop its script
 * and its loading; if it then answers it may be used again; if not, close it
 * (the browser does that without the page's help); if even that is not
 * answered, only the end of the cell helps, which is for others to do. And for
 * one that does not let go: its handlers, too, are ended.
 */
#include <stdio.h>
#include <string.h>

#include "page/priv.h"

void
page_close_target(struct page *p, cdp_reply_cb *cb)
{
	char params[PAGE_ID_MAX + 32];
	struct iovec iov = { params, 0 };

	iov.iov_len = (size_t)snprintf(
	    params, sizeof(params), "{\"targetId\":\"%s\"}", p->target);
	cdp_call(p->browser->cdp, NULL, "Target.closeTarget", &iov, 1,
	    PAGE_CLOSE_MS, cb, p);
}

static void
recover_on_closed(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_TIMEOUT)
		browser_report_stuck(
		    p->browser, "a tab could not be closed within 5 s");
	p->target[0] = '\0';
	page_on_lost(p, p->late_status, p->late_message);
}

static void
recover_on_probe(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_OK || r->status == CDP_ERROR)
		page_finish(p, p->late_status, p->late_message);
	else if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else
		page_close_target(p, recover_on_closed);
}

/* From here on the operation only waits for its end. False: it does already. */
static bool
recover_begin(struct page *p, enum page_status status, const char *message)
{
	if (p->late_status != PAGE_OK)
		return false;
	p->late_status = status;
	snprintf(p->late_message, sizeof(p->late_message), "%s", message);
	event_del(p->deadline);
	event_del(p->pause);
	cdp_forget(p->browser->cdp, p);
	p->context = 0;
	return true;
}

void
page_give_up(struct page *p, enum page_status status, const char *message)
{
	if (recover_begin(p, status, message))
		page_close_target(p, recover_on_closed);
}

void
page_recover(struct page *p, enum page_status status, const char *message)
{
	struct cdp *cdp = p->browser->cdp;

	if (!recover_begin(p, status, message))
		return;
	cdp_call(cdp, p->session, "Runtime.terminateExecution", NULL, 0,
	    PAGE_RECOVER_MS, NULL, NULL);
	cdp_call(cdp, p->session, "Page.stopLoading", NULL, 0, PAGE_RECOVER_MS,
	    NULL, NULL);
	frames_stop(p);
	page_send(p, "Runtime.evaluate", "expression", "1", PAGE_RECOVER_MS,
	    recover_on_probe);
}

static void
recover_on_alive(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_GONE || p->load.committed ||
	    p->late_status != PAGE_OK)
		return;
	if (r->status == CDP_TIMEOUT) {
		cdp_call(cdp, p->session, "Runtime.terminateExecution", NULL, 0,
		    PAGE_CALL_MS, NULL, NULL);
		frames_stop(p);
	}
	page_pause(p, r->status == CDP_TIMEOUT ? 1 : PAGE_LEAVE_MS);
}

void
page_unstick(struct page *p)
{
	page_send(p, "Runtime.evaluate", "expression", "1", PAGE_LEAVE_MS,
	    recover_on_alive);
}
