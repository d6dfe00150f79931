/*
 * profiles: the directories of kept profiles. A fresh one has none: it lives
 * and ends with its compartment.
 */
#ifndef LAUNCHER_PROFILES_H
#define LAUNCHER_PROFILES_H

#include <sys/stat.h>

#include "launch/launch.h"
#include "launcher/dirs.h"

/*
 * Makes or reopens the directory of that name; uid becomes the owner of a new
 * one and must be the owner of an old one. 0 or an errno value.
 */
int
profile_open(const struct dirs *, const char *name, uid_t, struct stat *ret_st);
/* Its path below the state directory. */
int
profile_path(const struct dirs *, const char *name, char ret_path[PATH_MAX]);

#endif
