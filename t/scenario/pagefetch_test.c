/*
 * page and what scripts ask the network for: a page is not stable before it
 * has been answered, and whatever goes wrong with that ends the wait. With the
 * real browser.
 */
#include <string.h>

#include <event2/event.h>

#include "t/unit/tap.h"
#include "visit.h"

/* How many times the text stands in the page. */
static const char *
count_of(struct page *p, const char *text)
{
	visit_eval(p,
	    "(t) => String(document.body.innerText.split(t).length - 1)", text,
	    0);
	return visit.json != NULL ? visit.json : "";
}

static void
test_content(struct page *p)
{
	static const struct {
		const char *path;
		const char *text;
		const char *count;
		int least_ms;
	} rows[] = {
		{ "/fetch-late", "\"Data that came\"", "\"1\"", 400 },
		{ "/fetch-late?ms=1500", "\"Data that came\"", "\"1\"", 1500 },
		{ "/fetch-late?ms=0", "\"Data that came\"", "\"1\"", 0 },
		{ "/fetch-chain", "\"Data that came\"", "\"2\"", 800 },
		{ "/fetch-xhr", "\"Data that came\"", "\"1\"", 400 },
		{ "/fetch-redirect", "\"Data that came\"", "\"1\"", 0 },
		{ "/fetch-worker", "\"Data that came\"", "\"1\"", 400 },
		{ "/fetch-fail", "\"could not be read\"", "\"2\"", 0 },
		{ "/fetch-beacon", "\"Said and done\"", "\"1\"", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ok(visit_go(p, rows[i].path, 0) == PAGE_OK, "%s", rows[i].path);
		ok(!visit.partial && visit.elapsed_ms >= rows[i].least_ms &&
			visit.elapsed_ms < rows[i].least_ms + 2500,
		    "in good time (%d ms)", visit.elapsed_ms);
		is_str(count_of(p, rows[i].text), rows[i].count,
		    "with what it asked for");
	}
}

static void
test_bounds(struct page *p)
{
	is_int(visit_go(p, "/fetch-never", 0), PAGE_OK, "a long poll");
	ok(!visit.partial && visit.elapsed_ms >= 2900 &&
		visit.elapsed_ms < 6000,
	    "is waited for 3 s (%d ms)", visit.elapsed_ms);
	is_str(count_of(p, "\"Data that came\""), "\"1\"",
	    "what did come is there");
	is_int(visit_go(p, "/fetch-never", 2000), PAGE_OK,
	    "less when there is less time");
	ok(visit.elapsed_ms < 2000, "within it (%d ms)", visit.elapsed_ms);
	is_int(visit_go(p, "/fetch-late?ms=0", 0), PAGE_OK, "a page after it");
	ok(visit.elapsed_ms < 2500, "does not wait for its poll (%d ms)",
	    visit.elapsed_ms);
	is_int(visit_go(p, "/fetch-abort", 0), PAGE_OK, "given up");
	ok(visit.elapsed_ms < 6000, "ends (%d ms)", visit.elapsed_ms);
	is_str(count_of(p, "\"could not be read\""), "\"1\"",
	    "and the page knows");
}

/* A request made later, as after a click. */
static void
test_wait_stable(struct page *p)
{
	visit_go(p, "/article-bread", 0);
	visit_eval(p,
	    "() => { const s = document.createElement('script');"
	    "s.textContent = `fetch('/data?ms=500').then((r) => r.json())"
	    ".then((d) => document.body.append(d.text))`;"
	    "document.body.append(s); }",
	    NULL, 0);
	page_wait_stable(p, NULL, visit_on_nav, NULL);
	visit_wait();
	is_int(visit.status, PAGE_OK, "waits for it");
	is_str(count_of(p, "\"Data that came\""), "\"1\"", "and it is there");
}

/* Closing, and leaving, with a request on its way. */
static void
test_leave(struct page *p)
{
	struct page *other = visit_open();
	const struct timeval while_it_waits = { 1, 0 };
	int open = 1;

	page_navigate(
	    other, visit_at("/fetch-never"), NULL, visit_on_nav, &open);
	event_base_loopexit(visit.base, &while_it_waits);
	event_base_dispatch(visit.base);
	is_int(open, 1, "still waiting");
	page_close(other, visit_on_page, NULL);
	is_int(open, 0, "told at once that it is closed");
	is_int(visit.status, PAGE_CLOSED, "closed while it waits");
	visit.done = false;
	visit_wait();
	is_int(visit_go(p, "/corpus/1", 0), PAGE_OK, "the other tab works");
}

static void
test_all(struct page *p)
{
	test_content(p);
	test_bounds(p);
	test_wait_stable(p);
	test_leave(p);
}

int
main(void)
{
	return visit_main(LIVE_SHELL, test_all);
}
