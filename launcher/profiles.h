/*
 * profiles: the directories of kept profiles. A fresh one has none: it lives
 * and ends with its compartment.
 */
#ifndef LAUNCHER_PROFILES_H
#define LAUNCHER_PROFILES_H

#include <stdbool.h>
#include <sys/stat.h>

#include "launch/launch.h"
#include "launcher/dirs.h"

/*
 * Makes or reopens the directory of that name, for the next browser only. A new
 * one belongs to uid; an old one must in user mode, and in system mode is to be
 * given to it. 0 or an errno value.
 */
int
profile_open(const struct dirs *, const char *name, uid_t, struct stat *ret_st);
/* Its path below the state directory. */
int
profile_path(const struct dirs *, const char *name, char ret_path[PATH_MAX]);
/*
 * Gives an old one to uid, with all that is in it: the slot of its session, and
 * with it the uid, may be another one than last time. Takes as long as it has
 * files. 0 or an errno value; may then be repeated.
 */
int profile_give(const struct dirs *, const char *name, uid_t);
/*
 * Takes its name from it, if it is there: at once, whatever is in it. It is
 * there until profiles_remove_dropped(). 0 or an errno value.
 */
int profile_drop(const struct dirs *, const char *name);
/* Whether a name beside the profiles is of one that was dropped. */
bool profile_is_dropped(const char *name);
/*
 * Removes all that were dropped, with all that is in them: takes as long as they
 * have files. 0 or an errno value, of one that stays.
 */
int profiles_remove_dropped(int kept_fd);

#endif
