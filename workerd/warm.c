/*
 * warm: what the worker of a spare does while it has no run: the scripts that
 * read pages are compiled in the renderer that will need them, and it lays out
 * its first text. It loads nothing from anywhere, and leaves the tab as it was.
 */
#include <stdlib.h>

#include "page/cookies.h"
#include "page/page.h"
#include "workerd/warm.h"

/*
 * As long as a browser's start may take: a machine that is slow is no reason
 * to lose a spare, which a run may have got meanwhile.
 */
#define WARM_TIMEOUT_MS 20000

static const char sample[] = {
#include "workerd/sample.js.inc"
};

enum warm_step {
	WARM_READ, /* the scripts with the reader's view, of an empty page */
	WARM_FILL,
	WARM_AGAIN, /* as most runs read, of a page with something on it */
	WARM_CLEAR,
	WARM__MAX
};

struct warm {
	struct page *page;
	enum warm_step step;
	void (*done)(void *arg, const char *why);
	void *arg;
};

static bool warm_go(struct warm *);

static void
warm_on(struct warm *w, enum page_status status, const char *message)
{
	struct warm copy = *w;

	w->step++;
	if (status == PAGE_OK && w->step < WARM__MAX && warm_go(w))
		return;
	free(w);
	copy.done(copy.arg, status == PAGE_OK ? NULL : message);
}

static void
on_nav(struct page *page, const struct page_nav *nav, void *arg)
{
	(void)page;
	warm_on(arg, nav->status, nav->message);
}

static void
on_result(struct page *page, const struct page_result *result, void *arg)
{
	(void)page;
	warm_on(arg, result->status, result->message);
}

static bool
warm_go(struct warm *w)
{
	static const char clear[] = "() => { document.body.innerHTML = ''; }";
	static const struct page_nav_options nav = { .timeout_ms =
							 WARM_TIMEOUT_MS };
	static const struct page_extract_options all = { .page_info = true,
		.content = true,
		.readability = true,
		.timeout_ms = WARM_TIMEOUT_MS };
	static const struct page_extract_options usual = { .page_info = true,
		.content = true,
		.timeout_ms = WARM_TIMEOUT_MS };

	switch (w->step) {
	case WARM_READ:
		return page_read(w->page, "about:blank", &nav, &all, on_nav, w);
	case WARM_FILL:
		return page_eval(w->page, sample, sizeof(sample), NULL, 0,
		    WARM_TIMEOUT_MS, on_result, w);
	case WARM_AGAIN:
		return page_read_again(w->page, &nav, &usual, on_nav, w);
	default:
		return page_eval(w->page, clear, sizeof(clear) - 1, NULL, 0,
		    WARM_TIMEOUT_MS, on_result, w);
	}
}

bool
warm_page(
    struct page *page, void (*done)(void *arg, const char *why), void *arg)
{
	struct warm *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	*w = (struct warm){ page, WARM_READ, done, arg };
	page_load_cookies(page);
	if (warm_go(w))
		return true;
	free(w);
	return false;
}
