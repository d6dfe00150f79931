/*
 * behave: the table of paths that are answered in a way of their own.
 */
#ifndef SITE_BEHAVE_H
#define SITE_BEHAVE_H

#include <stdbool.h>

struct evhttp_request;
struct behaviour;
struct site;

/* Answers req or makes it pending; path is the decoded path. */
typedef void behave_fn(struct site *, const struct behaviour *,
    struct evhttp_request *, const char *path);

struct behaviour {
	const char *path;
	bool prefix;
	behave_fn *fn;
	const char *file;
	int status;
	int delay_ms;
};

/* The row for a decoded path, or NULL. */
const struct behaviour *behave_find(const char *path);

#endif
