/*
 * Addresses of other schemes than the web's: none is opened for a template, no
 * page gets at one by itself in any of the ways there are, and when a browser
 * goes to one all the same, the file is not read and the tab is closed. With
 * the real browsers.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "page/priv.h"
#include "t/unit/tap.h"
#include "visit.h"

#define CANARY "canary-of-pagescheme-test"

static char file_url[128];

static const char *const refused[] = {
	"file:///etc/hostname",
	"FILE:///etc/hostname",
	"file:/etc/hostname",
	"file://localhost/etc/hostname",
	"view-source:file:///etc/hostname",
	"view-source:http://127.0.0.1/",
	"chrome://version",
	"chrome://version/",
	"chrome-untrusted://print/",
	"chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/x",
	"chrome-error://chromewebdata/",
	"chrome-search://local-ntp/",
	"devtools://devtools/bundled/inspector.html",
	"about:version",
	"about:gpu",
	"about:srcdoc",
	"ftp://127.0.0.1/",
	"filesystem:http://127.0.0.1/temporary/x",
	"blob:http://127.0.0.1/00000000-0000-0000-0000-000000000000",
	"javascript:document.title='done'",
	"JavaScript:1",
	"ws://127.0.0.1/",
	"wss://127.0.0.1/",
	"mailto:somebody@example.org",
	"intent://x#Intent;end",
	"content://x",
	"gopher://127.0.0.1/",
	"isolated-app://x/",
	"jar:file:///x!/y",
	"\tfile:///etc/hostname",
	" file:///etc/hostname",
	"fi\nle:///etc/hostname",
	"//etc/hostname",
	"/etc/hostname",
	"etc/hostname",
	"http:",
	"http:///etc/hostname",
	"",
};

/* Which means had success; none shall. */
static const char by_itself[] =
    "async (u) => {"
    "  const got = [], was = location.href;"
    "  const late = () => new Promise((f) => setTimeout(f, 400));"
    "  const tag = (name, set) => new Promise((f) => {"
    "    const e = document.createElement(name);"
    "    e.onload = () => { got.push(name); f(); };"
    "    e.onerror = f; set(e); document.body.append(e); });"
    "  const call = async (name, run) => {"
    "    try { await run(); got.push(name); } catch {} };"
    "  const frame = (name, set) => {"
    "    const e = document.createElement(name);"
    "    set(e); document.body.append(e);"
    "    return () => { const d = e.contentDocument;"
    "      if (d && d.body && d.body.innerText.includes('canary'))"
    "        got.push(name); }; };"
    "  const frames = [frame('iframe', (e) => e.src = u),"
    "    frame('object', (e) => e.data = u),"
    "    frame('iframe', (e) => e.srcdoc ="
    "      `<meta http-equiv=refresh content='0;url=${u}'>`)];"
    "  const blob = (text) => URL.createObjectURL(new Blob([text],"
    "    {type: 'text/javascript'}));"
    "  await Promise.race([late(), Promise.all(["
    "    call('fetch', () => fetch(u)),"
    "    call('no-cors', () => fetch(u, {mode: 'no-cors'})),"
    "    call('xhr', () => new Promise((f, r) => {"
    "      const x = new XMLHttpRequest(); x.open('GET', u);"
    "      x.onload = f; x.onerror = r; x.send(); })),"
    "    call('import', () => import(u)),"
    "    call('worker', () => new Promise((f, r) => {"
    "      const w = new Worker(u); w.onmessage = f; w.onerror = r; })),"
    "    call('importScripts', () => new Promise((f, r) => {"
    "      const w = new Worker(blob(`importScripts('${u}');"
    "        postMessage(1)`)); w.onmessage = f; w.onerror = r; })),"
    "    call('service worker', () => navigator.serviceWorker.register(u)),"
    "    call('events', () => new Promise((f, r) => {"
    "      const s = new EventSource(u); s.onopen = f; s.onerror = r; })),"
    "    tag('img', (e) => e.src = u), tag('script', (e) => e.src = u),"
    "    tag('video', (e) => e.src = u), tag('embed', (e) => e.src = u),"
    "    tag('link', (e) => { e.rel = 'stylesheet'; e.href = u; }),"
    "    tag('link', (e) => { e.rel = 'prefetch'; e.href = u; })])]);"
    "  try { navigator.sendBeacon(u, 'x') && got.push('beacon'); } catch {}"
    "  let w = null; try { w = open(u); } catch {}"
    "  try { location.assign(u); } catch {}"
    "  try { location.href = u; } catch {}"
    "  const a = document.createElement('a'); a.href = u;"
    "  document.body.append(a); a.click();"
    "  a.target = '_blank'; a.click();"
    "  const f = document.createElement('form'); f.action = u;"
    "  document.body.append(f); try { f.submit(); } catch {}"
    "  await late();"
    "  frames.forEach((look) => look());"
    "  if (location.href !== was) got.push('location');"
    "  try { if (w && w.document.body.innerText.includes('canary'))"
    "    got.push('window'); } catch {}"
    "  return got.join(' '); }";

