/*
 * page with the real browser, its sandbox on, and the demo site's pages, the
 * well-behaved and the others.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#include "cdp/cdp.h"
#include "common/clock.h"
#include "json/tape.h"
#include "live.h"
#include "page/browser.h"
#include "page/page.h"
#include "t/unit/tap.h"

static struct event_base *base;
static struct live_browser chrome;
static struct live_site site;
static struct browser *browser;

static struct {
	bool done; /* the callback waited for came */
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
} seen;

static void
wait_done(void)
{
	while (!seen.done)
		event_base_loop(base, EVLOOP_ONCE);
	seen.done = false;
}

static void
on_ready(struct browser *b, const char *product, const char *why, void *ctx)
{
	seen.ready = product != NULL;
	seen.done = true;
	printf("# %s\n", product != NULL ? product : why);
}

static void
on_gone(struct browser *b, const char *why, void *ctx)
{
	seen.gone++;
	seen.done = true;
}

static void
on_warning(struct browser *b, const char *text, void *ctx)
{
	seen.warnings++;
	printf("# warning: %s\n", text);
}

static void
on_stuck(struct browser *b, const char *why, void *ctx)
{
	seen.stuck++;
}

static const struct browser_ops ops = { on_ready, on_gone, on_warning,
	on_stuck };

static void
on_page(struct page *p, enum page_status status, const char *message, void *arg)
{
	seen.status = status;
	strlcpy(seen.message, message, sizeof(seen.message));
	seen.done = true;
}

static void
on_nav(struct page *p, const struct page_nav *nav, void *arg)
{
	if (arg != NULL)
		--*(int *)arg;
	seen.status = nav->status;
	strlcpy(seen.message, nav->message, sizeof(seen.message));
	strlcpy(seen.url, nav->final_url, sizeof(seen.url));
	strlcpy(seen.mime, nav->mime, sizeof(seen.mime));
	seen.http_status = nav->http_status;
	seen.redirected = nav->redirected;
	seen.partial = nav->partial;
	seen.elapsed_ms = nav->elapsed_ms;
	seen.done = true;
}

static void
on_result(struct page *p, const struct page_result *r, void *arg)
{
	seen.status = r->status;
	strlcpy(seen.message, r->message, sizeof(seen.message));
	free(seen.json);
	seen.json = r->json != NULL ? strndup(r->json, r->len) : NULL;
	seen.json_len = r->len;
	seen.done = true;
}

static struct page *
open_page(void)
{
	struct page *p = page_open(browser, on_page, NULL);

	if (p == NULL)
		return NULL;
	wait_done();
	return seen.status == PAGE_OK ? p : NULL;
}

static const char *
at(const char *path)
{
	static char url[256];

	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", site.port, path);
	return url;
}

static enum page_status
go_url(struct page *p, const char *url, int timeout_ms)
{
	struct page_nav_options opts = { .timeout_ms = timeout_ms };

	if (!page_navigate(p, url, &opts, on_nav, NULL))
		return PAGE__MAX;
	wait_done();
	return seen.status;
}

static enum page_status
go(struct page *p, const char *path, int timeout_ms)
{
	return go_url(p, at(path), timeout_ms);
}

static enum page_status
run(struct page *p, const char *source, const char *args, int timeout_ms)
{
	if (!page_eval(p, source, strlen(source), args,
		args != NULL ? strlen(args) : 0, timeout_ms, on_result, NULL))
		return PAGE__MAX;
	wait_done();
	return seen.status;
}

static void
shut(struct page *p)
{
	page_close(p, on_page, NULL);
	wait_done();
}

/* The JSON text of a member reached by names, compared as a string. */
static bool
json_is(const char *path, const char *want)
{
	struct json_doc *doc = NULL;
	struct json_val v;
	char copy[128], *save, *word, got[256] = "";
	bool same = false;

	if (seen.json == NULL ||
	    !json_parse(
		(const uint8_t *)seen.json, seen.json_len, NULL, 0, &doc, NULL))
		return false;
	v = json_root(doc);
	strlcpy(copy, path, sizeof(copy));
	for (word = strtok_r(copy, ".", &save); word != NULL;
	     word = strtok_r(NULL, ".", &save))
		v = json_is_array(v)
		    ? json_arr_get(v, (size_t)(int)strtol(word, NULL, 10))
		    : json_obj_get(v, word);
	if (json_is_string(v))
		same = json_str_eq(v, want);
	else {
		const uint8_t *raw;
		size_t len;

		if (json_raw(v, &raw, &len))
			snprintf(got, sizeof(got), "%.*s", (int)len,
			    (const char *)raw);
		same = strcmp(got, want) == 0;
	}
	if (!same)
		printf("# %s: %s\n", path, got);
	json_doc_free(&doc);
	return same;
}

