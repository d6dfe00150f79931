/*
 * behave: the handlers of behave.def. Runs in demosite. A handler never
 * blocks: what takes time is made pending.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>

#include "site/behave.h"
#include "site/bodies.h"
#include "site/corpus.h"
#include "site/files.h"
#include "site/forms.h"
#include "site/pend.h"
#include "site/serve.h"

#define TYPE_HTML          "text/html; charset=utf-8"
#define REDIRECT_CHAIN_MAX 1000
#define BIG_MAX            (1L << 30)
#define DOM_MAX            1000000
#define TRICKLE_MAX_MS     60000
#define DATA_MAX_MS        60000

static void
header_add(struct evhttp_request *req, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

static void
behave_file(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	serve_file(s, req, b->status, b->file);
}

static void
behave_empty(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	serve_send(req, b->status, NULL, NULL);
}

static void
behave_redirect(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	header_add(req, "Location", b->file);
	serve_send(req, b->status, NULL, NULL);
}

static void
behave_redirect_chain(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	const char *error;
	char next[64];
	long n;

	n = (long)strtonum(
	    path + strlen(b->path), 0, REDIRECT_CHAIN_MAX, &error);
	if (error != NULL) {
		serve_file(s, req, 404, "404.html");
		return;
	}
	snprintf(next, sizeof(next), "%s%ld", b->path, n - 1);
	header_add(req, "Location", n <= 1 ? b->file : next);
	serve_send(req, b->status, NULL, NULL);
}

static void
behave_hold(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	if (pend_add(s->pending, req, PEND_NEVER, NULL, NULL, NULL) != 0)
		serve_send(req, 503, NULL, NULL);
}

/* Sends one byte of body and waits for the next. */
static void
trickle_next(struct evhttp_request *req, struct evbuffer *body, void *arg)
{
	struct site *s = arg;
	struct evbuffer *byte = evbuffer_new();
	long ms = serve_query_number(req, "ms", 10, TRICKLE_MAX_MS);

	if (byte != NULL) {
		evbuffer_remove_buffer(body, byte, 1);
		evhttp_send_reply_chunk(req, byte);
		evbuffer_free(byte);
		if (evbuffer_get_length(body) > 0 &&
		    pend_add(s->pending, req, (int)ms, trickle_next, body, s) ==
			0)
			return;
	}
	evbuffer_free(body);
	evhttp_send_reply_end(req);
}

static void
behave_trickle(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	struct evbuffer *body = evbuffer_new();
	const char *type;

	if (body == NULL ||
	    serve_query_number(req, "ms", 10, TRICKLE_MAX_MS) < 0 ||
	    files_read(s->pages_fd, b->file, body, &type) != 0) {
		if (body != NULL)
			evbuffer_free(body);
		serve_file(s, req, 400, "500.html");
		return;
	}
	header_add(req, "Content-Type", type);
	header_add(req, "Cache-Control", "no-store");
	evhttp_send_reply_start(req, b->status, NULL);
	trickle_next(req, body, s);
}

static void
data_send(struct evhttp_request *req, struct evbuffer *body, void *arg)
{
	const struct behaviour *b = behave_find("/data");
	struct site *s = arg;

	serve_file(s, req, b->status, b->file);
}

static void
behave_data(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	long ms = serve_query_number(req, "ms", 0, DATA_MAX_MS);

	if (ms < 0)
		serve_file(s, req, 400, "500.html");
	else if (ms == 0)
		data_send(req, NULL, s);
	else if (pend_add(s->pending, req, (int)ms, data_send, NULL, s) != 0)
		serve_send(req, 503, NULL, NULL);
}

static void
behave_download(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	header_add(
	    req, "Content-Disposition", "attachment; filename=\"report.csv\"");
	serve_file(s, req, b->status, b->file);
}

/* Sends what add() makes of ?n=, or 400. */
static void
sized_send(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, long fallback, long max,
    int (*add)(struct evbuffer *, long))
{
	struct evbuffer *body = evbuffer_new();
	long n = serve_query_number(req, "n", fallback, max);

	if (body == NULL || n < 0 || add(body, n) != 0) {
		if (body != NULL)
			evbuffer_free(body);
		serve_file(s, req, n < 0 ? 400 : 503, "500.html");
		return;
	}
	serve_send(req, b->status, TYPE_HTML, body);
}

static void
behave_big(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	sized_send(s, b, req, 1000000, BIG_MAX, bodies_add_big);
}

static void
behave_dom(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	sized_send(s, b, req, 10000, DOM_MAX, bodies_add_dom);
}

static void
behave_bomb(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	header_add(req, "Content-Encoding", "gzip");
	sized_send(s, b, req, 1000000, BIG_MAX, bodies_add_bomb);
}

static void
behave_gzip(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	struct evbuffer *plain = evbuffer_new(), *body = evbuffer_new();
	const char *type;

	if (plain == NULL || body == NULL ||
	    files_read(s->pages_fd, b->file, plain, &type) != 0 ||
	    bodies_add_gzip(body, plain) != 0) {
		if (body != NULL)
			evbuffer_free(body);
		serve_file(s, req, 503, "500.html");
	} else {
		header_add(req, "Content-Encoding", "gzip");
		serve_send(req, b->status, type, body);
	}
	if (plain != NULL)
		evbuffer_free(plain);
}

static void
behave_corpus(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	struct evbuffer *body = evbuffer_new();
	const char *error, *html;
	size_t len;
	unsigned k;

	k = (unsigned)strtonum(path + strlen(b->path), 1, CORPUS_PAGES, &error);
	if (body == NULL || error != NULL) {
		if (body != NULL)
			evbuffer_free(body);
		serve_file(s, req, 404, "404.html");
		return;
	}
	html = corpus_page(k, &len);
	if (html == NULL ||
	    evbuffer_add_reference(body, html, len, NULL, NULL) != 0) {
		evbuffer_free(body);
		serve_file(s, req, 503, "500.html");
		return;
	}
	serve_send(req, b->status, TYPE_HTML, body);
}

#define EXACT  false
#define PREFIX true
#define BEHAVIOUR(path, match, handler, file, status, delay_ms) \
	{ path, match, behave_##handler, file, status, delay_ms },
static const struct behaviour behaviours[] = {
#include "site/behave.def"
};
#undef BEHAVIOUR

const struct behaviour *
behave_find(const char *path)
{
	size_t n = sizeof(behaviours) / sizeof(behaviours[0]);

	for (size_t i = 0; i < n; i++) {
		const struct behaviour *b = &behaviours[i];

		if (b->prefix ? strncmp(b->path, path, strlen(b->path)) == 0
			      : strcmp(b->path, path) == 0)
			return b;
	}
	return NULL;
}