static bool
make_canary(char *path)
{
	int fd = mkstemp(path);
	bool good = fd != -1 && fchmod(fd, 0644) == 0 &&
	    write(fd, CANARY, strlen(CANARY)) == (ssize_t)strlen(CANARY);

	close(fd);
	(void)snprintf(file_url, sizeof(file_url), "file://%s", path);
	return good;
}

static void
test_commands(struct page *p)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		is_int(visit_url(p, refused[i], 0), PAGE_BAD_URL, refused[i]);
	is_int(visit_url(p, file_url, 0), PAGE_BAD_URL, "a file that is there");
}

static void
try_by_itself(struct page *p, const char *url)
{
	char args[256];

	(void)snprintf(args, sizeof(args), "\"%s\"", url);
	if (visit_go(p, "/article", 0) == PAGE_OK &&
	    visit_eval(p, by_itself, args, 8000) == PAGE_OK) {
		is_str(visit.json, "\"\"", url);
		return;
	}
	/* Some it is sent away for, which ends the script. */
	printf("# %s: %s\n", url, visit.message);
	visit_eval(p, "() => location.href", NULL, 0);
	is_str(visit.json, "\"about:blank#blocked\"", url);
}

static void
test_pages(struct page *p)
{
	char source[160];

	try_by_itself(p, file_url);
	(void)snprintf(source, sizeof(source), "view-source:%s", file_url);
	try_by_itself(p, source);
	try_by_itself(p, "chrome://version/");
	try_by_itself(p, "devtools://devtools/bundled/inspector.html");
	try_by_itself(p, "ftp://127.0.0.1/");
	try_by_itself(p, "chrome-untrusted://print/");
	(void)snprintf(source, sizeof(source), "filesystem:%s", visit_at("/x"));
	try_by_itself(p, source);
	ok(page_is_open(p), "the tab is still there");
}

static char said[512];

static void
on_direct(struct cdp *cdp, const struct cdp_reply *r, void *arg)
{
	said[0] = '\0';
	if (r->status == CDP_OK)
		(void)page_member_str(
		    r->result, "errorText", said, sizeof(said));
	else
		strlcpy(said, r->message, sizeof(said));
	visit.done = true;
}

/* As if nothing had looked at the address before. */
static void
go_directly(struct page *p, const char *url)
{
	char params[256];
	struct iovec iov = { params, 0 };

	iov.iov_len =
	    (size_t)snprintf(params, sizeof(params), "{\"url\":\"%s\"}", url);
	cdp_call(browser_cdp(visit.browser), p->session, "Page.navigate", &iov,
	    1, 5000, on_direct, NULL);
	visit_wait();
	printf("# %s: %s\n", url, said);
}

static void
test_fence(struct page *p)
{
	int before = visit.warnings;

	go_directly(p, file_url);
	ok(strstr(said, "ERR_ACCESS_DENIED") != NULL, "no file is read");
	is_int(visit.warnings, before + 1, "which is told");
	is_int(visit_go(p, "/article", 0), PAGE_OK, "the tab goes on");
	visit_eval(
	    p, "() => document.body.innerText.includes('canary')", NULL, 0);
	is_str(visit.json, "false", "without the file");
}

static void
test_full(void)
{
	const char *why;
	struct page *p;

	if (!visit_start(LIVE_FULL, NULL, &why)) {
		printf("# full browser: %s\n", why);
		return;
	}
	p = visit_open();
	if (p != NULL) {
		test_fence(p);
		go_directly(p, "chrome://version/");
		for (int i = 0; i < 20 && page_is_open(p); i++)
			visit_eval(p, "() => 1", NULL, 500);
		ok(!page_is_open(p), "a page of the browser: its tab closes");
	}
	visit_end();
}

int
main(void)
{
	char path[] = "/tmp/pagescheme-XXXXXX";
	const char *why = "";
	struct page *p;

	if (!make_canary(path) || !visit_start(LIVE_SHELL, NULL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		unlink(path);
		return 0;
	}
	p = visit_open();
	ok(p != NULL, "a tab opens");
	if (p != NULL) {
		test_commands(p);
		test_pages(p);
		test_fence(p);
	}
	visit_end();
	test_full();
	unlink(path);
	return done_testing();
}
