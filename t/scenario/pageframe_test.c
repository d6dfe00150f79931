/*
 * page and what frames of other sites do: they have processes of their own,
 * and whatever goes wrong there must neither block the page nor break it. With
 * the real browser.
 */
#include <stdio.h>
#include <string.h>

#include "cdp/cdp.h"
#include "t/unit/tap.h"
#include "visit.h"

/* The page itself is read, whatever its frame does. */
static void
check_page(struct page *p, const char *what)
{
	visit_extract(p,
	    (struct page_extract_options){
		.page_info = true, .content = true });
	is_int(visit.status, PAGE_OK, "the page around it is read");
	ok(visit_json_is("pageInfo.title", "A page with a part from elsewhere"),
	    "and is the right one (%s)", what);
}

static void
test_quiet_frame(struct page *p)
{
	is_int(visit_go(p, "/frame?path=/article-bread", 0), PAGE_OK,
	    "a frame that is well-behaved");
	ok(!visit.partial, "all of it");
	check_page(p, "an article");
	ok(visit_json_is("pageInfo.counts.iframe", "1"),
	    "the frame is counted");
	visit_eval(p,
	    "() => { try { return document.querySelector('iframe')"
	    ".contentDocument === null } catch { return 'thrown' } }",
	    NULL, 0);
	is_str(visit.json, "true", "it is closed to us: it has another site");
}

static void
test_dialogs(struct page *p)
{
	unsigned before = page_counters(p)->dialogs, n;

	is_int(visit_go(p, "/frame?path=/alert", 0), PAGE_OK,
	    "a frame with an alert");
	ok(!visit.partial, "is read to the end");
	ok(page_counters(p)->dialogs > before, "the alert was answered");
	check_page(p, "alert");
	before = page_counters(p)->dialogs;
	is_int(visit_go(p, "/frame?path=/alert-loop", 0), PAGE_OK,
	    "a frame with alerts without end");
	ok(visit.elapsed_ms < 6500, "in time (%d ms)", visit.elapsed_ms);
	n = page_counters(p)->dialogs;
	visit_eval(p, "() => new Promise((d) => setTimeout(d, 300))", NULL, 0);
	ok(page_counters(p)->dialogs == n, "which are ended (%u)", n - before);
	check_page(p, "alerts");
	is_int(visit_go(p, "/frame?path=/beforeunload", 0), PAGE_OK,
	    "a frame that will not go");
}

static void
test_hang(struct page *p)
{
	int warnings = visit.warnings;

	is_int(visit_go(p, "/frame?path=/spin-now", 0), PAGE_OK,
	    "a frame that hangs as it loads");
	ok(visit.partial && visit.elapsed_ms < 6500,
	    "does not hold the page (%d ms)", visit.elapsed_ms);
	is_int(visit.warnings, warnings + 1, "its script was stopped");
	check_page(p, "a loop");
	is_int(visit_go(p, "/frame?path=/article-bread", 0), PAGE_OK,
	    "another frame of that site");
	ok(!visit.partial, "is not troubled by it (%d ms)", visit.elapsed_ms);
	is_int(visit_go(p, "/frame?path=/spin", 0), PAGE_OK,
	    "a frame that hangs when it is loaded");
	check_page(p, "a loop");
	is_int(visit_go(p, "/corpus/1", 0), PAGE_OK, "the next page");
	ok(!visit.partial, "is not troubled by it");
	is_int(visit_go(p, "/frame?path=/article-bread", 0), PAGE_OK,
	    "another frame of that site");
	is_int(visit_go(p, "/frame?path=/never-headers", 0), PAGE_OK,
	    "a frame that never comes");
	ok(visit.partial && visit.elapsed_ms < 6500,
	    "is not waited for (%d ms)", visit.elapsed_ms);
	check_page(p, "nothing");
}

struct answer {
	char text[4096];
};

static void
on_answer(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	struct answer *a = arg;

	snprintf(a->text, sizeof(a->text), "%.*s", (int)r->result.len,
	    r->status == CDP_OK ? (const char *)r->result.ptr : "");
	visit.done = true;
}

static void
on_event(struct cdp *cdp, const struct cdp_event *ev, void *arg)
{
	if (ev->kind == CDP_EV_INSPECTOR_CRASHED)
		visit.done = true;
}

/* Asks the browser; the text between before and after in its answer. */
static bool
ask(const char *method, const char *params, const char *before,
    const char *after, char *dst, size_t size)
{
	struct iovec iov = { (void *)(uintptr_t)params, strlen(params) };
	struct answer a = { "" };
	const char *from, *to;

	cdp_call(browser_cdp(visit.browser), NULL, method, &iov, 1, 5000,
	    on_answer, &a);
	visit_wait();
	to = strstr(a.text, after);
	from = to;
	while (from != NULL && from > a.text &&
	    strncmp(from, before, strlen(before)) != 0)
		from--;
	if (from == NULL || from == a.text)
		return false;
	from += strlen(before);
	snprintf(dst, size, "%.*s", (int)(to - from), from);
	return true;
}

/* Ends the process of the frame that is there, and waits for that. */
static bool
crash_frame(void)
{
	char target[128], session[128], params[256];
	struct cdp_session *s;

	if (!ask("Target.getTargets", "{\"filter\":[{}]}", "\"targetId\":\"",
		"\",\"type\":\"iframe\"", target, sizeof(target)))
		return false;
	snprintf(params, sizeof(params),
	    "{\"flatten\":true,\"targetId\":\"%s\"}", target);
	if (!ask("Target.attachToTarget", params, ":\"", "\"}", session,
		sizeof(session)))
		return false;
	s = cdp_session_new(browser_cdp(visit.browser), session,
	    strlen(session), on_event, NULL);
	if (s == NULL)
		return false;
	cdp_call(browser_cdp(visit.browser), s, "Inspector.enable", NULL, 0,
	    5000, NULL, NULL);
	cdp_call(browser_cdp(visit.browser), s, "Page.crash", NULL, 0, 5000,
	    NULL, NULL);
	visit_wait();
	cdp_session_free(&s);
	return true;
}

static void
test_crash(struct page *p)
{
	visit_go(p, "/frame?path=/article-bread", 0);
	ok(crash_frame(), "a frame crashes");
	ok(page_is_open(p), "the tab is not lost");
	check_page(p, "without its frame");
	page_wait_stable(p, NULL, visit_on_nav, NULL);
	visit_wait();
	is_int(visit.status, PAGE_OK, "and may become stable");
	is_int(visit_go(p, "/frame?path=/article-bread", 0), PAGE_OK,
	    "the same once more");
	ok(!visit.partial, "all of it");
}

static void
test_popups(struct page *p)
{
	unsigned before = page_counters(p)->popups;
	int warnings = visit.warnings;

	is_int(visit_go(p, "/frame?path=/popup", 0), PAGE_OK,
	    "a frame that opens windows");
	check_page(p, "pop-ups");
	ok(page_counters(p)->popups >= before + 20, "all counted (%u)",
	    page_counters(p)->popups - before);
	ok(visit.warnings <= warnings + 1, "and warned of once");
}

static void
test_all(struct page *p)
{
	test_quiet_frame(p);
	test_dialogs(p);
	test_popups(p);
	test_crash(p);
	test_hang(p);
}

int
main(void)
{
	return visit_main(LIVE_SHELL, test_all);
}
