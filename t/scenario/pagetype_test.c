/*
 * page and what kind of page it sees: small pages of all kinds and languages,
 * and those that are easily taken for one another. With the real browser.
 */
#include <stdio.h>
#include <stdlib.h>

#include "t/unit/tap.h"
#include "visit.h"

static const struct {
	const char *path;
	const char *type;
	const char *what;
} rows[] = {
	{ "/konto/anmelden.html", "login", "login page with a newsletter box" },
	{ "/p/01.html", "login",
	    "two forms side by side: sign in, and create an account" },
	{ "/p/02.html", "login", "login that asks for the name first" },
	{ "/p/03.html", "article", "article with a login link in the header" },
	{ "/p/04.html", "article",
	    "blog post with comments and a comment form" },
	{ "/p/05.html", "article", "short article without marks" },
	{ "/docs/install.html", "article",
	    "documentation page with a long index" },
	{ "/p/06.html", "list", "front page of a newspaper" },
	{ "/p/07.html", "list", "weblog start page with whole introductions" },
	{ "/p/08.html", "list", "directory: links in sections" },
	{ "/shop/chairs.html", "list",
	    "shop category with a search box and filters" },
	{ "/shop/find.html?q=oak+chair", "search_results",
	    "shop search results" },
	{ "/p/09.html?wd=%E8%8C%B6%E9%A6%86", "search_results",
	    "results of a search engine in Chinese" },
	{ "/p/10.html?q=zzyzx", "search_results",
	    "a search that found nothing" },
	{ "/p/11.html", "search_engine", "search engine in Arabic" },
	{ "/p/12.html", "search_engine", "library catalogue" },
	{ "/p/13.html", "register", "registration" },
	{ "/p/14.html", "register",
	    "registration with one password and a login link" },
	{ "/p/15.html", "settings", "account settings with a password part" },
	{ "/p/16.html", "settings", "switches of an application" },
	{ "/p/17.html", "form", "contact form with some text" },
	{ "/p/18.html", "form", "survey of radio buttons" },
	{ "/p/19.html", "checkout", "payment step" },
	{ "/p/20.html", "checkout", "order with an address, paid on delivery" },
	{ "/p/21.html", "email_inbox", "webmail" },
	{ "/p/22.html", "email_inbox", "webmail without a table" },
	{ "/p/23.html", "list", "forum: topics of a board" },
	{ "/p/24.html", "email_compose", "new mail" },
	{ "/p/25.html", "email_compose", "new mail without names of fields" },
	{ "/p/26.html", "dashboard", "figures and charts" },
	{ "/p/27.html", "dashboard",
	    "server status with tiles of their own names" },
	{ "/p/28.html", "unknown", "an empty page" },
	{ "/p/29.html", "unknown", "a greeting and a picture" },
	{ "/shop/gone.html", "unknown",
	    "not found, within the frame of a shop" },
	{ "/p/40.html", "login", "login over a page of advertising" },
	{ "/p/41.html", "register", "sign-up in Arabic" },
	{ "/p/42.html", "article", "long read with related links below" },
	{ "/p/43.html", "article", "encyclopaedia entry" },
	{ "/p/44.html", "list", "questions of a help site, newest first" },
	{ "/p/45.html", "list", "catalogue of videos" },
	{ "/p/46.html", "list", "table of files" },
	{ "/p/47.html?s=guitarra", "search_results",
	    "results of a search in a newspaper" },
	{ "/p/48.html", "settings", "preferences of a browser game" },
	{ "/p/49.html", "form", "application for a place" },
	{ "/p/50.html", "unknown", "about page with two sentences" },
	{ "/p/51.html", "email_inbox", "inbox in German" },
	{ "/p/52.html", "list",
	    "blog index page that mentions mail in a sidebar" },
};

int
main(void)
{
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	const char *srcdir = getenv("srcdir"), *why = "";
	char pages[512];
	size_t right = 0;
	struct page *p;

	snprintf(pages, sizeof(pages), "%s/t/pagetype",
	    srcdir != NULL ? srcdir : ".");
	if (!visit_start(LIVE_SHELL, pages, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	p = visit_open();
	for (size_t i = 0; p != NULL && i < n; i++) {
		bool same;

		visit_go(p, rows[i].path, 0);
		visit_extract(
		    p, (struct page_extract_options){ .page_info = true });
		same = visit_json_is("pageInfo.type", rows[i].type);
		right += same ? 1 : 0;
		ok(same, "%s: %s", rows[i].type, rows[i].what);
	}
	printf("# %zu of %zu\n", right, n);
	visit_end();
	return done_testing();
}
