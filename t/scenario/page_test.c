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

#include "t/unit/tap.h"
#include "visit.h"

static void
test_navigate(struct page *p)
{
	is_int(visit_go(p, "/corpus/1", 0), PAGE_OK, "an article");
	is_int(visit.http_status, 200, "status 200");
	is_str(visit.mime, "text/html", "its type");
	ok(!visit.redirected && !visit.partial,
	    "neither redirected nor partial");
	is_int(visit_go(p, "/missing", 0), PAGE_OK, "an error page is a page");
	is_int(visit.http_status, 404, "with status 404");
	is_int(visit_go(p, "/error", 0), PAGE_OK, "and another");
	is_int(visit.http_status, 500, "with status 500");
	is_int(
	    visit_go(p, "/redirect/3", 0), PAGE_OK, "redirects are followed");
	ok(visit.redirected && strstr(visit.url, "/article-harbour") != NULL,
	    "and seen: %s", visit.url);
	is_int(visit_go(p, "/redirect-loop", 0), PAGE_NAVIGATION_FAILED,
	    "a loop of them fails");
	is_str(visit.message,
	    "the server redirects in a circle (net::ERR_TOO_MANY_REDIRECTS)",
	    "and says why");
	is_int(visit_go(p, "/empty", 0), PAGE_NAVIGATION_FAILED, "204");
	is_int(visit_go(p, "/download", 0), PAGE_DOWNLOAD, "a file");
	is_int(visit_go(p, "/slow", 0), PAGE_OK, "slow headers");
	ok(visit.elapsed_ms >= 1400, "took their time");
	is_int(visit_url(p, "http://127.0.0.1:9/", 0), PAGE_NAVIGATION_FAILED,
	    "nobody listens");
	is_int(visit_url(p, "file:///etc/passwd", 0), PAGE_BAD_URL, "file:");
	is_int(visit_url(p, "view-source:http://127.0.0.1/", 0), PAGE_BAD_URL,
	    "view-source:");
	is_int(
	    visit_url(p, "http://[x/", 0), PAGE_BAD_URL, "no address at all");
	is_int(visit_go(p, "/never-headers", 1000), PAGE_NAVIGATION_TIMEOUT,
	    "no answer at all");
	ok(visit.elapsed_ms < 2500, "in time (%d ms)", visit.elapsed_ms);
	ok(page_is_open(p), "and the tab lives on");
	is_int(visit_go(p, "/corpus/2", 0), PAGE_OK, "it does");
	is_int(visit_go(p, "/corpus/2#there", 0), PAGE_OK, "a fragment of it");
	is_int(
	    visit_go(p, "/corpus/2#there", 0), PAGE_OK, "the same once more");
}

static void
test_stable(struct page *p)
{
	is_int(
	    visit_go(p, "/never", 0), PAGE_OK, "a script that never arrives");
	ok(visit.partial && visit.elapsed_ms < 6500,
	    "is not waited for (%d ms)", visit.elapsed_ms);
	is_int(visit_go(p, "/mutate", 0), PAGE_OK, "a page that never rests");
	ok(visit.elapsed_ms >= 2900 && visit.elapsed_ms < 6000,
	    "gets 3 s (%d ms)", visit.elapsed_ms);
	is_int(visit_go(p, "/late", 0), PAGE_OK, "text that comes late");
	visit_eval(p,
	    "() => document.querySelectorAll('#content p').length > 1", NULL,
	    0);
	is_str(visit.json, "true", "is there when the page is stable");
	is_int(visit_go(p, "/trickle?ms=5", 0), PAGE_OK, "byte by byte");
	is_int(visit_go(p, "/popup", 0), PAGE_OK, "a storm of pop-ups");
	ok(page_counters(p)->popups >= 20, "all of them closed");
	is_int(visit_go(p, "/alert", 0), PAGE_OK, "an alert");
	is_int(visit_go(p, "/alert-loop", 0), PAGE_OK, "alerts without end");
	is_int(visit_go(p, "/beforeunload", 0), PAGE_OK,
	    "a page that will not go");
	is_int(visit_go(p, "/corpus/3", 0), PAGE_OK, "goes");
	is_int(visit_url(p,
		   "data:text/html,<p>a<script>location.href='data:text/plain,"
		   "there'</script>",
		   2000),
	    PAGE_OK, "a page that goes where it may not");
	page_set_scripts(p, false);
	is_int(visit_go(p, "/mutate", 0), PAGE_OK, "scripts off");
	ok(visit.elapsed_ms < 2500, "nothing changes (%d ms)",
	    visit.elapsed_ms);
	page_set_scripts(p, true);
	page_wait_stable(p, NULL, visit_on_nav, NULL);
	visit_wait();
	is_int(visit.status, PAGE_OK, "wait until stable");
}

