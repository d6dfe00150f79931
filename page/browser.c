/*
 * The browser as a whole, in the worker: first contact, settings for all tabs
 * (no downloads, pop-ups held before their first script), and the routing of
 * what concerns a target rather than a session. It decides about pop-ups; it
 * never looks into pages.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "page/priv.h"

/* The most that browserStartMs may be, which supervisord waits for at most. */
#define READY_MS      120000
#define PAGES_DEFAULT 20

void
browser_warn(struct browser *b, const char *fmt, ...)
{
	char text[PAGE_MESSAGE_MAX];
	va_list ap;

	if (b->ops->on_warning == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	b->ops->on_warning(b, text, b->ctx);
}

void
browser_report_stuck(struct browser *b, const char *why)
{
	if (b->stuck || b->gone)
		return;
	b->stuck = true;
	if (b->ops->on_stuck != NULL)
		b->ops->on_stuck(b, why, b->ctx);
}

static struct page *
browser_page_by_target(struct browser *b, const char *target)
{
	struct page *p;

	TAILQ_FOREACH(p, &b->pages, next) {
		if (strcmp(p->target, target) == 0)
			return p;
	}
	return NULL;
}

/* A pop-up's own session: only there so that a dialog cannot block it. */
static void
popup_on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	if (ev->kind == CDP_EV_DIALOG_OPENING)
		dialog_answer(arg, ev->session, ev->params);
}

void
browser_close_target(struct browser *b, const char *target)
{
	char params[PAGE_ID_MAX + 32];
	int len =
	    snprintf(params, sizeof(params), "{\"targetId\":\"%s\"}", target);
	struct iovec iov = { params, (size_t)len };

	cdp_call(b->cdp, NULL, "Target.closeTarget", &iov, 1, PAGE_CALL_MS,
	    NULL, NULL);
}

/*
 * A pop-up waits before its first script and shares its opener's process, so
 * the opener stands still until it is let go, even when it is then closed.
 */
static void
browser_on_popup(struct browser *b, const char *session, const char *target,
    const char *opener, bool loading)
{
	struct page *p = browser_page_by_target(b, opener);
	struct cdp_session *s;

	if (p != NULL && act_take_popup(p, session, target, loading))
		return;
	if (p != NULL)
		page_on_popup(p);
	s = cdp_session_new(
	    b->cdp, session, strlen(session), popup_on_event, b);
	if (s == NULL)
		return;
	cdp_call(b->cdp, s, "Page.enable", NULL, 0, PAGE_CALL_MS, NULL, NULL);
	cdp_call(b->cdp, s, "Runtime.runIfWaitingForDebugger", NULL, 0,
	    PAGE_CALL_MS, NULL, NULL);
	if (b->options.keep_popups)
		return;
	browser_close_target(b, target);
}

/* The oldest entry gives way; a page that misses it fails by its deadline. */
static void
browser_keep_unclaimed(
    struct browser *b, const char *session, const char *target)
{
	unsigned i = b->next_unclaimed++ % BROWSER_UNCLAIMED_MAX;

	strlcpy(b->unclaimed[i].target, target, sizeof(b->unclaimed[i].target));
	strlcpy(
	    b->unclaimed[i].session, session, sizeof(b->unclaimed[i].session));
}

void
browser_claim_target(struct browser *b, struct page *p)
{
	for (unsigned i = 0; i < BROWSER_UNCLAIMED_MAX; i++) {
		if (strcmp(b->unclaimed[i].target, p->target) != 0)
			continue;
		b->unclaimed[i].target[0] = '\0';
		page_adopt(p, b->unclaimed[i].session,
		    strlen(b->unclaimed[i].session));
		return;
	}
}

static void
browser_on_attached(struct browser *b, struct json_span params)
{
	char session[PAGE_ID_MAX + 1], target[PAGE_ID_MAX + 1];
	char opener[PAGE_ID_MAX + 1] = "", type[32] = "";
	struct json_span info;
	struct page *p;

	if (!json_span_member(params, "targetInfo", &info) ||
	    !page_member_str(params, "sessionId", session, sizeof(session)) ||
	    !page_member_str(info, "targetId", target, sizeof(target)))
		return;
	(void)page_member_str(info, "openerId", opener, sizeof(opener));
	(void)page_member_str(info, "type", type, sizeof(type));
	if (strcmp(type, "page") != 0)
		return;
	if (b->takeover != NULL) {
		takeover_note(b->takeover, session, target, opener, info);
		return;
	}
	p = browser_page_by_target(b, target);
	if (p != NULL)
		page_adopt(p, session, strlen(session));
	else if (opener[0] != '\0')
		browser_on_popup(b, session, target, opener, true);
	else
		browser_keep_unclaimed(b, session, target);
}

static void
browser_on_detached(struct browser *b, struct json_span params)
{
	char id[PAGE_ID_MAX + 1];
	struct cdp_session *s;
	struct page *p;

	if (!page_member_str(params, "sessionId", id, sizeof(id)))
		return;
	s = cdp_session_by_id(b->cdp, id, strlen(id));
	if (s == NULL)
		return;
	TAILQ_FOREACH(p, &b->pages, next) {
		if (openers_on_detached(p, s))
			return;
		if (p->session != s)
			continue;
		if (!openers_return(p))
			page_on_lost(p, PAGE_CLOSED, "the tab was closed");
		return;
	}
	cdp_session_free(&s);
}

