/*
 * What sites keep in a browser, out of one and into another, with real
 * browsers: cookies of all kinds and the local storage of every origin seen.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "json/tape.h"
#include "model/limits.h"
#include "page/state.h"
#include "visit.h"

static char *state; /* what was exported last */
static size_t state_len;
static char why[128];

static void
on_reply(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	visit.status = r->status == CDP_OK ? PAGE_OK : PAGE_GONE;
	free(visit.json);
	visit.json = NULL;
	visit.json_len = r->result.len;
	if (r->status == CDP_OK)
		visit.json =
		    strndup((const char *)r->result.ptr, r->result.len);
	visit.done = true;
}

static void
command(const char *method, const char *params)
{
	struct iovec iov = { (void *)(uintptr_t)params, strlen(params) };

	cdp_call(browser_cdp(visit.browser), NULL, method, &iov, 1, 5000,
	    on_reply, NULL);
	visit_wait();
}

static void
on_saved(const struct buf *json, const char *reason, void *arg)
{
	free(state);
	state =
	    json != NULL ? strndup((const char *)json->data, json->len) : NULL;
	state_len = json != NULL ? json->len : 0;
	strlcpy(why, reason != NULL ? reason : "", sizeof(why));
	visit.done = true;
}

static void
save(const char *before)
{
	struct state_save *s = state_save(visit.browser, before,
	    before != NULL ? strlen(before) : 0, 20000, on_saved, NULL);

	visit_wait();
	state_save_free(&s);
}

static void
on_loaded(const char *reason, void *arg)
{
	strlcpy(why, reason != NULL ? reason : "", sizeof(why));
	visit.done = true;
}

static void
load(const char *json, size_t len)
{
	struct state_load *l =
	    state_load(visit.browser, json, len, 20000, on_loaded, NULL);

	visit_wait();
	state_load_free(&l);
}

/* The site under another name: another origin. */
static const char *
at(const char *host, const char *path)
{
	static char url[256];

	snprintf(
	    url, sizeof(url), "http://%s:%d%s", host, visit.site.port, path);
	return url;
}

static struct json_val
find(struct json_val list, const char *key, const char *value)
{
	struct json_iter it = json_iter(list);

	while (json_iter_next(&it)) {
		if (json_str_eq(json_obj_get(it.val, key), value))
			break;
	}
	return it.val;
}

static bool
holds(const char *want)
{
	return state != NULL && strstr(state, want) != NULL;
}

static void
fill(struct page *p)
{
	char origin[64];

	snprintf(
	    origin, sizeof(origin), "http://b.localhost:%d", visit.site.port);
	command("Storage.setCookies",
	    "{\"cookies\":["
	    "{\"name\":\"host\",\"value\":\"1\",\"domain\":\"a.localhost\","
	    "\"path\":\"/\",\"httpOnly\":true,\"sameSite\":\"Strict\"},"
	    "{\"name\":\"wide\",\"value\":\"\\u00e9\\\"\",\"domain\":"
	    "\".a.localhost\",\"path\":\"/x\",\"expires\":4102444800},"
	    "{\"name\":\"part\",\"value\":\"3\",\"domain\":\"c.localhost\","
	    "\"path\":\"/\",\"secure\":true,\"sameSite\":\"None\","
	    "\"partitionKey\":{\"topLevelSite\":\"https://top.example\","
	    "\"hasCrossSiteAncestor\":true}}]}");
	is_int(visit.status, PAGE_OK, "cookies are set");
	visit_url(p, at("a.localhost", "/corpus/1"), 0);
	visit_eval(p,
	    "() => { localStorage.a = '\\ud800\\u20ac\\n'; localStorage.e = '';"
	    " localStorage.setItem('__proto__', 'p');"
	    " document.cookie = 'own=1'; sessionStorage.s = 's'; return 1 }",
	    NULL, 0);
	visit_url(p, at("b.localhost", "/corpus/2"), 0);
	visit_eval(p, "() => { localStorage.b = 'bee'; return 1 }", NULL, 0);
	visit_url(p, at("c.localhost", "/corpus/2"), 0);
}

static void
test_save(void)
{
	struct json_doc *doc = NULL;
	struct json_val root, cookies;
	char origin[64];

	save(NULL);
	ok(state != NULL, "a state is exported");
	if (state == NULL ||
	    !json_parse((const uint8_t *)state, state_len, NULL, 0, &doc, NULL))
		return;
	root = json_root(doc);
	cookies = json_obj_get(root, "cookies");
	is_int(json_len(cookies), 4, "four cookies");
	ok(json_str_eq(json_obj_get(find(cookies, "name", "host"), "domain"),
	       "a.localhost"),
	    "one of a host only");
	ok(json_str_eq(json_obj_get(find(cookies, "name", "host"), "sameSite"),
	       "Strict"),
	    "with its rules");
	ok(json_str_eq(json_obj_get(find(cookies, "name", "wide"), "domain"),
	       ".a.localhost"),
	    "one of a domain");
	is_int(json_len(json_obj_get(root, "origins")), 2,
	    "two origins: one has nothing");
	snprintf(
	    origin, sizeof(origin), "http://b.localhost:%d", visit.site.port);
	ok(!json_is_missing(
	       find(json_obj_get(root, "origins"), "origin", origin)),
	    "one that no tab shows any more");
	ok(holds("{\"name\":\"b\",\"value\":\"bee\"}"), "with what it keeps");
	json_doc_free(&doc);
}

