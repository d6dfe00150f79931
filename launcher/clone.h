/* clone: new processes with a pidfd, and what they do before exec. */
#ifndef LAUNCHER_CLONE_H
#define LAUNCHER_CLONE_H

#include <stdint.h>
#include <sys/types.h>

#define CLONE_FDS_MAX 12

/*
 * As fork, with the given CLONE_NEW* flags, into the control group of that
 * directory (-1: the caller's). *ret_pid is 0 in the child, which
 * has all signals blocked until clone_become(); the parent owns *ret_pidfd.
 * 0 or an errno value.
 */
int clone_process(uint64_t flags, int group, pid_t *ret_pid, int *ret_pidfd);

/* In the child only. All return 0 or an errno value. */

/* Dies with the parent from now on; ESRCH when it is already dead. */
int clone_die_with_parent(int parent_pidfd);
/*
 * Becomes fds[0..n-1] as 0..n-1, all others closed at exec. program may be any
 * open descriptor; *ret_program is its number afterwards.
 */
int clone_set_fds(const int *fds, int n, int program, int *ret_program);
/* No core files, default signals, then exec. Returns only on failure. */
int clone_become(int program, const char *const *argv, char **env);

#endif
