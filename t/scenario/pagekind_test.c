/*
 * page and what kind of page it sees, measured: pages in the manner of many
 * systems and languages, in t/data/pagetype, that the rules were not written
 * on. A file is named KIND-NUMBER.html and says in its second line at which
 * address it is to be found. Rules may be improved with the odd numbers in
 * view; the even ones are held out and only counted. With the real browser.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "t/unit/tap.h"
#include "visit.h"

#define FILE_MAX           65536
#define LEAST_OF_A_HUNDRED 85

static char body[FILE_MAX + 1];
static char address[512];

/* Reads one page and the address it stands at. */
static bool
page_load_file(const char *file)
{
	static const char mark[] = "<!-- address: ";
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const char *at, *end;
	ssize_t n;

	if (fd == -1)
		return false;
	n = read(fd, body, FILE_MAX);
	close(fd);
	body[n > 0 ? n : 0] = '\0';
	at = strstr(body, mark);
	if (at == NULL)
		return false;
	at += strlen(mark);
	end = strstr(at, " -->");
	if (end == NULL || (size_t)(end - at) >= sizeof(address))
		return false;
	memcpy(address, at, (size_t)(end - at));
	address[end - at] = '\0';
	return true;
}

static void
serve(struct evhttp_request *req, void *arg)
{
	const char *uri = evhttp_request_get_uri(req);
	size_t len = strcspn(address, "#");
	bool found = strlen(uri) == len && strncmp(uri, address, len) == 0;
	struct evbuffer *out = evbuffer_new();

	if (found) {
		evbuffer_add(out, body, strlen(body));
		evhttp_add_header(evhttp_request_get_output_headers(req),
		    "Content-Type", "text/html; charset=utf-8");
	}
	evhttp_send_reply(
	    req, found ? 200 : 404, found ? "OK" : "Not Found", out);
	evbuffer_free(out);
}

/* The port of a server on the loop of the visit; 0: none. */
static int
serve_start(struct evhttp **ret_http)
{
	struct sockaddr_in sin = { 0 };
	socklen_t len = sizeof(sin);
	struct evhttp_bound_socket *sock;

	*ret_http = evhttp_new(visit.base);
	evhttp_set_gencb(*ret_http, serve, NULL);
	sock = evhttp_bind_socket_with_handle(*ret_http, "127.0.0.1", 0);
	if (sock == NULL ||
	    getsockname(evhttp_bound_socket_get_fd(sock),
		(struct sockaddr *)&sin, &len) != 0)
		return 0;
	return ntohs(sin.sin_port);
}

/* Whether the page is what its name says; names only those in view. */
static bool
page_is_right(struct page *p, const char *file, int port)
{
	const char *name = strrchr(file, '/') + 1;
	char url[1024], want[64];

	strlcpy(want, name, sizeof(want));
	want[strcspn(want, "-")] = '\0';
	if (!page_load_file(file))
		return false;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d%s", port, address);
	if (visit_url(p, url, 0) != PAGE_OK) {
		printf("# %s: %s\n", name, visit.message);
		return false;
	}
	visit_extract(p, (struct page_extract_options){ .page_info = true });
	if (visit_json_is("pageInfo.type", want))
		return true;
	if (strchr("13579", strchr(name, '-')[1]) != NULL)
		printf("# ... is the answer for %s\n", name);
	return false;
}

int
main(void)
{
	const char *srcdir = getenv("srcdir"), *why = "";
	size_t total[2] = { 0 }, right[2] = { 0 };
	struct evhttp *http = NULL;
	char pattern[512];
	struct page *p;
	glob_t g;
	int port;

	snprintf(pattern, sizeof(pattern), "%s/t/data/pagetype/*.html",
	    srcdir != NULL ? srcdir : ".");
	if (!visit_start(LIVE_SHELL, NULL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	port = serve_start(&http);
	p = visit_open();
	if (glob(pattern, 0, NULL, &g) != 0)
		g.gl_pathc = 0;
	for (size_t i = 0; p != NULL && i < g.gl_pathc; i++) {
		const char *number = strrchr(g.gl_pathv[i], '-') + 1;
		int half = (number[0] - '0') % 2;

		total[half]++;
		right[half] += page_is_right(p, g.gl_pathv[i], port) ? 1 : 0;
	}
	printf("# right: %zu of %zu in view, %zu of %zu held out\n", right[1],
	    total[1], right[0], total[0]);
	ok(total[0] >= 35 && total[1] >= 35, "there are pages");
	ok(right[1] * 100 >= total[1] * LEAST_OF_A_HUNDRED,
	    "at least %d %% of the pages in view", LEAST_OF_A_HUNDRED);
	ok(right[0] * 100 >= total[0] * LEAST_OF_A_HUNDRED,
	    "at least %d %% of the pages held out", LEAST_OF_A_HUNDRED);
	globfree(&g);
	evhttp_free(http);
	visit_end();
	return done_testing();
}