/* An empty origin and one never seen: an earlier state counts for one. */
static void
test_before(struct page *p)
{
	static const char *const before =
	    "{\"cookies\":[{\"name\":\"old\"}],\"origins\":["
	    "{\"origin\":\"https://seen.example\",\"localStorage\":"
	    "[{\"name\":\"o\",\"value\":\"ld\"}]},17]}";

	save(before);
	ok(holds("https://seen.example"), "origins of before are taken over");
	ok(!holds("\"old\""), "cookies are not");
	save("{\"origins\":");
	ok(state != NULL && !holds("https://seen"), "a bad state is nothing");
	is_int(visit.warnings, 0, "all of it without a warning");
	page_eval(p, "() => new Promise(() => 0)", 26, NULL, 0, 60000,
	    visit_on_result, NULL);
	save(NULL);
	ok(holds("\"bee\""), "a tab that is busy is left alone");
}

/* A tab that goes elsewhere by itself while it is asked. */
static void
test_moving(void)
{
	char host[] = "x.localhost", source[512];
	struct page *p = visit_open();

	visit_url(p, at("m.localhost", "/set.html"), 0);
	snprintf(source, sizeof(source),
	    "() => { const f = document.createElement('script');"
	    " f.textContent = \"location.href = '%s'\";"
	    " document.head.append(f); return 1 }",
	    at("n.localhost", "/set.html"));
	visit_eval(p, source, NULL, 0);
	save(NULL);
	snprintf(source, sizeof(source),
	    "{\"origin\":\"http://m.localhost:%d\",\"localStorage\":"
	    "[{\"name\":\"theme\"",
	    visit.site.port);
	ok(holds(source), "a tab that goes elsewhere while it is asked");
	for (const char *h = "mn"; *h != '\0'; h++) {
		host[0] = *h;
		visit_url(p, at(host, "/show.html"), 0);
		visit_eval(
		    p, "() => { localStorage.clear(); return 1 }", NULL, 0);
	}
	visit_shut(p);
}

/* A site's service worker answers for its origin, but not on the stage. */
static void
test_worker(void)
{
	static const char *const install =
	    "async () => { localStorage.w = 'w';"
	    " const r = await navigator.serviceWorker.register('/worker.js');"
	    " const w = r.installing ?? r.waiting ?? r.active;"
	    " while (w.state !== 'activated')"
	    "  await new Promise(f => w.onstatechange = f);"
	    " return 1 }";
	struct page *p = visit_open();

	visit_url(p, at("w.localhost", "/set.html"), 0);
	visit_eval(p, install, NULL, 0);
	is_str(visit.json, "1", "a site with a service worker");
	visit_url(p, "about:blank", 0);
	save(NULL);
	ok(holds("{\"name\":\"w\",\"value\":\"w\"}"), "its storage is read");
	visit_url(p, at("w.localhost", "/set.html"), 0);
	visit_eval(p, "() => caches.has('asked')", NULL, 0);
	is_str(visit.json, "false", "the worker was not asked");
	visit_url(p, at("w.localhost", "/"), 0);
	visit_eval(p, "() => caches.has('asked')", NULL, 0);
	is_str(visit.json, "true", "as it is by every page");
	visit_eval(p, "() => { localStorage.clear(); return 1 }", NULL, 0);
	visit_shut(p);
}

static void
test_limit(void)
{
	struct page *p = visit_open();

	visit_url(p, at("d.localhost", "/corpus/1"), 0);
	is_int(visit_eval(p,
		   "() => { localStorage.big = 'x'.repeat(5000000); return 1 }",
		   NULL, 0),
	    PAGE_OK, "more than a state can hold");
	visit.warnings = 0;
	save(NULL);
	ok(state != NULL && state_len <= LIMIT_STATE_BYTES && holds("\"bee\""),
	    "what is too large is left out");
	is_int(visit.warnings, 1, "and told");
	visit_eval(p, "() => { localStorage.clear(); return 1 }", NULL, 0);
	save(NULL);
}

