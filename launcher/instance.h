/*
 * instance: all that the launcher holds, for the files that make the parts work
 * together.
 */
#ifndef LAUNCHER_INSTANCE_H
#define LAUNCHER_INSTANCE_H

#include <event2/event.h>

#include "launcher/carry.h"
#include "launcher/cells.h"
#include "launcher/dirs.h"
#include "launcher/egress.h"
#include "launcher/inspect.h"
#include "launcher/options.h"
#include "launcher/programs.h"
#include "launcher/protect.h"
#include "launcher/secrets.h"
#include "launcher/sockets.h"
#include "launcher/supervise.h"
#include "launcher/watchdog.h"

struct instance {
	struct options options;
	struct dirs dirs;
	struct sockets sockets;
	struct programs programs;
	struct spawn_env env;
	struct cgroups groups;
	struct protect protect;
	struct event_base *base;
	struct event *on_signal;
	struct event *on_grace;
	struct cells *cells;
	struct secrets *secrets;
	struct supervise *supervise;
	struct egress *egress;
	struct watchdog *watchdog;
	struct inspect *inspect;
	char **argv; /* as it was started */
	char groups_why[GROUP_WHY_BYTES];
	int uid_lock_fd; /* -1: user mode */
	int sigfd;
	bool terminal; /* started in one */
	bool renew;    /* by the program on the disk, before the next start */
	enum launch_renewal renewal; /* and what came of it */
	bool last; /* start of supervisord: without what was there */
	bool serving;
	bool stopping;
	int exit_code;
};

/*
 * Opens, locks and tries all that it needs; before is what an earlier program in
 * this process has left, or NULL. Returns 0, or an exit code after having logged
 * the reason.
 */
int instance_open(struct instance *, const struct carry *before);
/* Ends all of it, with a grace; the launcher's exit code. */
void instance_stop(struct instance *, int exit_code);
/*
 * Does what supervisord orders; arg is the instance. fd, the receiver's, is what
 * came with it, or -1. 0, or the errno value that the link is broken for.
 */
int instance_order(void *arg, const struct launch_msg *, int fd);
/* The process that read the store has ended; arg is the instance. */
void instance_inspected(void *arg, int status);

#endif
