/*
 * page with the whole Chromium in place of the shell, as in sessions that a
 * person watches: what may differ between the two. With the real browser;
 * skipped where only the shell is installed.
 */
#include <stdio.h>
#include <string.h>

#include "t/unit/tap.h"
#include "visit.h"

static void
test_pages(struct page *p)
{
	is_int(visit_go(p, "/corpus/1", 0), PAGE_OK, "an article");
	is_int(visit.http_status, 200, "status 200");
	visit_extract(p,
	    (struct page_extract_options){
		.page_info = true, .content = true });
	ok(visit_json_is("pageInfo.type", "article"), "extracted");
	is_int(visit_go(p, "/missing", 0), PAGE_OK, "an error page");
	is_int(visit.http_status, 404, "status 404");
	is_int(visit_go(p, "/redirect/3", 0), PAGE_OK, "redirects");
	ok(visit.redirected, "are followed");
	is_int(visit_go(p, "/download", 0), PAGE_DOWNLOAD, "a file");
	is_int(visit_go(p, "/never-headers", 1000), PAGE_NAVIGATION_TIMEOUT,
	    "no answer at all");
	is_int(visit_go(p, "/fetch-late", 0), PAGE_OK, "text that is fetched");
	visit_eval(p,
	    "() => document.body.innerText.includes('Data that came')", NULL,
	    0);
	is_str(visit.json, "true", "is there");
}

static void
test_trouble(struct page *p)
{
	is_int(visit_go(p, "/alert", 0), PAGE_OK, "an alert");
	is_int(visit_go(p, "/alert-loop", 0), PAGE_OK, "alerts without end");
	is_int(visit_go(p, "/popup", 0), PAGE_OK, "pop-ups");
	/* It has a blocker of its own; what passes that is closed by us. */
	visit_extract(p, (struct page_extract_options){ .page_info = true });
	ok(visit_json_is("pageInfo.title", "A page that opens windows"),
	    "do not hide their page");
	is_int(visit_go(p, "/beforeunload", 0), PAGE_OK,
	    "a page that will not go");
	is_int(visit_go(p, "/frame?path=/spin-now", 0), PAGE_OK,
	    "a frame that hangs");
	is_int(visit_go(p, "/frame?path=/article-bread", 0), PAGE_OK,
	    "and one that does not");
	ok(!visit.partial, "all of it");
}

static void
test_spin(void)
{
	struct page *p = visit_open();

	is_int(visit_go(p, "/spin", 2000), PAGE_NAVIGATION_TIMEOUT,
	    "a page that spins");
	visit_shut(p);
	p = visit_open();
	ok(p != NULL && visit_go(p, "/corpus/2", 0) == PAGE_OK,
	    "a fresh tab works");
	visit_shut(p);
	is_int(visit.stuck, 0, "nothing was stuck");
}

static void
test_all(struct page *p)
{
	test_pages(p);
	test_trouble(p);
	test_spin();
}

int
main(void)
{
	return visit_main(LIVE_FULL, test_all);
}
