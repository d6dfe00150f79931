/*
 * serve: one site: the page directory, the log and the behaviours, and what
 * the behaviours need to answer a request.
 */
#ifndef SITE_SERVE_H
#define SITE_SERVE_H

struct accesslog;
struct evbuffer;
struct evhttp_request;
struct pend_list;

struct site {
	struct accesslog *log;
	struct pend_list *pending;
	int pages_fd; /* open directory */
	int delay_ms; /* before every answer save the log's */
};

/* Answers one request: evhttp's general callback; arg is the struct site. */
void serve_request(struct evhttp_request *, void *arg);

/* Sends body (taken; NULL: empty) with type (NULL: none) and ends req. */
void serve_send(struct evhttp_request *, int status, const char *type,
    struct evbuffer *body);
/* Sends a file of the page directory; 404.html with 404 when it is missing. */
void serve_file(
    struct site *, struct evhttp_request *, int status, const char *path);
/* A number from the query, or fallback if absent; -1 if not in 0..max. */
long serve_query_number(
    struct evhttp_request *, const char *name, long fallback, long max);

#endif
