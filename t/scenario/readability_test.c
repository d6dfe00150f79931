/*
 * The article text and what is told about the article, of the 130 pages of
 * Mozilla's own test suite, taken with the real browser and scripts off, must
 * be what the suite expects. One page (mathjax) differs for the library itself.
 * Both Chromiums are held to that.
 *
 * White space: the suite's files are indented anew, so between two blocks of
 * text there may be white space that is not in the article, or none where it
 * has some. Nobody sees it there. Within a block, where it parts words, a run
 * of it counts as one space and must be in the same places.
 */

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "common/buf.h"
#include "json/tape.h"
#include "json/writer.h"
#include "live.h"
#include "page/browser.h"
#include "page/page.h"
#include "t/unit/tap.h"

#define PAGES_MAX 200
#define FILE_MAX  ((size_t)8 << 20)

static struct event_base *base;
static struct live_browser chrome;
static struct browser *browser;
static char dir[64];
static char *names[PAGES_MAX];
static int nnames, current, same, same_meta, failed;
static int port;

static void next(struct page *);

static bool
slurp(const char *name, const char *file, struct buf *out)
{
	char path[512], block[65536];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/test-pages/%s/%s", dir, name, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return false;
	while ((n = read(fd, block, sizeof(block))) > 0)
		buf_add(out, block, (size_t)n);
	close(fd);
	return !out->failed;
}

static void
serve(struct evhttp_request *req, void *arg)
{
	const char *slash = strrchr(evhttp_request_get_uri(req), '/');
	struct evbuffer *body = evbuffer_new();
	struct buf b;

	buf_init(&b, FILE_MAX);
	if ((int)strtol(slash + 1, NULL, 10) == current && nnames > 0 &&
	    strncmp(evhttp_request_get_uri(req), "/test/", 6) == 0 &&
	    slurp(names[current], "source.html", &b)) {
		evbuffer_add(body, b.data, b.len);
		evhttp_add_header(evhttp_request_get_output_headers(req),
		    "Content-Type", "text/html; charset=utf-8");
		evhttp_send_reply(req, 200, "OK", body);
	} else
		evhttp_send_reply(req, 404, "Not Found", body);
	evbuffer_free(body);
	buf_clear(&b);
}

static void
fail(struct page *p, const char *why)
{
	printf("# %s: %s\n", names[current], why);
	failed++;
	current++;
	next(p);
}

static void
on_compared(struct page *p, const struct page_result *r, void *arg)
{
	struct json_doc *doc = NULL;
	bool text = false, meta = false;
	char why[1024] = "";

	if (r->status != PAGE_OK ||
	    !json_parse(
		(const uint8_t *)r->json, r->len, NULL, 0, &doc, NULL)) {
		fail(p, r->message);
		return;
	}
	json_get_bool(json_obj_get(json_root(doc), "text"), &text);
	json_get_bool(json_obj_get(json_root(doc), "meta"), &meta);
	same += text ? 1 : 0;
	same_meta += meta ? 1 : 0;
	if (!text) {
		json_str_copy(
		    json_obj_get(json_root(doc), "where"), why, sizeof(why));
		printf("# %s: text differs: %s\n", names[current], why);
	}
	if (!meta) {
		json_str_copy(
		    json_obj_get(json_root(doc), "odd"), why, sizeof(why));
		printf("# %s: %s\n", names[current], why);
	}
	json_doc_free(&doc);
	current++;
	next(p);
}

/*
 * Segments of text between the borders of blocks, each with single spaces; the
 * article must be one after the other, with or without a space between them.
 */
static const char compare[] =
    "(a) => {"
    " const blocks = new Set('address article aside blockquote body br"
    " caption center dd details dialog div dl dt embed fieldset figcaption"
    " figure font footer form h1 h2 h3 h4 h5 h6 header hr iframe img li main"
    " nav noscript object ol p picture pre section source summary table tbody"
    " td tfoot th thead tr ul video audio svg canvas'.split(' '));"
    " const doc = new DOMParser().parseFromString(a.want, 'text/html');"
    " let marked = '';"
    " const walk = (node) => {"
    "  for (const n of node.childNodes) {"
    "   const mark = blocks.has(n.localName) ? '\\x00' : '';"
    "   if (n.nodeType === 3) marked += n.data;"
    "   else { marked += mark; walk(n); marked += mark; }"
    "  }"
    " };"
    " walk(doc.body);"
    " const single = (t) => t.replace(/\\s+/g, ' ').trim();"
    " const got = a.got.readability || {text: ''}, text = single(got.text);"
    " let at = 0, same = true, where = '';"
    " for (const part of marked.split('\\x00').map(single)) {"
    "  if (part === '') continue;"
    "  if (text[at] === ' ') at++;"
    "  if (!text.startsWith(part, at)) {"
    "   let k = 0; while (part[k] === text[at + k]) k++;"
    "   where = part.slice(Math.max(0, k - 30), k + 20) + ' <> ' +"
    "    text.slice(Math.max(0, at + k - 30), at + k + 20);"
    "   same = false; break;"
    "  }"
    "  at += part.length;"
    " }"
    " if (same && at !== text.length) { same = false;"
    "  where = 'more: ' + text.slice(at, at + 50); }"
    " const odd = ['title', 'byline', 'dir', 'lang', 'excerpt', 'siteName',"
    "  'publishedTime'].filter((k) => a.meta[k] !== undefined &&"
    "   single(a.meta[k] || '').slice(0, 1000) !== single(got[k] || ''));"
    " return {text: same, where, meta: odd.length === 0,"
    "  odd: odd.map((k) => k + ': ' + a.meta[k] + ' <> ' + got[k]).join()};"
    "}";

