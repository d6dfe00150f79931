/*
 * A browser that lived before its worker, in the worker: finds the beat on its
 * pipe, ends all sessions of the worker before (which dismisses dialogs left
 * open and lets requests go that were held for it), and goes on in the tab that
 * was used last, since a site's session storage lives in it. One that answers
 * nothing for a while, after what it loads was given up, is closed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "page/priv.h"

#define TAKEOVER_SYNC_MS 3000
#define TAKEOVER_RANK_MS 500
#define TAKEOVER_OPEN_MS 1000
#define TAKEOVER_SLOW_MS 5000 /* of one that was tried: it may be busy */
#define TAKEOVER_TABS    64

/*
 * As many commands as a worker may give before its ids meet those of the next,
 * and after how many workers they begin anew: they are positive 32-bit numbers.
 */
#define TAKEOVER_ID_BITS     20
#define TAKEOVER_GENERATIONS 2048

/* The better kinds come first. */
enum tab_kind {
	TAB_OWN,    /* shows a document */
	TAB_OPENED, /* so does the one that opened it */
	TAB_BLANK,  /* or was there for an origin's storage only */
	TAB_KIND__MAX
};

struct tab {
	struct takeover *takeover;
	struct cdp_session *asked; /* when its document is from */
	enum tab_kind kind;
	bool passed;     /* not to be kept */
	bool silent;     /* did not say when its document is from */
	int64_t born_us; /* of its document; 0: unknown */
	char target[PAGE_ID_MAX + 1];
	char session[PAGE_ID_MAX + 1];
	char opener[PAGE_ID_MAX + 1];
};

struct takeover {
	struct browser *browser;
	char product[128];
	struct tab *tried;
	struct page *page; /* of it */
	bool gave_up;      /* one that was waited for */
	unsigned asking;
	unsigned n;
	struct tab tabs[TAKEOVER_TABS];
};

uint32_t
takeover_first_id(uint32_t generation)
{
	return generation % TAKEOVER_GENERATIONS << TAKEOVER_ID_BITS;
}

void
takeover_free(struct takeover **tp)
{
	struct takeover *t = *tp;

	if (t == NULL)
		return;
	for (unsigned i = 0; i < t->n; i++) {
		cdp_forget(t->browser->cdp, &t->tabs[i]);
		cdp_session_free(&t->tabs[i].asked);
	}
	cdp_forget(t->browser->cdp, t);
	free(t);
	*tp = NULL;
}

static void
takeover_on_sync(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	static const char off[] =
	    "{\"autoAttach\":false,\"waitForDebuggerOnStart\":false,"
	    "\"flatten\":true}";
	struct iovec iov = { (void *)(uintptr_t)off, sizeof(off) - 1 };
	struct takeover *t = arg;
	struct browser *b = t->browser;

	if (r->status != CDP_OK) {
		takeover_free(&b->takeover);
		b->ops->on_ready(b, NULL,
		    r->status == CDP_TIMEOUT
			? "the browser does not answer its next worker"
			: r->message,
		    b->ctx);
		return;
	}
	cdp_call(cdp, NULL, "Target.setAutoAttach", &iov, 1, PAGE_CALL_MS, NULL,
	    NULL);
	browser_set_up(b);
}

bool
takeover_begin(struct browser *b)
{
	b->takeover = calloc(1, sizeof(*b->takeover));
	if (b->takeover == NULL)
		return false;
	b->takeover->browser = b;
	cdp_resync(b->cdp, TAKEOVER_SYNC_MS, takeover_on_sync, b->takeover);
	return true;
}

void
takeover_note(struct takeover *t, const char *session, const char *target,
    const char *opener, struct json_span info)
{
	const size_t mark = sizeof(STAGE_MARK) - 1;
	char url[PAGE_URL_MAX_BYTES + 1] = "";
	struct tab *tab;
	size_t len;

	if (t->n == TAKEOVER_TABS) {
		browser_close_target(t->browser, target);
		return;
	}
	tab = &t->tabs[t->n++];
	tab->takeover = t;
	strlcpy(tab->target, target, sizeof(tab->target));
	strlcpy(tab->session, session, sizeof(tab->session));
	strlcpy(tab->opener, opener, sizeof(tab->opener));
	/* One that is longer than any address of ours is a page's own. */
	if (!page_member_str(info, "url", url, sizeof(url)))
		return;
	len = strlen(url);
	if (len == 0 || strcmp(url, "about:blank") == 0 ||
	    (len >= mark && strcmp(url + len - mark, STAGE_MARK) == 0))
		tab->kind = TAB_BLANK;
}

