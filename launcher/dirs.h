/*
 * dirs: the state directory with its lock and its profiles, and the directory
 * of the sockets.
 */
#ifndef LAUNCHER_DIRS_H
#define LAUNCHER_DIRS_H

#include <sys/types.h>

#include "launcher/options.h"
#include "launcher/record.h"

struct dirs {
	char state[PATH_MAX]; /* resolved */
	char run[PATH_MAX];   /* resolved */
	int state_fd;
	int kept_fd; /* STATE/profiles/kept: named profiles */
	int lock_fd;
	int run_lock_fd;
	struct record record; /* beside the state directory */
	uid_t owner;          /* of the state directory before this start */
};

/*
 * Makes what is missing, opens it and takes both locks, which live as long as
 * the process. Returns 0, or an exit code after having logged the reason.
 */
int dirs_open(struct dirs *, const struct options *);
/*
 * Gives the state directory and all that supervisord keeps in it to uid: the
 * block of uids, and so supervisord's, may be another one than last time.
 * Profiles and the lock stay root's. Returns as dirs_open().
 */
int dirs_give(const struct dirs *, uid_t uid);
/*
 * The same, of a service that runs: systemd gives a StateDirectory= to root again
 * at each of the unit's commands, and supervisord, started anew, must open it.
 */
int dirs_give_again(const struct dirs *, uid_t uid);

#endif