static void
test_load(struct page *p)
{
	visit.warnings = 0;
	visit_url(p, at("z.localhost", "/corpus/1"), 0);
	visit_eval(
	    p, "() => { document.cookie = 'gone=1'; return 1 }", NULL, 0);
	load(state, state_len);
	is_str(why, "", "the state is loaded");
	is_int(visit.warnings, 0, "all of it");
	command("Storage.getCookies", "{}");
	ok(strstr(visit.json, "\"gone\"") == NULL, "other cookies are no more");
	visit_url(p, at("a.localhost", "/corpus/1"), 0);
	visit_eval(p, "() => localStorage.a + localStorage.e", NULL, 0);
	is_str(visit.json, "\"\\ud800\\u20ac\\n\"",
	    "local storage, to the last half character");
	visit_eval(p, "() => localStorage.getItem('__proto__')", NULL, 0);
	is_str(visit.json, "\"p\"", "under any name");
	visit_eval(p, "() => document.cookie", NULL, 0);
	is_str(visit.json, "\"own=1\"", "a cookie until the browser ends");
}

/* Export, import, export: nothing is lost or changed on the way. */
static void
test_round(const char *first)
{
	save(NULL);
	ok(holds("\"part\"") && holds("\"https://top.example\""),
	    "a partitioned cookie");
	is_int((long)state_len, (long)strlen(first), "the same once more");
}

static void
test_bad(void)
{
	static const char *const secure =
	    "{\"origins\":[{\"origin\":\"https://secure.example\","
	    "\"localStorage\":[{\"name\":\"a\",\"value\":\"b\"}]}]}";
	static const char *const some =
	    "{\"cookies\":[{\"name\":\"good\",\"value\":\"1\",\"domain\":"
	    "\"a.localhost\",\"path\":\"/\",\"expires\":-1},"
	    "{\"name\":\"__Host-bad\",\"value\":\"1\",\"domain\":"
	    "\".a.localhost\",\"path\":\"/x\",\"expires\":-1},"
	    "{\"name\":\"past\",\"value\":\"1\",\"domain\":\"a.localhost\","
	    "\"path\":\"/\",\"expires\":5},{\"name\":7},null],"
	    "\"origins\":[3,{\"origin\":\"file:///etc\",\"localStorage\":[]},"
	    "{\"origin\":\"http://a.localhost\",\"localStorage\":[7,null]}]}";

	load("{\"cookies\":[", 12);
	ok(why[0] != '\0', "what is no JSON is refused: %s", why);
	load("[]", 2);
	ok(why[0] != '\0', "and what is no object");
	visit.warnings = 0;
	load("{}", 2);
	is_str(why, "", "an empty one is one");
	load("{\"cookies\":7,\"origins\":{\"a\":1}}", 31);
	is_str(why, "", "one of other types, too");
	visit.warnings = 0;
	load(secure, strlen(secure));
	is_int(visit.warnings, 0, "an origin that nobody serves");
	load(some, strlen(some));
	is_str(why, "", "each part stands for itself");
	is_int(visit.warnings, 2, "what was refused is told");
	command("Storage.getCookies", "{}");
	ok(strstr(visit.json, "\"good\"") != NULL &&
		strstr(visit.json, "\"past\"") == NULL,
	    "a good cookie beside bad ones");
}

static void
test_silent(void)
{
	struct state_save *s;

	kill(-visit.chrome.pid, SIGSTOP);
	s = state_save(visit.browser, NULL, 0, 50, on_saved, NULL);
	visit_wait();
	ok(state == NULL && why[0] != '\0', "no answer in time: %s", why);
	state_save_free(&s);
	s = state_save(visit.browser, NULL, 0, 50, on_saved, NULL);
	state_save_free(&s);
	ok(s == NULL, "given up in the middle");
	kill(-visit.chrome.pid, SIGCONT);
}

int
main(void)
{
	const char *srcdir = getenv("srcdir"), *reason = "";
	char pages[512], *first;
	struct page *p;

	snprintf(
	    pages, sizeof(pages), "%s/t/keep", srcdir != NULL ? srcdir : ".");
	if (!visit_launch(LIVE_SHELL, pages, &reason)) {
		printf("1..0 # SKIP %s\n", reason);
		return 0;
	}
	visit_attach(0);
	p = visit_open();
	if (!ok(p != NULL, "a tab opens"))
		return done_testing();
	fill(p);
	test_save();
	test_before(p);
	test_moving();
	test_worker();
	test_limit();
	first = strdup(state != NULL ? state : "");
	visit_drop();
	live_browser_stop(&visit.chrome);

	if (live_browser_start(&visit.chrome, LIVE_SHELL, &reason)) {
		visit_attach(0);
		p = visit_open();
		test_load(p);
		visit_url(p, at("b.localhost", "/corpus/1"), 0);
		test_round(first);
		test_bad();
		test_silent();
		visit_drop();
	}
	visit_stop();
	free(first);
	free(state);
	return done_testing();
}