static void
test_eval(struct page *p)
{
	visit_go(p, "/corpus/1", 0);
	visit_eval(p, "(a) => a.x + 1", "{\"x\":41}", 0);
	is_str(visit.json, "42", "an argument and a value");
	visit_eval(p, "async () => ({s: 'a\"\\ud800', n: null})", NULL, 0);
	is_str(visit.json, "{\"s\":\"a\\\"\\ud800\",\"n\":null}",
	    "an async object, undecoded");
	visit_eval(p, "() => undefined", NULL, 0);
	is_str(visit.json, "null", "undefined is null");
	is_int(visit_eval(p, "() => { throw new Error('oops') }", NULL, 0),
	    PAGE_SCRIPT_FAILED, "a throw");
	ok(strstr(visit.message, "oops") != NULL, "with its words");
	is_int(visit_eval(
		   p, "async () => { throw new DOMException('no') }", NULL, 0),
	    PAGE_SCRIPT_FAILED, "a promise that is broken with an object");
	is_int(visit_eval(p, "() => { throw {a: [1]} }", NULL, 0),
	    PAGE_SCRIPT_FAILED, "or a throw of any other");
	is_int(visit_eval(p, "() => ({exceptionDetails: {}})", NULL, 0),
	    PAGE_OK, "a value that only looks like it");
	is_str(visit.json, "{\"exceptionDetails\":{}}", "is one");
	is_int(visit_eval(p, "not javascript", NULL, 0), PAGE_SCRIPT_FAILED,
	    "no JavaScript");
	visit_eval(p, "() => { globalThis.mine = 1; return 1 }", NULL, 0);
	visit_eval(p, "() => typeof globalThis.mine", NULL, 0);
	is_str(visit.json, "\"number\"", "one world for all scripts");
	is_int(visit_eval(p, "() => { while (true); }", NULL, 500),
	    PAGE_TIMEOUT, "a loop");
	is_int(visit_eval(p, "() => new Promise(() => 0)", NULL, 300),
	    PAGE_TIMEOUT, "a promise that is not kept");
	ok(page_is_open(p), "the tab was saved");
	is_int(visit_eval(p, "() => 1", NULL, 0), PAGE_OK, "and answers");
	ok(!page_eval(p, "", 0, NULL, 0, 0, visit_on_result, NULL) ||
		!page_navigate(
		    p, visit_at("/corpus/1"), NULL, visit_on_nav, NULL),
	    "one operation at a time");
	visit_wait();
}

static void
test_hang(void)
{
	struct page *p = visit_open();

	is_int(visit_go(p, "/spin", 2000), PAGE_NAVIGATION_TIMEOUT,
	    "a page that spins");
	ok(page_status_needs_fresh(visit.status), "wants a fresh tab");
	visit_shut(p);
	p = visit_open();
	is_int(visit_go(p, "/corpus/5", 0), PAGE_OK, "which works");
	page_navigate(p, visit_at("/never-headers"), NULL, visit_on_nav, NULL);
	page_close(p, visit_on_page, NULL);
	is_int(visit.status, PAGE_CLOSED, "closed in the middle: told at once");
	visit.done = false;
	visit_wait();
	is_int(visit.stuck, 0, "nothing was stuck");
	p = page_open(visit.browser, visit_on_page, NULL);
	page_close(p, NULL, NULL);
	visit_wait();
	is_int(visit.status, PAGE_CLOSED, "closed while it opens");
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
		    getpgid((int)strtol(e->d_name, NULL, 10)) ==
			visit.chrome.pid)
			kill((int)strtol(e->d_name, NULL, 10), SIGKILL);
	}
	if (proc != NULL)
		closedir(proc);
}

static void
test_crash(void)
{
	struct page *p = visit_open();

	visit_go(p, "/corpus/1", 0);
	page_eval(p, "() => new Promise(() => 0)", 26, NULL, 0, 20000,
	    visit_on_result, NULL);
	for (int i = 0; i < 20; i++)
		event_base_loop(visit.base, EVLOOP_NONBLOCK);
	kill_renderers();
	visit_wait();
	is_int(visit.status, PAGE_CRASHED, "a crash ends what waits");
	is_str(page_status_error(visit.status), "PAGE_CRASHED", "by its name");
	ok(!page_is_open(p), "the tab is lost");
	is_int(visit_go(p, "/corpus/1", 0), PAGE__MAX, "and refuses work");
	visit_shut(p);
	/*
	 * All renderers were killed, also the one that the browser had ready
	 * for the next tab; it may find out when it opens that tab.
	 */
	p = visit_open();
	if (p == NULL)
		p = visit_open();
	ok(p != NULL && visit_go(p, "/corpus/1", 0) == PAGE_OK,
	    "a fresh one works");
	visit_shut(p);
}

