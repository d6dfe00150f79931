/*
 * warm: what the worker of a spare does while it has no run: the scripts that
 * read pages are compiled in the renderer that will need them. It loads nothing
 * from anywhere, and leaves the tab as it was.
 */
#include <stdlib.h>

#include "page/page.h"
#include "workerd/warm.h"

/*
 * As long as a browser's start may take: a machine that is slow is no reason
 * to lose a spare, which a run may have got meanwhile.
 */
#define WARM_TIMEOUT_MS 20000

struct warm {
	void (*done)(void *arg, const char *why);
	void *arg;
};

static void
on_read(struct page *page, const struct page_nav *nav, void *arg)
{
	struct warm w = *(struct warm *)arg;

	(void)page;
	free(arg);
	w.done(w.arg, nav->status == PAGE_OK ? NULL : nav->message);
}

bool
warm_page(
    struct page *page, void (*done)(void *arg, const char *why), void *arg)
{
	static const struct page_nav_options nav = { .timeout_ms =
							 WARM_TIMEOUT_MS };
	static const struct page_extract_options all = { .page_info = true,
		.content = true,
		.readability = true,
		.timeout_ms = WARM_TIMEOUT_MS };
	struct warm *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return false;
	w->done = done;
	w->arg = arg;
	if (page_read(page, "about:blank", &nav, &all, on_read, w))
		return true;
	free(w);
	return false;
}
