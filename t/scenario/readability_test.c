/*
 * The article text of the 130 pages of Mozilla's own test suite, taken with
 * the real browser and scripts off, must be what the suite expects, white space
 * aside (the expected files are indented). One page
 * (mathjax) differs for the library itself.
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
static int nnames, current, same, failed;
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
	if (r->status != PAGE_OK || r->len != 4 ||
	    memcmp(r->json, "true", 4) != 0) {
		fail(p, r->status == PAGE_OK ? "text differs" : r->message);
		return;
	}
	same++;
	current++;
	next(p);
}

static void
on_extract(struct page *p, const struct page_result *r, void *arg)
{
	static const char source[] =
	    "(a) => { const plain = (t) => t.replace(/\\s+/g, '');"
	    "const doc = new DOMParser().parseFromString(a.want, 'text/html');"
	    "return plain(doc.body.textContent) ==="
	    " plain(a.got.readability ? a.got.readability.text : ''); }";
	struct json_writer w;
	struct buf want, args;

	if (r->status != PAGE_OK) {
		fail(p, r->message);
		return;
	}
	buf_init(&want, FILE_MAX);
	buf_init(&args, FILE_MAX * 6);
	slurp(names[current], "expected.html", &want);
	json_writer_init(&w, &args);
	json_write_begin_object(&w);
	json_put_strn(&w, "want", (const char *)want.data, want.len);
	json_put_raw(&w, "got", r->json, r->len);
	json_write_end_object(&w);
	page_eval(p, source, sizeof(source) - 1, (const char *)args.data,
	    args.len, 20000, on_compared, NULL);
	buf_clear(&want);
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

int
main(void)
{
	struct evhttp_bound_socket *sock;
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);
	struct evhttp *http;
	const char *why = "";

	if (!page_has_readability() || !unpack()) {
		printf("1..0 # SKIP no test pages, or built without it\n");
		return 0;
	}
	if (!live_browser_start(&chrome, LIVE_SHELL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	base = event_base_new();
	http = evhttp_new(base);
	evhttp_set_gencb(http, serve, NULL);
	sock = evhttp_bind_socket_with_handle(http, "127.0.0.1", 0);
	getsockname(
	    evhttp_bound_socket_get_fd(sock), (struct sockaddr *)&sin, &len);
	port = ntohs(sin.sin_port);
	browser = browser_new(
	    base, chrome.read_fd, chrome.write_fd, NULL, &ops, NULL);
	event_base_dispatch(base);
	printf("# %d of %d pages have the expected text\n", same, nnames);
	ok(nnames >= 130, "all pages are there");
	ok(same >= nnames - 1, "text exact on all but one");
	browser_free(&browser);
	evhttp_free(http);
	event_base_free(base);
	live_browser_stop(&chrome);
	run_quietly((const char *[]){ "rm", "-rf", "--", dir, NULL });
	for (int i = 0; i < nnames; i++)
		free(names[i]);
	return done_testing();
}