static void
test_navigate(struct page *p)
{
	is_int(go(p, "/corpus/1", 0), PAGE_OK, "an article");
	is_int(seen.http_status, 200, "status 200");
	is_str(seen.mime, "text/html", "its type");
	ok(!seen.redirected && !seen.partial, "neither redirected nor partial");
	is_int(go(p, "/missing", 0), PAGE_OK, "an error page is a page");
	is_int(seen.http_status, 404, "with status 404");
	is_int(go(p, "/error", 0), PAGE_OK, "and another");
	is_int(seen.http_status, 500, "with status 500");
	is_int(go(p, "/redirect/3", 0), PAGE_OK, "redirects are followed");
	ok(seen.redirected && strstr(seen.url, "/article-harbour") != NULL,
	    "and seen: %s", seen.url);
	is_int(go(p, "/redirect-loop", 0), PAGE_NAVIGATION_FAILED,
	    "a loop of them fails");
	is_str(seen.message, "net::ERR_TOO_MANY_REDIRECTS", "with its name");
	is_int(go(p, "/empty", 0), PAGE_NAVIGATION_FAILED, "204");
	is_int(go(p, "/download", 0), PAGE_DOWNLOAD, "a file");
	is_int(go(p, "/slow", 0), PAGE_OK, "slow headers");
	ok(seen.elapsed_ms >= 1400, "took their time");
	is_int(go_url(p, "http://127.0.0.1:9/", 0), PAGE_NAVIGATION_FAILED,
	    "nobody listens");
	is_int(go_url(p, "file:///etc/passwd", 0), PAGE_BAD_URL, "file:");
	is_int(go_url(p, "view-source:http://127.0.0.1/", 0), PAGE_BAD_URL,
	    "view-source:");
	is_int(go_url(p, "http://[x/", 0), PAGE_BAD_URL, "no address at all");
	is_int(go(p, "/never-headers", 1000), PAGE_NAVIGATION_TIMEOUT,
	    "no answer at all");
	ok(seen.elapsed_ms < 2500, "in time (%d ms)", seen.elapsed_ms);
	ok(page_is_open(p), "and the tab lives on");
	is_int(go(p, "/corpus/2", 0), PAGE_OK, "it does");
	is_int(go(p, "/corpus/2#there", 0), PAGE_OK, "a fragment of it");
	is_int(go(p, "/corpus/2#there", 0), PAGE_OK, "the same once more");
}

static void
test_stable(struct page *p)
{
	is_int(go(p, "/never", 0), PAGE_OK, "a script that never arrives");
	ok(seen.partial && seen.elapsed_ms < 6500, "is not waited for (%d ms)",
	    seen.elapsed_ms);
	is_int(go(p, "/mutate", 0), PAGE_OK, "a page that never rests");
	ok(seen.elapsed_ms >= 2900 && seen.elapsed_ms < 6000,
	    "gets 3 s (%d ms)", seen.elapsed_ms);
	is_int(go(p, "/late", 0), PAGE_OK, "text that comes late");
	run(p, "() => document.querySelectorAll('#content p').length > 1", NULL,
	    0);
	is_str(seen.json, "true", "is there when the page is stable");
	is_int(go(p, "/trickle?ms=5", 0), PAGE_OK, "byte by byte");
	is_int(go(p, "/popup", 0), PAGE_OK, "a storm of pop-ups");
	ok(page_counters(p)->popups >= 20, "all of them closed");
	is_int(go(p, "/alert", 0), PAGE_OK, "an alert");
	is_int(go(p, "/alert-loop", 0), PAGE_OK, "alerts without end");
	is_int(go(p, "/beforeunload", 0), PAGE_OK, "a page that will not go");
	is_int(go(p, "/corpus/3", 0), PAGE_OK, "goes");
	is_int(go_url(p,
		   "data:text/html,<p>a<script>location.href='data:text/plain,"
		   "there'</script>",
		   2000),
	    PAGE_OK, "a page that goes where it may not");
	page_set_scripts(p, false);
	is_int(go(p, "/mutate", 0), PAGE_OK, "scripts off");
	ok(seen.elapsed_ms < 2500, "nothing changes (%d ms)", seen.elapsed_ms);
	page_set_scripts(p, true);
	page_wait_stable(p, 0, on_nav, NULL);
	wait_done();
	is_int(seen.status, PAGE_OK, "wait until stable");
}

