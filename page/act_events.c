/*
 * What the browser reports about the tab while an action is under way, in the
 * worker: it shows another document, is on its way to one, or has opened a
 * window, which the tab then goes on in.
 */
#include <string.h>

#include "page/acting.h"

/* The main frame shows another document. */
void
act_on_document(struct page *p)
{
	struct page_acting *a = &p->act;

	a->navigated = a->navigated || a->sent;
	a->leaving = false;
	a->loading = false;
}

/*
 * While the browser loads another document the one that is there answers
 * nothing: what was done has led there, so there is nothing left to ask.
 */
void
act_on_leaving(struct page *p, bool loading)
{
	struct page_acting *a = &p->act;

	a->leaving = true;
	a->loading = a->loading || loading;
	if (a->loading && a->asking) {
		cdp_forget(p->browser->cdp, p);
		act_settle(p);
	}
}

void
act_on_stopped(struct page *p)
{
	p->act.leaving = false;
	p->act.loading = false;
}

static void
act_on_moved(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else
		act_settle(p);
}

bool
act_take_popup(
    struct page *p, const char *session, const char *target, bool loading)
{
	struct page_acting *a = &p->act;
	char old[PAGE_ID_MAX + 1], left[PAGE_ID_MAX + 1];

	if (p->op != OP_ACT || !a->sent || p->late_status != PAGE_OK ||
	    a->old_target[0] != '\0')
		return false;
	strlcpy(old, p->target, sizeof(old));
	strlcpy(left, cdp_session_id(p->session), sizeof(left));
	event_del(p->pause);
	cdp_forget(p->browser->cdp, p);
	if (!page_move(p, session, target, true, act_on_moved))
		return false;
	strlcpy(a->old_target, old, sizeof(a->old_target));
	if (!openers_add(p, left, old))
		browser_close_target(p->browser, old);
	a->navigated = true;
	a->settling = false;
	a->leaving = loading;
	return true;
}

/* What was not done in the window is done here; what was has led here. */
void
act_on_returned(struct page *p)
{
	struct page_acting *a = &p->act;

	a->leaving = a->loading = false;
	if (a->sent || a->settling) {
		a->navigated = true;
		a->settling = false;
		act_settle(p);
	} else {
		act_step(p, a->step);
	}
}
