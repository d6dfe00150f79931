/*
 * cgroups: control groups (version 2) of cells, where the launcher's own group
 * was handed to it with the memory and pids controllers.
 */
#ifndef LAUNCHER_CGROUPS_H
#define LAUNCHER_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "launch/launch.h"

#define GROUP_NAME_BYTES 24
#define GROUP_WHY_BYTES  160

struct cgroups {
	int dir;     /* the group that was handed over; -1: none is used */
	int changes; /* readable when something happened in one; -1 */
};

/* One cell's. */
struct cgroup {
	int dir; /* -1: none */
	char name[GROUP_NAME_BYTES];
	struct launch_limits limits;
};

/*
 * Takes over the group this process is in: removes what a former life left
 * there, kills that first, and moves to a group below it. False when it is not
 * to be used: *ret_why says so for people, and nothing has changed.
 */
bool cgroups_open(struct cgroups *, char ret_why[GROUP_WHY_BYTES]);
/* Takes all there is to read: what happened is found by cgroup_breach(). */
void cgroups_drain(struct cgroups *);
/*
 * A group that holds its processes to the limits. Without groups ret_group is
 * none. 0 or an errno value.
 */
int cgroup_make(struct cgroups *, uint32_t id, const struct launch_limits *,
    struct cgroup *ret_group);
/* Whether something in it was killed or refused, and by which limit. */
bool cgroup_breach(const struct cgroup *, struct launch_breach *ret_breach);
/* Its processes were waited for. */
void cgroup_remove(struct cgroups *, struct cgroup *);

#endif
