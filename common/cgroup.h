/*
 * cgroup: which control group (version 2) this process is in, and the files of
 * groups.
 */
#ifndef COMMON_CGROUP_H
#define COMMON_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A file of a group, whole, with a terminator; false when it cannot be read. */
bool cgroup_read(int dir, const char *name, char *buf, size_t size);
/* The directory of this process's group, or -1. */
int cgroup_open_own(void);

/* Of the text of /proc/PID/cgroup: the path in version 2. */
bool cgroup_own(const char *text, char *ret_path, size_t size);
/* Of the text of /proc/PID/mountinfo: where version 2 is mounted, and what. */
bool cgroup_mount(const char *text, char *ret_point, char *ret_root, size_t);
/* The number behind the key of a line "key number"; 0 when there is none. */
uint64_t cgroup_number(const char *text, const char *key);

#endif