static void
on_extract(struct page *p, const struct page_result *r, void *arg)
{
	struct json_writer w;
	struct buf want, meta, args;

	if (r->status != PAGE_OK) {
		fail(p, r->message);
		return;
	}
	buf_init(&want, FILE_MAX);
	buf_init(&meta, FILE_MAX);
	buf_init(&args, FILE_MAX * 6);
	slurp(names[current], "expected.html", &want);
	slurp(names[current], "expected-metadata.json", &meta);
	json_writer_init(&w, &args);
	json_write_begin_object(&w);
	json_put_strn(&w, "want", (const char *)want.data, want.len);
	json_put_raw(&w, "got", r->json, r->len);
	json_put_raw(&w, "meta", (const char *)meta.data, meta.len);
	json_write_end_object(&w);
	page_eval(p, compare, sizeof(compare) - 1, (const char *)args.data,
	    args.len, 20000, on_compared, NULL);
	buf_clear(&want);
	buf_clear(&meta);
	buf_clear(&args);
}

static void
on_nav(struct page *p, const struct page_nav *nav, void *arg)
{
	struct page_extract_options opts = { .readability = true,
		.timeout_ms = 20000 };

	if (nav->status != PAGE_OK)
		fail(p, nav->message);
	else
		page_extract(p, &opts, on_extract, NULL);
}

static void
next(struct page *p)
{
	char url[128];

	if (current == nnames) {
		event_base_loopbreak(base);
		return;
	}
	snprintf(
	    url, sizeof(url), "http://127.0.0.1:%d/test/%d", port, current);
	page_navigate(p, url, NULL, on_nav, NULL);
}

static void
on_open(struct page *p, enum page_status status, const char *message, void *arg)
{
	if (status != PAGE_OK) {
		event_base_loopbreak(base);
		return;
	}
	page_set_scripts(p, false);
	next(p);
}

static void
on_ready(struct browser *b, const char *product, const char *why, void *ctx)
{
	if (product == NULL || page_open(b, on_open, NULL) == NULL)
		event_base_loopbreak(base);
}

static void
on_gone(struct browser *b, const char *why, void *ctx)
{
	printf("# browser gone: %s\n", why);
	event_base_loopbreak(base);
}

static const struct browser_ops ops = { .on_ready = on_ready,
	.on_gone = on_gone };

static int
run_quietly(const char *const argv[])
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

/* Unpacks the archive of test pages; false when there is none. */
static bool
unpack(void)
{
	const char *vectors = getenv("vectors");
	char pattern[512];
	struct dirent *e;
	glob_t g;
	DIR *d;

	snprintf(pattern, sizeof(pattern), "%s/readability/*.tar.xz",
	    vectors != NULL ? vectors : ".");
	snprintf(dir, sizeof(dir), "/tmp/readability_test.XXXXXX");
	if (glob(pattern, 0, NULL, &g) != 0 || mkdtemp(dir) == NULL)
		return false;
	if (run_quietly((const char *[]){
		"tar", "-xJf", g.gl_pathv[0], "-C", dir, NULL }) != 0)
		return false;
	globfree(&g);
	snprintf(pattern, sizeof(pattern), "%s/test-pages", dir);
	d = opendir(pattern);
	while (d != NULL && (e = readdir(d)) != NULL && nnames < PAGES_MAX)
		if (e->d_name[0] != '.')
			names[nnames++] = strdup(e->d_name);
	if (d != NULL)
		closedir(d);
	return nnames > 0;
}

static bool
serve_start(struct evhttp **ret_http)
{
	struct evhttp_bound_socket *sock;
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);

	*ret_http = evhttp_new(base);
	evhttp_set_gencb(*ret_http, serve, NULL);
	sock = evhttp_bind_socket_with_handle(*ret_http, "127.0.0.1", 0);
	if (sock == NULL ||
	    getsockname(evhttp_bound_socket_get_fd(sock),
		(struct sockaddr *)&sin, &len) != 0)
		return false;
	port = ntohs(sin.sin_port);
	return true;
}

static void
test_with(enum live_program program, const char *what)
{
	const char *why = "";
	struct evhttp *http;

	current = same = same_meta = failed = 0;
	if (!live_browser_start(&chrome, program, &why)) {
		ok(true, "%s # SKIP %s", what, why);
		return;
	}
	base = event_base_new();
	ok(serve_start(&http), "%s: the pages are served", what);
	browser = browser_new(
	    base, chrome.read_fd, chrome.write_fd, NULL, &ops, NULL);
	event_base_dispatch(base);
	printf("# %s: of %d pages %d have the text, %d what is told of it\n",
	    what, nnames, same, same_meta);
	ok(same >= nnames - 1, "%s: text exact on all but one", what);
	ok(same_meta >= nnames - 2, "%s: title and others on all but two",
	    what);
	browser_free(&browser);
	evhttp_free(http);
	event_base_free(base);
	live_browser_stop(&chrome);
}

int
main(void)
{
	if (!page_has_readability() || !unpack()) {
		printf("1..0 # SKIP no test pages, or built without it\n");
		return 0;
	}
	ok(nnames >= 130, "all pages are there");
	test_with(LIVE_SHELL, "shell");
	test_with(LIVE_FULL, "whole Chromium");
	run_quietly((const char *[]){ "rm", "-rf", "--", dir, NULL });
	for (int i = 0; i < nnames; i++)
		free(names[i]);
	return done_testing();
}