static void
test_eval(struct page *p)
{
	go(p, "/corpus/1", 0);
	run(p, "(a) => a.x + 1", "{\"x\":41}", 0);
	is_str(seen.json, "42", "an argument and a value");
	run(p, "async () => ({s: 'a\"\\ud800', n: null})", NULL, 0);
	is_str(seen.json, "{\"s\":\"a\\\"\\ud800\",\"n\":null}",
	    "an async object, undecoded");
	run(p, "() => undefined", NULL, 0);
	is_str(seen.json, "null", "undefined is null");
	is_int(run(p, "() => { throw new Error('oops') }", NULL, 0),
	    PAGE_SCRIPT_FAILED, "a throw");
	ok(strstr(seen.message, "oops") != NULL, "with its words");
	is_int(run(p, "not javascript", NULL, 0), PAGE_SCRIPT_FAILED,
	    "no JavaScript");
	run(p, "() => { globalThis.mine = 1; return 1 }", NULL, 0);
	run(p, "() => typeof globalThis.mine", NULL, 0);
	is_str(seen.json, "\"number\"", "one world for all scripts");
	is_int(run(p, "() => { while (true); }", NULL, 500), PAGE_TIMEOUT,
	    "a loop");
	is_int(run(p, "() => new Promise(() => 0)", NULL, 300), PAGE_TIMEOUT,
	    "a promise that is not kept");
	ok(page_is_open(p), "the tab was saved");
	is_int(run(p, "() => 1", NULL, 0), PAGE_OK, "and answers");
	ok(!page_eval(p, "", 0, NULL, 0, 0, on_result, NULL) ||
		!page_navigate(p, at("/corpus/1"), NULL, on_nav, NULL),
	    "one operation at a time");
	wait_done();
}

static void
test_hang(void)
{
	struct page *p = open_page();

	is_int(
	    go(p, "/spin", 2000), PAGE_NAVIGATION_TIMEOUT, "a page that spins");
	ok(page_status_needs_fresh(seen.status), "wants a fresh tab");
	shut(p);
	p = open_page();
	is_int(go(p, "/corpus/5", 0), PAGE_OK, "which works");
	page_navigate(p, at("/never-headers"), NULL, on_nav, NULL);
	page_close(p, on_page, NULL);
	is_int(seen.status, PAGE_CLOSED, "closed in the middle: told at once");
	seen.done = false;
	wait_done();
	is_int(seen.stuck, 0, "nothing was stuck");
	p = page_open(browser, on_page, NULL);
	page_close(p, NULL, NULL);
	wait_done();
	is_int(seen.status, PAGE_CLOSED, "closed while it opens");
}