static void
browser_on_download(struct browser *b, struct json_span params)
{
	char frame[PAGE_ID_MAX + 1];
	struct page *p;

	if (!page_member_str(params, "frameId", frame, sizeof(frame)))
		return;
	p = browser_page_by_target(b, frame);
	if (p != NULL)
		p->counters.downloads++;
	browser_warn(b, "a download was refused");
}

static void
browser_on_event(struct cdp *cdp, const struct cdp_event *ev, void *ctx)
{
	struct browser *b = ctx;
	char target[PAGE_ID_MAX + 1];
	struct page *p;

	switch (ev->kind) {
	case CDP_EV_TARGET_ATTACHED:
		browser_on_attached(b, ev->params);
		break;
	case CDP_EV_TARGET_DETACHED:
		browser_on_detached(b, ev->params);
		break;
	case CDP_EV_DOWNLOAD_WILL_BEGIN:
		browser_on_download(b, ev->params);
		break;
	case CDP_EV_TARGET_CRASHED:
		if (page_member_str(
			ev->params, "targetId", target, sizeof(target)) &&
		    (p = browser_page_by_target(b, target)) != NULL)
			page_on_crash(p, ev->params);
		break;
	default:
		break;
	}
}

static void
browser_on_cdp_gone(struct cdp *cdp, const char *why, void *ctx)
{
	struct browser *b = ctx;
	struct page *p;

	b->gone = true;
	snprintf(b->why, sizeof(b->why), "%s", why);
	/* A callback may close any page: start over after each. */
again:
	TAILQ_FOREACH(p, &b->pages, next) {
		if (p->state != STATE_LOST) {
			page_on_lost(p, PAGE_GONE, b->why);
			goto again;
		}
	}
	if (b->ready && b->ops->on_gone != NULL)
		b->ops->on_gone(b, b->why, b->ctx);
}

static const struct cdp_ops cdp_ops = { browser_on_event, browser_on_cdp_gone };

void
browser_report_ready(struct browser *b, const char *product)
{
	b->ready = true;
	b->ops->on_ready(b, product, NULL, b->ctx);
}

static void
browser_on_version(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct browser *b = arg;
	char product[128] = "unknown";

	if (r->status != CDP_OK) {
		b->ops->on_ready(b, NULL, r->message, b->ctx);
		return;
	}
	(void)page_member_str(r->result, "product", product, sizeof(product));
	if (b->takeover != NULL)
		takeover_choose(b->takeover, product);
	else
		browser_report_ready(b, product);
}

void
browser_set_up(struct browser *b)
{
	static const struct {
		const char *method;
		const char *params;
	} setup[] = {
		{ "Browser.setDownloadBehavior",
		    "{\"behavior\":\"deny\",\"eventsEnabled\":true}" },
		/* Says how a renderer ended, which the tab itself does not. */
		{ "Target.setDiscoverTargets",
		    "{\"discover\":true,\"filter\":[{\"type\":\"page\"}]}" },
		{ "Target.setAutoAttach",
		    "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,"
		    "\"flatten\":true,\"filter\":[{\"type\":\"page\"}]}" },
	};
	struct iovec iov;

	for (size_t i = 0; i < sizeof(setup) / sizeof(setup[0]); i++) {
		iov.iov_base = (void *)(uintptr_t)setup[i].params;
		iov.iov_len = strlen(setup[i].params);
		cdp_call(b->cdp, NULL, setup[i].method, &iov, 1, READY_MS, NULL,
		    NULL);
	}
	/* Answered last, so whoever is told "ready" finds it all in place. */
	cdp_call(b->cdp, NULL, "Browser.getVersion", NULL, 0, READY_MS,
	    browser_on_version, b);
}

struct browser *
browser_new(struct event_base *base, int read_fd, int write_fd,
    const struct browser_options *options, const struct browser_ops *ops,
    void *ctx)
{
	struct browser *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	if (options != NULL)
		b->options = *options;
	b->cdp = cdp_new(base, read_fd, write_fd,
	    takeover_first_id(b->options.generation), &cdp_ops, b);
	if (b->cdp == NULL) {
		free(b);
		return NULL;
	}
	b->magic = BROWSER_MAGIC;
	b->base = base;
	b->ops = ops;
	b->ctx = ctx;
	if (b->options.max_pages == 0)
		b->options.max_pages = PAGES_DEFAULT;
	TAILQ_INIT(&b->pages);
	buf_init(&b->dialogs, DIALOGS_MAX_BYTES);
	if (b->options.generation == 0)
		browser_set_up(b);
	else if (!takeover_begin(b))
		browser_free(&b);
	return b;
}

void
browser_free(struct browser **bp)
{
	struct browser *b = *bp;
	struct page *p;

	if (b == NULL)
		return;
	MAGIC_CHECK(b, BROWSER_MAGIC);
	while ((p = TAILQ_FIRST(&b->pages)) != NULL)
		page_free(&p);
	takeover_free(&b->takeover);
	stage_free(&b->stage);
	cdp_free(&b->cdp);
	buf_clear(&b->dialogs);
	b->magic = 0;
	free(b);
	*bp = NULL;
}

bool
browser_is_gone(const struct browser *b)
{
	return b->gone || cdp_is_gone(b->cdp);
}

void
browser_set_undrawn(struct browser *b)
{
	struct page *p;

	if (b->undrawn)
		return;
	b->undrawn = true;
	TAILQ_FOREACH(p, &b->pages, next) {
		if (p->session != NULL)
			page_be_undrawn(p);
	}
}

struct cdp *
browser_cdp(struct browser *b)
{
	return b->cdp;
}
