/* profiles: the browsers' profile directories. */
#ifndef LAUNCHER_PROFILES_H
#define LAUNCHER_PROFILES_H

#include <sys/stat.h>

#include "launch/launch.h"
#include "launcher/dirs.h"

struct profile {
	char name[LAUNCH_PROFILE_BYTES]; /* of the directory */
	bool fresh;
	bool made;
	struct stat st;
};

/* What every trash_step() looks at most. */
#define TRASH_BUDGET 256

/*
 * Makes or reopens the profile directory of a cell; uid becomes the owner of a
 * new one and must be the owner of a kept one. 0 or an errno value.
 */
int profile_open(const struct dirs *, const struct launch_spawn *, uid_t,
    struct profile *ret_profile);
/* Its path below the state directory. */
int profile_path(
    const struct dirs *, const struct profile *, char ret_path[PATH_MAX]);
/* Queues a fresh profile for removal; kept ones stay. */
void profile_close(const struct dirs *, struct profile *);
/* Queues what earlier instances left of fresh profiles. */
void profiles_discard_all(const struct dirs *);
/*
 * Removes about TRASH_BUDGET queued files. True while there may be more. A
 * profile is written by an untrusted program: no step takes longer for a
 * million files or ten thousand levels of directories.
 */
bool trash_step(const struct dirs *);

#endif