static void
takeover_finish(struct takeover *t, struct page *page)
{
	struct browser *b = t->browser;
	char product[sizeof(t->product)];

	for (unsigned i = 0; i < t->n; i++) {
		if (page == NULL ||
		    strcmp(t->tabs[i].target, page->target) != 0)
			browser_close_target(b, t->tabs[i].target);
	}
	b->taken = page;
	strlcpy(product, t->product, sizeof(product));
	takeover_free(&b->takeover);
	browser_report_ready(b, product);
}

static void takeover_try(struct takeover *);

/* The document that is shown, which no event will tell of. */
static void
takeover_on_tree(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct takeover *t = arg;
	struct json_span tree, frame;

	if (r->status != CDP_OK || !page_is_open(t->page) ||
	    !json_span_member(r->result, "frameTree", &tree) ||
	    !json_span_member(tree, "frame", &frame)) {
		page_close(t->page, NULL, NULL);
		takeover_try(t);
		return;
	}
	(void)page_member_str(
	    frame, "loaderId", t->page->loader, sizeof(t->page->loader));
	origins_note(t->page, frame);
	takeover_finish(t, t->page);
}

static void
takeover_on_again(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	takeover_try(arg);
}

/* Is this the second session with its target? */
static bool
was_tried(const struct takeover *t, const struct tab *of)
{
	for (const struct tab *tab = t->tabs; tab != of; tab++)
		if (strcmp(tab->target, of->target) == 0)
			return true;
	return false;
}

/*
 * The second one is all that is left of the tab, whose page may just be busy, or
 * the machine.
 */
static int
tried_for_ms(const struct takeover *t, const struct tab *tab)
{
	return was_tried(t, tab) ? TAKEOVER_SLOW_MS : TAKEOVER_OPEN_MS;
}

/*
 * A tab that a killed worker just sent elsewhere may wait for ever for a request
 * of which nobody knows, and answer nothing meanwhile. What it loads is given
 * up, and another session with it, which is noted as a tab of its own, may be
 * better. False: this was that one already.
 */
static bool
takeover_again(struct takeover *t)
{
	struct cdp *cdp = t->browser->cdp;
	char old[PAGE_ID_MAX + 32], new[PAGE_ID_MAX + 48];
	struct iovec iov = { old, 0 };

	if (was_tried(t, t->tried))
		return false;
	cdp_call(cdp, t->page->session, "Page.stopLoading", NULL, 0,
	    PAGE_CALL_MS, NULL, NULL);
	iov.iov_len = (size_t)snprintf(
	    old, sizeof(old), "{\"sessionId\":\"%s\"}", t->tried->session);
	cdp_call(cdp, NULL, "Target.detachFromTarget", &iov, 1, PAGE_CALL_MS,
	    NULL, NULL);
	iov.iov_base = new;
	iov.iov_len = (size_t)snprintf(new, sizeof(new),
	    "{\"targetId\":\"%s\",\"flatten\":true}", t->tried->target);
	cdp_call(cdp, NULL, "Target.attachToTarget", &iov, 1, TAKEOVER_OPEN_MS,
	    takeover_on_again, t);
	return true;
}

static void
takeover_on_open(
    struct page *p, enum page_status status, const char *message, void *arg)
{
	struct takeover *t = arg;

	t->page = p;
	if (status == PAGE_TIMEOUT && takeover_again(t)) {
		p->target[0] = '\0'; /* not to be closed */
		return;
	}
	if (status != PAGE_OK) {
		t->gave_up = true;
		takeover_try(t);
		return;
	}
	t->page = p;
	cdp_call(t->browser->cdp, p->session, "Page.getFrameTree", NULL, 0,
	    TAKEOVER_SLOW_MS, takeover_on_tree, t);
}

static struct tab *
takeover_best(struct takeover *t)
{
	struct tab *best = NULL;

	for (unsigned i = 0; i < t->n; i++) {
		struct tab *tab = &t->tabs[i];

		if (tab->passed || (tab->silent && t->gave_up) ||
		    (best != NULL &&
			(tab->kind > best->kind ||
			    (tab->kind == best->kind &&
				tab->born_us <= best->born_us))))
			continue;
		best = tab;
	}
	return best;
}

