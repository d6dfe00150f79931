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

/*
 * A page that was to be read and was in its own way: it is read as far as it
 * came, without scripts of its own. True if there is something to read.
 */
static bool
recover_reads(struct page *p, const struct cdp_reply *r)
{
	struct timeval tv = { PAGE_EXTRACT_TIMEOUT_MS / 1000, 0 };
	struct json_span result, value;
	bool has = false;

	if (!p->load.stopped || r->status != CDP_OK ||
	    !json_span_member(r->result, "result", &result) ||
	    !json_span_member(result, "value", &value) ||
	    !json_span_get_bool(value, &has) || !has)
		return false;
	p->late_status = PAGE_OK;
	p->load.granted = true;
	event_add(p->deadline, &tv);
	browser_warn(p->browser,
	    "a script of a page did not end; it was stopped, and the page was "
	    "read as far as it had come");
	load_look_stopped(p);
	return true;
}

static void
recover_on_probe(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (recover_reads(p, r))
		return;
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

static void
recover_stop(struct page *p)
{
	struct cdp *cdp = p->browser->cdp;

	cdp_call(cdp, p->session, "Runtime.terminateExecution", NULL, 0,
	    PAGE_RECOVER_MS, NULL, NULL);
	cdp_call(cdp, p->session, "Page.stopLoading", NULL, 0, PAGE_RECOVER_MS,
	    NULL, NULL);
	frames_stop(p);
	page_send(p, "Runtime.evaluate", "expression", "1", PAGE_RECOVER_MS,
	    recover_on_probe);
}

/* What has arrived behind a script that hung is parsed once that is stopped. */
static void
recover_on_asked(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status != CDP_TIMEOUT) {
		recover_stop(p);
		return;
	}
	p->load.stopped = true;
	cdp_call(cdp, p->session, "Runtime.terminateExecution", NULL, 0,
	    PAGE_RECOVER_MS, NULL, NULL);
	page_set_scripts(p, false);
	frames_stop(p);
	page_send(p, "Runtime.evaluate", "expression",
	    "document.body !== null && /\\S/.test(document.body.innerText)",
	    PAGE_RECOVER_MS, recover_on_probe);
}

void
page_recover(struct page *p, enum page_status status, const char *message)
{
	if (!recover_begin(p, status, message))
		return;
	if (load_may_be_read(p))
		page_send(p, "Runtime.evaluate", "expression", "1",
		    PAGE_RECOVER_MS, recover_on_asked);
	else
		recover_stop(p);
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
