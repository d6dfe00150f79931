/* programs: the program files, opened once and executed by descriptor. */
#ifndef LAUNCHER_PROGRAMS_H
#define LAUNCHER_PROGRAMS_H

#include "launch/launch.h"
#include "launcher/options.h"

struct programs {
	int supervisord;
	int egressd;
	int cell;
	int workerd;
	int shell;                  /* chromium-headless-shell, -1: not there */
	int chrome;                 /* chromium, -1: not there */
	char browser_dir[PATH_MAX]; /* of browsers outside /usr; or "" */
};

/*
 * Opens all of them; one kind of browser is enough. Returns 0, or an exit code
 * after having logged the reason.
 */
int programs_open(struct programs *, const struct options *);
/*
 * The browser for these spawn flags, the other kind if the wanted one is not
 * there. Returns its descriptor, borrowed.
 */
int programs_browser(const struct programs *, uint32_t spawn_flags,
    enum launch_browser *ret_kind);

#endif
