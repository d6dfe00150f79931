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

/*
 * What the first page costs once: fonts are looked for, and how letters are to
 * be drawn is asked of the browser for each font, size and weight, half a
 * millisecond each time; these are the usual ones. Styles of the browser's own
 * are read, lines are broken.
 */
static const char sample[] =
    "() => { const text = 'Some words of no meaning, as many as a paragraph "
    "has, a number (1,234.5), a name & a dash \\u2013 so that lines are "
    "broken. '; const sizes = [12, 12.8, 13, 13.6, 14, 14.4, 15, 15.2, 16, "
    "17.6, 18, 19.2, 20, 22.4, 24, 28, 32, 40]; const fonts = ['Arial, "
    "Helvetica, sans-serif', 'system-ui, -apple-system, Roboto, \"DejaVu "
    "Sans\"', 'Georgia, \"Times New Roman\", serif', '\"DejaVu Serif\"', "
    "'ui-monospace, Menlo, Consolas, monospace', '\"DejaVu Sans Mono\"']; "
    "const part = (i) => `<section class=\"s c${i % 4}\"><h2>Part ${i}</h2><p>"
    "${text}<a href=\"?${i}\">One</a> <b>bold</b><p>${text}<i>italic</i>, "
    "<code>fixed</code><ul><li>Item<li><a href=\"?b\">Two</a></ul></section>`; "
    "const line = (f, i) => `<p style='font-family: ${f}'><span "
    "style=\"font-weight: 600\">w</span>` + (i < 4 ? sizes : [13, 13.6, 14, "
    "14.4]).map((s) => `<span style=\"font-size: ${s}px\">a<b>b</b>${s % 2 ? "
    "'' : '<i>c</i>'}</span>`).join(''); document.body.innerHTML = '<style>.c1 "
    "{ color: red; display: flex } .c1 > * { margin: 1px } .c2 { display: grid;"
    " grid-template-columns: 1fr 1fr } .c3 > * { float: left; width: 50% } "
    "@media (max-width: 1px) { .s { color: blue } }</style><nav><a href=\"?a\">"
    "One</a></nav><main><h1>Title</h1>' + [...Array(12).keys()].map(part).join("
    "'') + fonts.map(line).join('') + '<p>"
    "\\u2190\\u2192\\u2026\\u2022\\u00b7\\u2713\\u2605\\u2665\\u25b2\\u25bc\\u0"
    "0d7\\u20ac<table><tr><th>Head<td>Cell</table><img alt=\"Image\"><form>"
    "<label>Name <input></label><select><option>Choice</select><textarea>"
    "</textarea><button>Send</button></form></main>'; }";

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
		return page_eval(w->page, sample, sizeof(sample) - 1, NULL, 0,
		    WARM_TIMEOUT_MS, on_result, w);
	case WARM_AGAIN:
		return page_read_again(
		    w->page, WARM_TIMEOUT_MS, &usual, on_nav, w);
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
