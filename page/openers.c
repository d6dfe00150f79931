/*
 * The tabs that a page has left for a window that one of them opened, in the
 * worker. A window that closes itself, as those do in which one logs in, gives
 * the page back to the tab that has opened it, which meanwhile got an answer.
 * So these stay, with sessions of their own: what would stop them is answered,
 * and what they must not do is refused as in a tab in front.
 */
#include <stdlib.h>
#include <string.h>

#include "page/priv.h"

#define OPENERS_MAX 4 /* of a page; the oldest is closed for another one */

struct page_opener {
	TAILQ_ENTRY(page_opener) next;
	struct page *page;
	struct cdp_session *session;
	char target[PAGE_ID_MAX + 1];
};

static void
opener_forget(struct page_opener *o)
{
	TAILQ_REMOVE(&o->page->openers, o, next);
	cdp_session_free(&o->session);
	free(o);
}

static void
opener_close(struct page_opener *o)
{
	if (!browser_is_gone(o->page->browser))
		browser_close_target(o->page->browser, o->target);
	opener_forget(o);
}

static void
opener_on_document(struct page_opener *o, struct json_span params)
{
	struct json_span frame, parent;

	if (json_span_member(params, "frame", &frame) &&
	    !json_span_member(frame, "parentId", &parent) &&
	    !scheme_allows(o->page, frame))
		opener_close(o);
}

static void
opener_on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	struct page_opener *o = arg;

	switch (ev->kind) {
	case CDP_EV_DIALOG_OPENING:
		dialog_answer(o->page->browser, o->session, ev->params);
		break;
	case CDP_EV_REQUEST_PAUSED:
		flight_let_go(o->page, o->session, ev->params);
		break;
	case CDP_EV_FRAME_NAVIGATED:
		opener_on_document(o, ev->params);
		break;
	case CDP_EV_INSPECTOR_CRASHED:
		opener_close(o);
		break;
	default:
		break;
	}
}

bool
openers_add(struct page *p, const char *session, const char *target)
{
	struct page_opener *o = calloc(1, sizeof(*o)), *old;
	unsigned n = 0;

	if (o == NULL)
		return false;
	o->page = p;
	o->session = cdp_session_new(
	    p->browser->cdp, session, strlen(session), opener_on_event, o);
	if (o->session == NULL) {
		free(o);
		return false;
	}
	strlcpy(o->target, target, sizeof(o->target));
	TAILQ_FOREACH(old, &p->openers, next)
		n++;
	if (n >= OPENERS_MAX)
		opener_close(TAILQ_LAST(&p->openers, page_openers));
	TAILQ_INSERT_HEAD(&p->openers, o, next);
	return true;
}

bool
openers_on_detached(struct page *p, const struct cdp_session *session)
{
	struct page_opener *o;

	TAILQ_FOREACH(o, &p->openers, next) {
		if (o->session != session)
			continue;
		opener_forget(o);
		return true;
	}
	return false;
}

/* The tab left last, which is nobody's then. */
static bool
openers_take(struct page *p, char ret_session[PAGE_ID_MAX + 1],
    char ret_target[PAGE_ID_MAX + 1])
{
	struct page_opener *o = TAILQ_FIRST(&p->openers);

	if (o == NULL)
		return false;
	strlcpy(ret_session, cdp_session_id(o->session), PAGE_ID_MAX + 1);
	strlcpy(ret_target, o->target, PAGE_ID_MAX + 1);
	opener_forget(o);
	return true;
}

void
openers_close(struct page *p)
{
	struct page_opener *o;

	while ((o = TAILQ_FIRST(&p->openers)) != NULL)
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it has left the list */
		opener_close(o);
}

/* It is there; what was under way goes on in it, if it can. */
static void
openers_on_back(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct page *p = arg;

	if (r->status == CDP_GONE)
		page_finish(p, PAGE_GONE, r->message);
	else if (p->op == OP_ACT)
		act_on_returned(p);
}

bool
openers_return(struct page *p)
{
	char session[PAGE_ID_MAX + 1], target[PAGE_ID_MAX + 1];

	if (p->state != STATE_OPEN || p->closing ||
	    (p->op != OP_NONE && p->late_status != PAGE_OK) ||
	    !openers_take(p, session, target))
		return false;
	event_del(p->pause);
	cdp_forget(p->browser->cdp, p);
	if (!page_move(p, session, target, false, openers_on_back)) {
		browser_close_target(p->browser, target);
		return false;
	}
	frames_watch_again(p);
	cdp_call(p->browser->cdp, p->session, "Page.bringToFront", NULL, 0,
	    PAGE_CALL_MS, NULL, NULL);
	if (p->op != OP_NONE && p->op != OP_ACT)
		page_finish(p, PAGE_CLOSED,
		    "the window has closed itself: the tab is again the one "
		    "that has opened it");
	return true;
}
