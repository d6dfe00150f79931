/*
 * forms: what forms send, and the cookies of those who have logged in. Runs in
 * demosite. Keeps nothing: a member is who has the cookie.
 */
#include <sys/queue.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>

#include "site/forms.h"
#include "site/serve.h"

#define TYPE_HTML  "text/html; charset=utf-8"
#define USER_MAX   64
#define COOKIE_MAX 4096
#define LIST_ITEMS 3
#define LIST_MAX   100

/* What was sent, in the address or the body; to be cleared. */
static void
form_read(struct evhttp_request *req, struct evkeyvalq *ret)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	struct evbuffer *in = evhttp_request_get_input_buffer(req);
	const char *query = uri == NULL ? NULL : evhttp_uri_get_query(uri);
	struct evkeyvalq more;
	char *body;

	TAILQ_INIT(ret);
	if (query != NULL && evhttp_parse_query_str(query, ret) != 0)
		TAILQ_INIT(ret);
	if (evbuffer_get_length(in) == 0 || evbuffer_add(in, "", 1) != 0)
		return;
	body = (char *)evbuffer_pullup(in, -1);
	if (body == NULL || evhttp_parse_query_str(body, &more) != 0)
		return;
	TAILQ_CONCAT(ret, &more, next);
}

static const char *
form_value(const struct evkeyvalq *form, const char *name)
{
	const char *value = evhttp_find_header(form, name);

	return value == NULL ? "" : value;
}

static void
add_text(struct evbuffer *out, const char *text)
{
	char *html = evhttp_htmlescape(text);

	if (html != NULL)
		evbuffer_add(out, html, strlen(html));
	free(html);
}

static struct evbuffer *
page_begin(const char *title)
{
	struct evbuffer *out = evbuffer_new();

	if (out == NULL)
		return NULL;
	evbuffer_add_printf(out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
	    "<title>%s</title>\n<link rel=\"icon\" href=\"/favicon.ico\">"
	    "<link rel=\"stylesheet\" href=\"/css/base.css\">\n<main>"
	    "<h1>%s</h1>\n",
	    title, title);
	return out;
}

static void
page_end(struct evhttp_request *req, int status, struct evbuffer *out)
{
	if (out != NULL)
		evbuffer_add_printf(out, "</main>\n</html>\n");
	serve_send(req, out == NULL ? 503 : status,
	    out == NULL ? NULL : TYPE_HTML, out);
}

static void
lead_to(struct evhttp_request *req, const char *path)
{
	evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Location", path);
	serve_send(req, 303, NULL, NULL);
}

/* ---- cookies: names of users in hex ---- */

