/*
 * What a page puts in the way of its scripts and of us, in the worker: dialogs,
 * which are answered the moment they appear, and windows. Nobody is asked, and
 * a page that does not stop is stopped.
 */
#include <string.h>

#include "page/priv.h"

static void
page_stop_dialogs(struct page *p, struct json_span params)
{
	char frame[PAGE_ID_MAX + 1] = "";

	if (p->dialogs == PAGE_DIALOGS_MAX)
		browser_warn(p->browser,
		    "a page kept opening dialogs; its script was stopped");
	(void)page_member_str(params, "frameId", frame, sizeof(frame));
	if (frames_stop_one(p, frame))
		return;
	cdp_call(p->browser->cdp, p->session, "Runtime.terminateExecution",
	    NULL, 0, PAGE_CALL_MS, NULL, NULL);
	if (strcmp(frame, p->target) != 0)
		frames_stop(p);
}

/*
 * A script that opens one window after the other cannot be ended: the order is
 * lost on one that stands still for a window that is held.
 */
void
page_on_popup(struct page *p)
{
	if (++p->counters.popups == 1 && !p->browser->options.keep_popups)
		browser_warn(
		    p->browser, "a page opened a window, which was closed");
	if (p->op != OP_NONE && ++p->popups == PAGE_POPUPS_MAX)
		page_give_up(p,
		    p->op == OP_NAVIGATE ? PAGE_NAVIGATION_FAILED
					 : PAGE_SCRIPT_FAILED,
		    "the page keeps opening windows");
}

const char *
page_dialog_answer(struct json_span params)
{
	char type[32] = "";

	(void)page_member_str(params, "type", type, sizeof(type));
	return strcmp(type, "beforeunload") == 0 ? "{\"accept\":true}"
						 : "{\"accept\":false}";
}

/*
 * Nothing else of the page runs while a dialog is open, so it is answered at
 * once: leaving is allowed, all other questions get the careful answer.
 */
void
page_on_dialog(struct page *p, struct json_span params)
{
	const char *answer = page_dialog_answer(params);
	struct iovec iov;

	iov = (struct iovec){ (void *)(uintptr_t)answer, strlen(answer) };
	p->counters.dialogs++;
	if (++p->dialogs % PAGE_DIALOGS_MAX == 0)
		page_stop_dialogs(p, params);
	cdp_call(p->browser->cdp, p->session, "Page.handleJavaScriptDialog",
	    &iov, 1, PAGE_CALL_MS, NULL, NULL);
}
