/*
 * serve: decides who answers a request: the log, a behaviour or a file. Runs
 * in demosite. Whatever a client sends, it gets an answer or loses its
 * connection; the server goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "site/accesslog.h"
#include "site/behave.h"
#include "site/files.h"
#include "site/pend.h"
#include "site/serve.h"

#define TYPE_JSON "application/json; charset=utf-8"

static void
header_add(struct evhttp_request *req, const char *name, const char *value)
{
	evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

void
serve_send(struct evhttp_request *req, int status, const char *type,
    struct evbuffer *body)
{
	bool page = type == NULL || strncmp(type, "text/html", 9) == 0 ||
	    strncmp(type, "application/json", 16) == 0;

	if (type != NULL)
		header_add(req, "Content-Type", type);
	header_add(req, "Cache-Control", page ? "no-store" : "max-age=3600");
	evhttp_send_reply(req, status, NULL, body);
	if (body != NULL)
		evbuffer_free(body);
}

void
serve_file(
    struct site *s, struct evhttp_request *req, int status, const char *path)
{
	struct evbuffer *body = evbuffer_new();
	const char *type;
	int error;

	if (body == NULL) {
		serve_send(req, 503, NULL, NULL);
		return;
	}
	error = files_read(s->pages_fd, path, body, &type);
	if (error != 0) {
		status = error == ENOMEM ? 503 : 404;
		error = files_read(s->pages_fd, "404.html", body, &type);
	}
	serve_send(req, status, error == 0 ? type : NULL, body);
}

long
serve_query_number(
    struct evhttp_request *req, const char *name, long fallback, long max)
{
	const char *query, *value, *error;
	struct evkeyvalq args;
	long n = fallback;

	query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(req));
	if (query == NULL)
		return fallback;
	if (evhttp_parse_query_str(query, &args) != 0)
		return -1;
	value = evhttp_find_header(&args, name);
	if (value != NULL) {
		n = (long)strtonum(value, 0, max, &error);
		if (error != NULL)
			n = -1;
	}
	evhttp_clear_headers(&args);
	return n;
}

/* True when path is the log's and the request has been answered. */
static bool
serve_log(struct site *s, struct evhttp_request *req, const char *path)
{
	bool reset = strcmp(path, "/_log/reset") == 0;
	enum evhttp_cmd_type want = reset ? EVHTTP_REQ_POST : EVHTTP_REQ_GET;
	struct evbuffer *body;

	if (!reset && strcmp(path, "/_log") != 0)
		return false;
	if (evhttp_request_get_command(req) != want) {
		serve_send(req, 405, NULL, NULL);
		return true;
	}
	if (reset) {
		accesslog_reset(s->log);
		serve_send(req, 204, NULL, NULL);
		return true;
	}
	body = evbuffer_new();
	if (body == NULL || accesslog_write(s->log, body) != 0) {
		if (body != NULL)
			evbuffer_free(body);
		serve_send(req, 503, NULL, NULL);
		return true;
	}
	serve_send(req, 200, TYPE_JSON, body);
	return true;
}

/* The decoded path of the request, to be freed; NULL if there is none. */
static char *
request_path(struct evhttp_request *req)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const char *raw = uri == NULL ? NULL : evhttp_uri_get_path(uri);
	char *path;
	size_t len;

	if (raw == NULL || raw[0] != '/')
		return NULL;
	path = evhttp_uridecode(raw, 0, &len);
	if (path != NULL && strlen(path) != len) {
		free(path);
		return NULL;
	}
	return path;
}

/* What is left when the delays are over. */
static void
serve_answer(struct evhttp_request *req, struct evbuffer *body, void *arg)
{
	struct site *s = arg;
	const struct behaviour *b;
	char *path = request_path(req);

	if (path == NULL) {
		serve_send(req, 400, NULL, NULL);
		return;
	}
	b = behave_find(path);
	if (b != NULL)
		b->fn(s, b, req, path);
	else
		serve_file(s, req, 200, path);
	free(path);
}

void
serve_request(struct evhttp_request *req, void *arg)
{
	struct site *s = arg;
	const struct behaviour *b;
	const char *host;
	char *path = request_path(req);
	int ms = s->delay_ms;

	if (path != NULL && serve_log(s, req, path)) {
		free(path);
		return;
	}
	host =
	    evhttp_find_header(evhttp_request_get_input_headers(req), "Host");
	accesslog_note(
	    s->log, host == NULL ? "" : host, evhttp_request_get_uri(req));
	b = path == NULL ? NULL : behave_find(path);
	if (b != NULL)
		ms += b->delay_ms;
	free(path);
	if (ms == 0)
		serve_answer(req, NULL, s);
	else if (pend_add(s->pending, req, ms, serve_answer, NULL, s) != 0)
		serve_send(req, 503, NULL, NULL);
}