/* Kills the renderers: those of the browser's children that say so. */
static void
kill_renderers(void)
{
	DIR *proc = opendir("/proc");
	char path[300], line[4096];
	struct dirent *e;
	size_t n;
	FILE *f;

	while (proc != NULL && (e = readdir(proc)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		if ((int)strtol(e->d_name, NULL, 10) <= 0 ||
		    (f = fopen(path, "r")) == NULL)
			continue;
		n = fread(line, 1, sizeof(line) - 1, f);
		fclose(f);
		for (size_t i = 0; i < n; i++)
			line[i] = line[i] == '\0' ? ' ' : line[i];
		line[n] = '\0';
		if (strstr(line, "--type=renderer") != NULL &&
		    getpgid((int)strtol(e->d_name, NULL, 10)) == chrome.pid)
			kill((int)strtol(e->d_name, NULL, 10), SIGKILL);
	}
	if (proc != NULL)
		closedir(proc);
}

static void
test_crash(void)
{
	struct page *p = open_page();

	go(p, "/corpus/1", 0);
	page_eval(p, "() => new Promise(() => 0)", 26, NULL, 0, 20000,
	    on_result, NULL);
	for (int i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	kill_renderers();
	wait_done();
	is_int(seen.status, PAGE_CRASHED, "a crash ends what waits");
	is_str(page_status_error(seen.status), "PAGE_CRASHED", "by its name");
	ok(!page_is_open(p), "the tab is lost");
	is_int(go(p, "/corpus/1", 0), PAGE__MAX, "and refuses work");
	shut(p);
	p = open_page();
	ok(p != NULL && go(p, "/corpus/1", 0) == PAGE_OK, "a fresh one works");
	shut(p);
}

static void
test_window(void)
{
	struct page *p[3];
	int open = 0;

	for (int i = 0; i < 3; i++)
		p[i] = open_page();
	for (int i = 0; i < 3; i++) {
		open++;
		page_navigate(p[i], at("/late"), NULL, on_nav, &open);
	}
	while (open > 0)
		wait_done();
	ok(seen.status == PAGE_OK && seen.elapsed_ms < 3000,
	    "three tabs at once all get their frames (%d ms)", seen.elapsed_ms);
	for (int i = 0; i < 3; i++)
		shut(p[i]);
}

static void
extract(struct page *p, struct page_extract_options opts)
{
	page_extract(p, &opts, on_result, NULL);
	wait_done();
}

static void
test_extract(struct page *p)
{
	struct page_extract_options all = { .page_info = true,
		.content = true,
		.readability = page_has_readability() };

	go(p, "/corpus/1", 0);
	extract(p, all);
	is_int(seen.status, PAGE_OK, "extract");
	ok(json_is("pageInfo.type", "article"), "an article is an article");
	ok(json_is("pageInfo.elements.0.role", "link"), "elements have roles");
	ok(json_is("pageInfo.truncated", "true"), "50 of them by default");
	ok(json_is("content.sections.0.level", "1"), "sections by headings");
	ok(json_is("content.truncated", "true"), "4000 characters of text");
	if (page_has_readability())
		ok(strstr(seen.json, "\"readability\":{") != NULL,
		    "and the article alone");
	else
		tap_skip("the article alone", "built without Readability");
	go_url(p,
	    "data:text/html,<title>Anmelden</title><form><label>Benutzer"
	    "<input%20name=u%20autocomplete=username%20value=anna></label>"
	    "<input%20type=password%20value=geheim%20aria-label=Kennwort>"
	    "<button>Anmelden</button></form><div%20id=h></div><script>"
	    "h.attachShadow({mode:'open'}).innerHTML='<button%20disabled>"
	    "Im%20Schatten</button>'</script>",
	    0);
	extract(p, (struct page_extract_options){ .page_info = true });
	ok(json_is("pageInfo.type", "login"), "a login page");
	ok(json_is("pageInfo.elements.0.name", "Benutzer"), "name by label");
	ok(json_is("pageInfo.elements.0.value", "anna"), "value of a field");
	ok(json_is("pageInfo.elements.1.name", "Kennwort"), "name by aria");
	ok(json_is("pageInfo.elements.1.value", ""), "none of a password");
	ok(json_is("pageInfo.elements.3.name", "Im Schatten"), "in a shadow");
	ok(json_is("pageInfo.elements.3.disabled", "true"), "with its state");
	ok(json_is("content", ""), "only what was asked for");
	go_url(p, "data:text/html;charset=utf-8,<p>\xf0\x9f\x98\x80", 0);
	extract(p,
	    (struct page_extract_options){
		.content = true, .max_content_length = 1 });
	ok(json_is("content.sections", "[]") ||
		strstr(seen.json, "ud83d") == NULL,
	    "no half of a character");
}

struct kind {
	const char *type;
	const char *html;
};

/* Small pages of each kind, in other languages than those of the demo. */
static const struct kind kinds[] = {
	{ "login",
	    "<title>%E7%99%BB%E5%BD%95</title><form><input name=email>"
	    "<input type=password><button>%E7%99%BB%E5%BD%95</button>" },
	{ "register",
	    "<title>Cr%C3%A9er un compte</title><form><input name=nom><input "
	    "type=email><input type=password autocomplete=new-password><input "
	    "type=password><button>S'inscrire</button>" },
	{ "search_engine",
	    "<title>Suche</title><form role=search><input type="
	    "search name=q><button>Suchen</button></form>" },
	{ "form",
	    "<title>Contacto</title><form><input aria-label=Nombre><input"
	    " type=email><input type=tel><textarea></textarea><button>"
	    "Enviar</button></form>" },
	{ "settings",
	    "<title>Einstellungen</title><h1>Einstellungen</h1><form><label>"
	    "<input type=checkbox>A</label><label><input type=checkbox>B"
	    "</label><label><input type=checkbox>C</label><select><option>x"
	    "</select><button>Speichern</button></form>" },
	{ "checkout",
	    "<title>Kasse</title><h1>Zahlung</h1><form><input autocomplete="
	    "cc-number><input autocomplete=cc-exp><input autocomplete="
	    "postal-code><input autocomplete=street-address><button>Bezahlen"
	    "</button></form>" },
	{ "email_compose",
	    "<title>Neue Nachricht</title><form><input name=to><input name="
	    "subject aria-label=Betreff><textarea></textarea><button>Senden"
	    "</button></form>" },
	{ "unknown", "<p>Hello." },
};

static const struct {
	const char *path;
	const char *type;
} demo_kinds[] = {
	{ "/login", "login" },
	{ "/register", "register" },
	{ "/search", "search_engine" },
	{ "/results", "search_results" },
	{ "/article-ar", "article" },
	{ "/article-ja", "article" },
	{ "/news", "list" },
	{ "/shop", "list" },
	{ "/mail/inbox", "email_inbox" },
	{ "/mail/compose", "email_compose" },
	{ "/dashboard", "dashboard" },
	{ "/settings", "settings" },
	{ "/checkout", "checkout" },
	{ "/missing", "unknown" },
};

static void
test_demo_kinds(struct page *p)
{
	for (size_t i = 0; i < sizeof(demo_kinds) / sizeof(demo_kinds[0]);
	     i++) {
		go(p, demo_kinds[i].path, 0);
		extract(p, (struct page_extract_options){ .page_info = true });
		ok(json_is("pageInfo.type", demo_kinds[i].type), "%s: %s",
		    demo_kinds[i].path, demo_kinds[i].type);
	}
	ok(strstr(seen.json, "\"regions\":[{") != NULL, "regions");
	go(p, "/shop", 0);
	extract(p,
	    (struct page_extract_options){
		.page_info = true, .max_elements = 1000 });
	ok(json_is("pageInfo.elements.999.region", "main"), "1000 elements");
	ok(json_is("pageInfo.elements.1000", ""), "and no more");
}

static void
test_kinds(struct page *p)
{
	char url[2048];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = (size_t)snprintf(
		    url, sizeof(url), "data:text/html;charset=utf-8,");

		/* Spaces are written %20: an address has none. */
		for (const char *c = kinds[i].html; *c != '\0'; c++)
			n += (size_t)snprintf(url + n, sizeof(url) - n,
			    *c == ' ' ? "%%20" : "%c", *c);
		go_url(p, url, 0);
		extract(p, (struct page_extract_options){ .page_info = true });
		ok(json_is("pageInfo.type", kinds[i].type), "a page of kind %s",
		    kinds[i].type);
	}
}

static void
test_gone(void)
{
	struct page *p = open_page();

	page_navigate(p, at("/never-headers"), NULL, on_nav, NULL);
	for (int i = 0; i < 20; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	kill(-chrome.pid, SIGKILL);
	wait_done();
	is_int(seen.status, PAGE_GONE, "the browser dies: the page is told");
	while (seen.gone == 0)
		wait_done();
	is_int(seen.gone, 1, "and the worker, once");
	ok(page_open(browser, on_page, NULL) == NULL, "no tabs any more");
	seen.done = false;
	shut(p);
	is_int(seen.status, PAGE_CLOSED, "closing works as ever");
}

int
main(void)
{
	const struct browser_options options = { .allow_data_urls = true };
	const char *why = "";
	struct page *p;

	if (!live_site_start(&site, NULL, &why) ||
	    !live_browser_start(&chrome, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	base = event_base_new();
	browser = browser_new(
	    base, chrome.read_fd, chrome.write_fd, &options, &ops, NULL);
	wait_done();
	ok(seen.ready, "the browser answers");
	p = open_page();
	ok(p != NULL && page_is_open(p), "a tab opens");
	if (p != NULL) {
		test_navigate(p);
		test_stable(p);
		test_eval(p);
		test_extract(p);
		test_kinds(p);
		test_demo_kinds(p);
		test_hang();
		test_crash();
		test_window();
		test_gone();
	}
	free(seen.json);
	browser_free(&browser);
	event_base_free(base);
	live_browser_stop(&chrome);
	live_site_stop(&site);
	return done_testing();
}
