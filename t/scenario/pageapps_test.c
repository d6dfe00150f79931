/*
 * page and what kind of page it sees, measured on applications and themes that
 * others wrote: npm packages, pinned in t/apps, whose pages t/apps/pages.list
 * names with the kinds that a reader gave them. An application is in one half
 * only. Rules may be improved with the half in view; of the half held out only
 * sums are printed. A kind not known is no answer, another kind is a wrong one.
 * With the real browser; without the packages the test skips.
 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include "json/tape.h"
#include "t/unit/tap.h"
#include "visit.h"

#define LEAST_PAGES 60
#define KIND_BYTES  32
#define ROWS_MAX    256

enum half {
	IN_VIEW,
	HELD_OUT,
	HALF__MAX
};

static const char *const half_names[HALF__MAX] = {
	[IN_VIEW] = "view",
	[HELD_OUT] = "held",
};

/* Of a hundred pages. */
static const size_t least_right[HALF__MAX] = {
	[IN_VIEW] = 88,
	[HELD_OUT] = 80,
};
static const size_t most_wrong[HALF__MAX] = {
	[IN_VIEW] = 7,
	[HELD_OUT] = 14,
};

/* A line of the list: where the page is, and "kind|kind". */
struct row {
	enum half half;
	char root[128];
	char path[128];
	char kinds[64];
	char got[KIND_BYTES];
};

static struct row rows[ROWS_MAX];
static char apps[512];   /* where the packages are */
static const char *root; /* the application that is served */

static const struct {
	const char *suffix;
	const char *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".css", "text/css" },
	{ ".js", "text/javascript" },
	{ ".svg", "image/svg+xml" },
	{ ".json", "application/json" },
};

static const char *
type_of(const char *path)
{
	const char *suffix = strrchr(path, '.');

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (suffix != NULL && strcmp(suffix, types[i].suffix) == 0)
			return types[i].type;
	return "application/octet-stream";
}

static void
serve(struct evhttp_request *req, void *arg)
{
	const char *path =
	    evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req));
	struct evbuffer *out = evbuffer_new();
	bool found = false;
	char file[1024];
	off_t size;
	int fd = -1;

	if (strstr(path, "..") == NULL) {
		snprintf(file, sizeof(file), "%s/node_modules/%s%s", apps, root,
		    path);
		fd = open(file, O_RDONLY | O_CLOEXEC);
	}
	size = fd != -1 ? lseek(fd, 0, SEEK_END) : -1;
	/* The buffer owns the descriptor from here on. */
	if (size >= 0 && evbuffer_add_file(out, fd, 0, size) == 0) {
		found = true;
		evhttp_add_header(evhttp_request_get_output_headers(req),
		    "Content-Type", type_of(path));
	} else if (fd != -1)
		close(fd);
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

/* The rows of the list, those that begin with "#" left out. */
static size_t
rows_load(const char *file)
{
	char line[512], half[16];
	FILE *f = fopen(file, "re");
	size_t n = 0;

	while (f != NULL && n < ROWS_MAX && fgets(line, sizeof(line), f)) {
		struct row *r = &rows[n];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%15s %127s %127s %63s", half, r->root,
			r->path, r->kinds) != 4) {
			printf("# not understood: %s", line);
			continue;
		}
		r->half =
		    strcmp(half, half_names[IN_VIEW]) == 0 ? IN_VIEW : HELD_OUT;
		n++;
	}
	if (f != NULL)
		fclose(f);
	return n;
}

/* Whether the answer is one of "kind|kind". */
static bool
kind_fits(const char *kinds, const char *kind)
{
	char copy[64], *save, *word;

	strlcpy(copy, kinds, sizeof(copy));
	for (word = strtok_r(copy, "|", &save); word != NULL;
	     word = strtok_r(NULL, "|", &save))
		if (strcmp(word, kind) == 0)
			return true;
	return false;
}

static void
row_visit(struct row *r, struct page *p, int port)
{
	struct json_doc *doc = NULL;
	char url[512];

	root = r->root;
	strlcpy(r->got, "failed", sizeof(r->got));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/%s", port, r->path);
	if (visit_url(p, url, 0) != PAGE_OK) {
		printf("# %s/%s: %s\n", r->root, r->path, visit.message);
		return;
	}
	visit_extract(p, (struct page_extract_options){ .page_info = true });
	if (visit.json != NULL &&
	    json_parse((const uint8_t *)visit.json, visit.json_len, NULL, 0,
		&doc, NULL)) {
		(void)json_str_copy(
		    json_obj_get(
			json_obj_get(json_root(doc), "pageInfo"), "type"),
		    r->got, sizeof(r->got));
		json_doc_free(&doc);
	}
	if (r->half == IN_VIEW && !kind_fits(r->kinds, r->got))
		printf("# %s/%s: %s instead of %s\n", r->root, r->path, r->got,
		    r->kinds);
}

/* How often which kind was taken for which other. */
static void
confusion_print(size_t n, enum half half)
{
	for (size_t i = 0; i < n; i++) {
		size_t same = 0;
		bool first = rows[i].half == half;

		for (size_t k = 0; k < n; k++) {
			if (rows[k].half != half ||
			    strcmp(rows[k].kinds, rows[i].kinds) != 0 ||
			    strcmp(rows[k].got, rows[i].got) != 0)
				continue;
			first = first && k >= i;
			same++;
		}
		if (first)
			printf("# %s: %3zu %s -> %s\n", half_names[half], same,
			    rows[i].kinds, rows[i].got);
	}
}

static void
half_judge(size_t n, enum half half)
{
	size_t total = 0, right = 0, unknown = 0, wrong;

	for (size_t i = 0; i < n; i++) {
		if (rows[i].half != half)
			continue;
		total++;
		if (kind_fits(rows[i].kinds, rows[i].got))
			right++;
		else if (strcmp(rows[i].got, "unknown") == 0)
			unknown++;
	}
	wrong = total - right - unknown;
	confusion_print(n, half);
	printf("# %s: %zu of %zu right, %zu unknown, %zu wrong\n",
	    half_names[half], right, total, unknown, wrong);
	ok(total >= LEAST_PAGES, "%s: there are %d pages", half_names[half],
	    LEAST_PAGES);
	ok(right * 100 >= total * least_right[half],
	    "%s: at least %zu %% are right", half_names[half],
	    least_right[half]);
	ok(wrong * 100 <= total * most_wrong[half],
	    "%s: at most %zu %% are wrong", half_names[half], most_wrong[half]);
}

int
main(void)
{
	const char *srcdir = getenv("srcdir"), *builddir = getenv("builddir");
	const char *why = "the packages are not installed: make page-apps";
	struct evhttp *http = NULL;
	char file[600];
	struct page *p;
	size_t n;
	int port;

	snprintf(
	    apps, sizeof(apps), "%s/t/apps", builddir != NULL ? builddir : ".");
	snprintf(file, sizeof(file), "%s/node_modules", apps);
	if (access(file, R_OK) == -1 || !visit_start(LIVE_SHELL, NULL, &why)) {
		printf("1..0 # SKIP %s\n", why);
		return 0;
	}
	snprintf(file, sizeof(file), "%s/t/apps/pages.list",
	    srcdir != NULL ? srcdir : ".");
	n = rows_load(file);
	port = serve_start(&http);
	p = visit_open();
	for (size_t i = 0; p != NULL && i < n; i++)
		row_visit(&rows[i], p, port);
	for (enum half h = 0; h < HALF__MAX; h++)
		half_judge(n, h);
	evhttp_free(http);
	visit_end();
	return done_testing();
}
