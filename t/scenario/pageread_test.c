/*
 * Reading a page in one: what page_read() gives is what the page says once it
 * is stable, and that nothing could be read is told apart from that nothing
 * could be loaded. With the real browser.
 */
#include <stdlib.h>
#include <string.h>

#include "t/unit/tap.h"
#include "visit.h"

/* Once more by the two calls that it is made of. */
static void
test_same(struct page *p)
{
	static const char *const paths[] = { "/corpus/1", "/article-bread",
		"/late", "/missing", "/redirect" };
	char *read;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ok(visit_read(p, paths[i], 0) == PAGE_OK && visit.json != NULL,
		    "%s is read (%d ms)", paths[i], visit.elapsed_ms);
		read = strdup(visit.json != NULL ? visit.json : "");
		visit_go(p, paths[i], 0);
		visit_extract(p,
		    (struct page_extract_options){
			.page_info = true, .content = true });
		is_str(visit.json, read, "as it is extracted");
		free(read);
	}
	visit_read(p, "/missing", 0);
	is_int(visit.http_status, 404, "the status comes with it");
	visit_read(p, "/redirect", 0);
	ok(visit.redirected, "and that it was redirected");
}

/* What comes late is in it, and what is read is read once it has come. */
static void
test_late(struct page *p)
{
	static const struct {
		const char *path;
		const char *text;
	} rows[] = {
		{ "/fetch-late", "Data that came" },
		{ "/fetch-late?ms=1500", "Data that came" },
		{ "/fetch-chain", "Data that came" },
		{ "/fetch-xhr", "Data that came" },
		{ "/fetch-never", "Data that came" },
		{ "/fetch-fail", "could not be read" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ok(visit_read(p, rows[i].path, 0) == PAGE_OK, "%s (%d ms)",
		    rows[i].path, visit.elapsed_ms);
		ok(visit.json != NULL &&
			strstr(visit.json, rows[i].text) != NULL,
		    "with what it asked for");
	}
	is_int(visit_read(p, "/never", 0), PAGE_OK, "never ends loading");
	ok(visit.partial && visit.json != NULL, "is read as far as it is");
}

static void
test_nothing(struct page *p)
{
	is_int(visit_read(p, "/download", 0), PAGE_DOWNLOAD, "a file");
	ok(visit.json == NULL, "gives nothing");
	is_int(visit_read(p, "/never-headers", 1000), PAGE_NAVIGATION_TIMEOUT,
	    "no answer");
	ok(visit.json == NULL, "gives nothing");
	is_int(visit_read(p, "/corpus/2", 0), PAGE_OK, "the next is read");
	is_int(visit_go(p, "/corpus/3", 0), PAGE_OK, "and only navigating");
	ok(visit.json == NULL, "reads nothing");
}

/* A page may break what it can reach; it cannot reach the isolated world. */
static void
test_hostile(struct page *p)
{
	is_int(visit_url(p,
		   "data:text/html,<title>T</title><img%20name=readyState>"
		   "<img%20name=querySelector><form%20name=body></form>"
		   "<form%20name=scripts></form><p>words<script>1</script>",
		   4000),
	    PAGE_OK, "names that hide what the document has");
	ok(!visit.partial, "do not hide that it was loaded");
	is_int(visit_url(p,
		   "data:text/html,<title>T</title><p>words</p><script>"
		   "Element.prototype.checkVisibility=document.querySelectorAll"
		   "=Object.keys=()=>{throw%201}</script>",
		   0),
	    PAGE_OK, "a page that breaks its own world");
	visit_extract(p,
	    (struct page_extract_options){
		.page_info = true, .content = true });
	is_int(visit.status, PAGE_OK, "is read all the same");
}

static void
test_all(struct page *p)
{
	test_same(p);
	test_late(p);
	test_nothing(p);
	test_hostile(p);
}

int
main(void)
{
	return visit_main(LIVE_SHELL, test_all);
}