/* Goes on in the best of the tabs that are left. */
static void
takeover_try(struct takeover *t)
{
	struct tab *tab = takeover_best(t);
	struct page *p;

	if (tab == NULL || browser_is_gone(t->browser)) {
		takeover_finish(t, NULL);
		return;
	}
	tab->passed = true;
	t->tried = tab;
	p = page_new(t->browser, tried_for_ms(t, tab), takeover_on_open, t);
	if (p == NULL) {
		takeover_finish(t, NULL);
		return;
	}
	strlcpy(p->target, tab->target, sizeof(p->target));
	page_adopt(p, tab->session, strlen(tab->session));
}

static void
takeover_on_born(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct tab *tab = arg;
	struct takeover *t = tab->takeover;
	struct json_span result, value;

	/* Busy, perhaps, as all of them may be: better than none. */
	if (r->status == CDP_TIMEOUT)
		tab->silent = true;
	else if (r->status != CDP_OK ||
	    !json_span_member(r->result, "result", &result) ||
	    !json_span_member(result, "value", &value) ||
	    !json_span_get_int64(value, &tab->born_us))
		tab->passed = true;
	cdp_session_free(&tab->asked);
	if (--t->asking == 0)
		takeover_try(t);
}

static void
takeover_on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	/* Only the answer is of interest. */
}

static void
takeover_ask(struct takeover *t, struct tab *tab)
{
	static const char params[] =
	    "{\"expression\":\"Math.round(performance.timeOrigin*1000)\"}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };
	struct cdp *cdp = t->browser->cdp;

	tab->asked = cdp_session_new(
	    cdp, tab->session, strlen(tab->session), takeover_on_event, NULL);
	if (tab->asked == NULL) {
		tab->passed = true;
		return;
	}
	t->asking++;
	cdp_call(cdp, tab->asked, "Runtime.evaluate", &iov, 1, TAKEOVER_RANK_MS,
	    takeover_on_born, tab);
}

/* Whether the tab that opened this one shows a document, too. */
static bool
takeover_has_opener(const struct takeover *t, const struct tab *tab)
{
	for (unsigned i = 0; i < t->n; i++) {
		if (t->tabs[i].kind != TAB_BLANK &&
		    strcmp(t->tabs[i].target, tab->opener) == 0)
			return true;
	}
	return false;
}

void
takeover_choose(struct takeover *t, const char *product)
{
	unsigned rivals[TAB_KIND__MAX] = { 0 };
	struct tab *tab;

	strlcpy(t->product, product, sizeof(t->product));
	for (unsigned i = 0; i < t->n; i++) {
		tab = &t->tabs[i];
		if (tab->kind == TAB_OWN && takeover_has_opener(t, tab))
			tab->kind = TAB_OPENED;
		rivals[tab->kind]++;
	}
	tab = takeover_best(t);
	if (tab != NULL && tab->kind != TAB_BLANK && rivals[tab->kind] > 1) {
		enum tab_kind kind = tab->kind;

		for (unsigned i = 0; i < t->n; i++) {
			if (t->tabs[i].kind == kind)
				takeover_ask(t, &t->tabs[i]);
		}
	}
	if (t->asking == 0)
		takeover_try(t);
}

struct page *
browser_take_tab(struct browser *b)
{
	struct page *p = b->taken;

	b->taken = NULL;
	return p;
}

void
browser_leave(struct browser *b)
{
	static const char params[] =
	    "{\"autoAttach\":true,\"waitForDebuggerOnStart\":false,"
	    "\"flatten\":true,\"filter\":[{\"type\":\"page\"}]}";
	struct iovec iov = { (void *)(uintptr_t)params, sizeof(params) - 1 };
	struct page *p;

	TAILQ_FOREACH(p, &b->pages, next) {
		openers_close(p);
		if (page_is_open(p) && !p->staged &&
		    (b->kept == NULL || p->used > b->kept->used))
			b->kept = p;
	}
	stage_leave(b);
	if (b->kept != NULL)
		cdp_call(b->cdp, b->kept->session, "Fetch.disable", NULL, 0,
		    PAGE_CALL_MS, NULL, NULL);
	cdp_call(b->cdp, NULL, "Target.setAutoAttach", &iov, 1, PAGE_CALL_MS,
	    NULL, NULL);
}
