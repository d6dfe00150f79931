/*
 * start: starts a service of the user's own when none is there.
 */
#ifndef MCP_START_H
#define MCP_START_H

#include <stdbool.h>
#include <stddef.h>

struct event_base;
struct start;

struct start_config {
	const char *program; /* browsertaskd */
	const char *run_dir; /* NULL: the service's default */
	char *const *args;   /* more of them; NULL at the end, or NULL */
};

/* What the launcher says when one that runs has its directories. */
#define START_OTHER "another browsertaskd"
/* In the same line: that one serves, but not where we look. */
#define START_ELSEWHERE "its sockets are in "

/*
 * good, or why says what the service said last; has START_OTHER in it where
 * that is why.
 */
typedef void start_done_fn(void *ctx, bool good, const char *why);

/*
 * Starts it; done is called once, from the loop. Of several that try at the
 * same time one service stays, and all are told good or find it by dialing.
 * NULL with errno: it could not be tried.
 */
struct start *start_new(struct event_base *, const struct start_config *,
    start_done_fn *, void *ctx);
/* The service goes on; done is not called any more. */
void start_free(struct start **);

#endif
