/*
 * live: starts a real browser and the demo site for the tests of page/ and
 * ends them. The browser runs with its own sandbox on; started by root it gets
 * an unprivileged uid first. For tests only.
 */
#ifndef T_SCENARIO_LIVE_H
#define T_SCENARIO_LIVE_H

#include <stdbool.h>
#include <sys/types.h>

struct live_browser {
	pid_t pid;
	int read_fd;  /* answers of the browser */
	int write_fd; /* commands to it */
	char dir[64];
};

struct live_site {
	pid_t pid;
	int hold_fd; /* the site ends when this is closed */
	int port;
};

enum live_program {
	LIVE_SHELL, /* chromium-headless-shell, as for runs that only read */
	LIVE_FULL,  /* chromium, headless, likewise */
	LIVE_DRAWN  /* the first, as for runs that operate pages */
};

/* False, with a reason, when there is no browser to start. */
bool live_browser_start(
    struct live_browser *, enum live_program, const char **ret_why);
/* Kills it with everything it started and removes its profile. */
void live_browser_stop(struct live_browser *);

/* Serves pages (a directory; NULL: the demo's) on a free loopback port. */
bool
live_site_start(struct live_site *, const char *pages, const char **ret_why);
void live_site_stop(struct live_site *);

#endif