static void
test_window(void)
{
	struct page *p[3];
	int open = 0;

	for (int i = 0; i < 3; i++)
		p[i] = visit_open();
	for (int i = 0; i < 3; i++) {
		open++;
		page_navigate(
		    p[i], visit_at("/late"), NULL, visit_on_nav, &open);
	}
	while (open > 0)
		visit_wait();
	ok(visit.status == PAGE_OK && visit.elapsed_ms < 3000,
	    "three tabs at once all get their frames (%d ms)",
	    visit.elapsed_ms);
	for (int i = 0; i < 3; i++)
		visit_shut(p[i]);
}

static void
test_extract(struct page *p)
{
	struct page_extract_options all = { .page_info = true,
		.content = true,
		.readability = page_has_readability() };

	visit_go(p, "/corpus/1", 0);
	visit_extract(p, all);
	is_int(visit.status, PAGE_OK, "extract");
	ok(visit_json_is("pageInfo.type", "article"),
	    "an article is an article");
	ok(visit_json_is("pageInfo.elements.0.role", "link"),
	    "elements have roles");
	ok(visit_json_is("pageInfo.truncated", "true"),
	    "50 of them by default");
	ok(visit_json_is("content.sections.0.level", "1"),
	    "sections by headings");
	ok(visit_json_is("content.truncated", "true"),
	    "4000 characters of text");
	if (page_has_readability())
		ok(strstr(visit.json, "\"readability\":{") != NULL,
		    "and the article alone");
	else
		tap_skip("the article alone", "built without Readability");
	visit_url(p,
	    "data:text/html,<title>Anmelden</title><form><label>Benutzer"
	    "<input%20name=u%20autocomplete=username%20value=anna></label>"
	    "<input%20type=password%20value=geheim%20aria-label=Kennwort>"
	    "<button>Anmelden</button></form><div%20id=h></div><script>"
	    "h.attachShadow({mode:'open'}).innerHTML='<button%20disabled>"
	    "Im%20Schatten</button>'</script>",
	    0);
	visit_extract(p, (struct page_extract_options){ .page_info = true });
	ok(visit_json_is("pageInfo.type", "login"), "a login page");
	ok(visit_json_is("pageInfo.elements.0.name", "Benutzer"),
	    "name by label");
	ok(visit_json_is("pageInfo.elements.0.value", "anna"),
	    "value of a field");
	ok(visit_json_is("pageInfo.elements.1.name", "Kennwort"),
	    "name by aria");
	ok(visit_json_is("pageInfo.elements.1.value", ""),
	    "none of a password");
	ok(visit_json_is("pageInfo.elements.3.name", "Im Schatten"),
	    "in a shadow");
	ok(visit_json_is("pageInfo.elements.3.disabled", "true"),
	    "with its state");
	ok(visit_json_is("content", ""), "only what was asked for");
	visit_url(p, "data:text/html;charset=utf-8,<p>\xf0\x9f\x98\x80", 0);
	visit_extract(p,
	    (struct page_extract_options){
		.content = true, .max_content_length = 1 });
	ok(visit_json_is("content.sections", "[]") ||
		strstr(visit.json, "ud83d") == NULL,
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
		visit_go(p, demo_kinds[i].path, 0);
		visit_extract(
		    p, (struct page_extract_options){ .page_info = true });
		ok(visit_json_is("pageInfo.type", demo_kinds[i].type), "%s: %s",
		    demo_kinds[i].path, demo_kinds[i].type);
	}
	ok(strstr(visit.json, "\"regions\":[{") != NULL, "regions");
	visit_go(p, "/shop", 0);
	visit_extract(p,
	    (struct page_extract_options){
		.page_info = true, .max_elements = 1000 });
	ok(visit_json_is("pageInfo.elements.999.region", "main"),
	    "1000 elements");
	ok(visit_json_is("pageInfo.elements.1000", ""), "and no more");
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
		visit_url(p, url, 0);
		visit_extract(
		    p, (struct page_extract_options){ .page_info = true });
		ok(visit_json_is("pageInfo.type", kinds[i].type),
		    "a page of kind %s", kinds[i].type);
	}
}

static void
test_gone(void)
{
	struct page *p = visit_open();

	page_navigate(p, visit_at("/never-headers"), NULL, visit_on_nav, NULL);
	for (int i = 0; i < 20; i++)
		event_base_loop(visit.base, EVLOOP_NONBLOCK);
	kill(-visit.chrome.pid, SIGKILL);
	visit_wait();
	is_int(visit.status, PAGE_GONE, "the browser dies: the page is told");
	while (visit.gone == 0)
		visit_wait();
	is_int(visit.gone, 1, "and the worker, once");
	ok(page_open(visit.browser, visit_on_page, NULL) == NULL,
	    "no tabs any more");
	visit.done = false;
	visit_shut(p);
	is_int(visit.status, PAGE_CLOSED, "closing works as ever");
}

static void
test_all(struct page *p)
{
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

int
main(void)
{
	return visit_main(LIVE_SHELL, test_all);
}
