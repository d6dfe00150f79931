/*
 * visit: a browser, the demo site and what the last callback said, for the
 * tests of page/. One thing at a time: a function here starts something and
 * returns when it is over.
 */
#ifndef T_SCENARIO_VISIT_H
#define T_SCENARIO_VISIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live.h"
#include "page/browser.h"
#include "page/page.h"
#include "t/unit/tap.h"

struct event_base;

struct visit {
	struct event_base *base;
	struct live_browser chrome;
	struct live_site site;
	struct browser *browser;
	bool undrawn; /* the browser draws no frames */
	bool done;    /* the callback waited for came */
	bool ready;
	int gone;
	int stuck;
	int warnings;
	enum page_status status;
	char message[512];
	char url[512];
	char mime[64];
	int http_status;
	bool redirected;
	bool partial;
	int elapsed_ms;
	char *json;
	size_t json_len;
};

extern struct visit visit;

/*
 * Starts both, the site with a directory of pages (NULL: the demo's), and waits
 * for the first answer; false with a reason to skip.
 */
bool visit_start(enum live_program, const char *pages, const char **ret_why);
void visit_end(void);
/*
 * The same in parts, for a browser that several workers speak to one after the
 * other: both start, one attaches to the browser as the next worker would and
 * waits for its first answer, lets go without closing anything, both end.
 */
bool visit_launch(enum live_program, const char *pages, const char **ret_why);
void visit_attach(uint32_t generation);
void visit_drop(void);
void visit_stop(void);

/* Runs the loop until a callback has come. */
void visit_wait(void);
void
visit_on_page(struct page *, enum page_status, const char *message, void *arg);
/* arg may be an int, which is lowered by one. */
void visit_on_nav(struct page *, const struct page_nav *, void *arg);
void visit_on_result(struct page *, const struct page_result *, void *arg);

/* The address of a page of the site, until the next call. */
const char *visit_at(const char *path);
/* NULL when it does not open. */
struct page *visit_open(void);
void visit_shut(struct page *);
enum page_status visit_url(struct page *, const char *url, int timeout_ms);
enum page_status visit_go(struct page *, const char *path, int timeout_ms);
enum page_status
visit_eval(struct page *, const char *source, const char *args, int timeout_ms);
/* page_read() of all but readability; visit.json is what was read, or NULL. */
enum page_status visit_read(struct page *, const char *path, int timeout_ms);
void visit_extract(struct page *, struct page_extract_options);

/* Whether the member of visit.json that names lead to is want, as text. */
bool visit_json_is(const char *path, const char *want);

/*
 * A whole test program: starts both, runs the tests with a tab, ends. Returns
 * what main() shall. In here since each source of a test counts for itself.
 */
static inline int
visit_main(enum live_program program, void (*tests)(struct page *))
{
	const char *why = "";
	struct page *p;

	if (!visit_start(program, NULL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	ok(visit.ready, "the browser answers");
	p = visit_open();
	ok(p != NULL && page_is_open(p), "a tab opens");
	if (p != NULL)
		tests(p);
	visit_end();
	return done_testing();
}

#endif