static void __attribute__((format(printf, 2, 3)))
cookie_set(struct evhttp_request *req, const char *fmt, ...)
{
	char text[COOKIE_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Set-Cookie", text);
}

static void
hex_of(const char *text, char ret[2 * USER_MAX + 1])
{
	ret[0] = '\0';
	for (size_t i = 0; i < USER_MAX && text[i] != '\0'; i++)
		snprintf(
		    ret + 2 * i, 3, "%02x", (unsigned)(unsigned char)text[i]);
}

/* The user named by a cookie; false if there is no such cookie. */
static bool
cookie_user(
    struct evhttp_request *req, const char *name, char ret[USER_MAX + 1])
{
	const char *at =
	    evhttp_find_header(evhttp_request_get_input_headers(req), "Cookie");
	size_t n = 0, len = strlen(name);
	unsigned byte;

	while (at != NULL && (strncmp(at, name, len) != 0 || at[len] != '='))
		at = (at = strchr(at, ';')) == NULL ? NULL
						    : at + 1 + (at[1] == ' ');
	if (at == NULL)
		return false;
	for (at += len + 1; n < USER_MAX && sscanf(at, "%2x", &byte) == 1;
	     at += 2)
		ret[n++] = (char)byte;
	ret[n] = '\0';
	return n > 0;
}

/* ---- logins ---- */

void
behave_user(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	char hex[2 * USER_MAX + 1];
	struct evkeyvalq form;

	form_read(req, &form);
	hex_of(form_value(&form, "user"), hex);
	evhttp_clear_headers(&form);
	cookie_set(
	    req, "who=%s; Path=/account; HttpOnly; SameSite=Strict", hex);
	lead_to(req, hex[0] == '\0' ? "/try/login-steps" : b->file);
}

static bool
is_right(const char *user, const char *password)
{
	size_t n = strlen(user), m = strlen(password);

	return n > 0 && m > n && strcmp(password + m - n, user) == 0;
}

static const char *
same_site(const char *wanted)
{
	return strcmp(wanted, "strict") == 0 ? "Strict" : "Lax";
}

void
behave_login(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	char hex[2 * USER_MAX + 1], user[USER_MAX + 1];
	struct evkeyvalq form;
	bool right, api;

	form_read(req, &form);
	strlcpy(user, form_value(&form, "user"), sizeof(user));
	if (user[0] == '\0')
		(void)cookie_user(req, "who", user);
	right = is_right(user, form_value(&form, "password"));
	api = *form_value(&form, "api") != '\0';
	if (right) {
		hex_of(user, hex);
		cookie_set(req, "sid=%s; Path=/; HttpOnly; SameSite=%s", hex,
		    same_site(form_value(&form, "same")));
		if (*form_value(&form, "remember") != '\0')
			cookie_set(req,
			    "remember=yes; Path=/; Max-Age=86400; "
			    "SameSite=Lax");
	}
	evhttp_clear_headers(&form);
	if (api)
		serve_send(req, right ? 204 : 401, NULL, NULL);
	else
		lead_to(req, right ? b->file : "/try/login-wrong");
}

void
behave_member(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	char user[USER_MAX + 1];
	struct evbuffer *out;

	if (!cookie_user(req, "sid", user)) {
		lead_to(req, b->file);
		return;
	}
	out = page_begin("Your account");
	if (out != NULL) {
		evbuffer_add_printf(out, "<p id=\"who\">Signed in as <b>");
		add_text(out, user);
		evbuffer_add_printf(out,
		    "</b>.</p>\n<p><a href=\"/account/logout\">Sign out</a>"
		    "</p>\n");
	}
	page_end(req, b->status, out);
}

void
behave_logout(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	cookie_set(req, "sid=; Path=/; Max-Age=0");
	lead_to(req, b->file);
}

/* ---- what was sent ---- */

void
behave_echo(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	struct evbuffer *out = page_begin("Thank you");
	struct evkeyval *row;
	struct evkeyvalq form;

	form_read(req, &form);
	if (out != NULL) {
		evbuffer_add_printf(out, "<p>We have got:</p>\n<dl>\n");
		TAILQ_FOREACH(row, &form, next) {
			evbuffer_add_printf(out, "<dt>");
			add_text(out, row->key);
			evbuffer_add_printf(out, "</dt><dd>");
			add_text(out, row->value);
			evbuffer_add_printf(out, "</dd>\n");
		}
		evbuffer_add_printf(out, "</dl>\n");
	}
	evhttp_clear_headers(&form);
	page_end(req, b->status, out);
}

/* ---- lists of several pages ---- */

struct list_kind {
	const char *name;
	const char *next; /* NULL: a number for each page */
	const char *last; /* what is there in place of next on the last page */
};

static const struct list_kind list_kinds[] = {
	{ "links", "Next", "" },
	{ "zh", "下一页", "<span>没有了</span>" },
	{ "dead", "Next page",
	    "<a class=\"next\" aria-disabled=\"true\">Next page</a>" },
	{ "repeat", "Next", NULL },
	{ "numbers", NULL, "" },
	{ "head", "", "" },
};

static const struct list_kind *
list_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(list_kinds) / sizeof(list_kinds[0]); i++)
		if (strcmp(list_kinds[i].name, name) == 0)
			return &list_kinds[i];
	return NULL;
}

/* A number for each page, as Django's admin has them. */
static void
list_write_numbers(struct evbuffer *out, long page, long of)
{
	for (long i = 1; i <= of; i++) {
		if (i == page)
			evbuffer_add_printf(
			    out, "<span class=\"this-page\">%ld</span> ", i);
		else
			evbuffer_add_printf(out,
			    "<a href=\"?page=%ld&amp;of=%ld\">%ld</a> ", i, of,
			    i);
	}
}

static void
list_write_next(
    struct evbuffer *out, const struct list_kind *kind, long page, long of)
{
	long next = page < of ? page + 1 : of;

	if (kind->next == NULL)
		list_write_numbers(out, page, of);
	else if (page == of && kind->last != NULL)
		evbuffer_add_printf(out, "%s", kind->last);
	else if (kind->next[0] == '\0')
		evbuffer_add_printf(out,
		    "<link rel=\"next\" href=\"?page=%ld&amp;of=%ld\">", next,
		    of);
	else
		evbuffer_add_printf(out,
		    "<a class=\"next\" href=\"?page=%ld&amp;of=%ld\">%s</a>",
		    next, of, kind->next);
}

static void
list_write(
    struct evbuffer *out, const struct list_kind *kind, long page, long of)
{
	evbuffer_add_printf(out, "<p>Page %ld of %ld</p>\n<ul>\n", page, of);
	for (long i = 1; i <= LIST_ITEMS; i++)
		evbuffer_add_printf(out, "<li>Thing %ld of the list</li>\n",
		    (page - 1) * LIST_ITEMS + i);
	evbuffer_add_printf(out, "</ul>\n<nav>");
	if (page > 1)
		evbuffer_add_printf(out,
		    "<a class=\"back\" href=\"?page=%ld&amp;of=%ld\">Back</a> ",
		    page - 1, of);
	list_write_next(out, kind, page, of);
	evbuffer_add_printf(out, "</nav>\n");
}

void
behave_list(struct site *s, const struct behaviour *b,
    struct evhttp_request *req, const char *path)
{
	const struct list_kind *kind = list_kind_find(path + strlen(b->path));
	long of = serve_query_number(req, "of", 4, LIST_MAX);
	long page = serve_query_number(req, "page", 1, LIST_MAX);
	struct evbuffer *out;

	if (kind == NULL || of < 1 || page < 1 || page > of) {
		serve_file(s, req, 404, "404.html");
		return;
	}
	out = page_begin("A long list");
	if (out != NULL)
		list_write(out, kind, page, of);
	page_end(req, b->status, out);
}
