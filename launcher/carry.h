/*
 * carry: what the launcher hands to the program that takes its place under the
 * same pid, so that no cell ends for it. It lies in a sealed memory file; the
 * descriptors it names stay open over the exec.
 */
#ifndef LAUNCHER_CARRY_H
#define LAUNCHER_CARRY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/launch.h"
#include "launcher/cgroups.h"

#define CARRY_MAGIC 0x62746372U
/* To be raised with every change of what is below or of what it means. */
#define CARRY_VERSION   2U
#define CARRY_WHY_BYTES 256

enum carry_flag {
	CARRY_FORGET = 1 << 0,
	CARRY_KILLED = 1 << 1,
	CARRY_WORKER_ENDED = 1 << 2,
	CARRY_BROWSER_ENDED = 1 << 3,
	CARRY_OVER = 1 << 4,
	CARRY__ALL = (1 << 5) - 1
};

/* A cell that is up and has no supervisord. Descriptors are -1 for none. */
struct carry_cell {
	uint32_t id;
	uint32_t flags; /* enum carry_flag */
	struct launch_spawn spawn;
	pid_t pid;
	int pidfd, sock, ipc, log, listener;
	uint32_t browser; /* enum launch_browser */
	uint32_t untold;
	uint32_t offers;
	int worker_status, browser_status;
	int64_t offered_ms; /* of the monotonic clock, which goes on */
	struct launch_sandbox sandbox;
	struct launch_usage usage;
	struct launch_breach breach;
	struct cgroup group;
};

struct carry_secret {
	struct ulid run;
	int fd;
};

struct carry {
	uint32_t magic;
	uint32_t version;
	uint32_t launch_version; /* what cells and egressd speak */
	uint32_t bytes;          /* of all of it */
	/* Of the directories, with their locks. */
	char state[PATH_MAX], run[PATH_MAX];
	int state_fd, kept_fd, lock_fd, run_lock_fd;
	uid_t owner;
	uid_t uid_base;
	int uid_lock_fd; /* -1: user mode */
	int client_fd, admin_fd;
	uint32_t inherited; /* the sockets, from systemd */
	uint32_t terminal;  /* it was started in one */
	int groups_dir, groups_changes;
	char groups_why[GROUP_WHY_BYTES]; /* not used, or "" */
	pid_t egressd;                    /* 0: none to go on with */
	int egressd_pidfd, egressd_sock;
	pid_t inspect; /* reads the store for a person; 0: nobody does */
	int inspect_pidfd;
	uint32_t ncells, nsecrets;
	struct carry_cell cells[LAUNCH_WORKER_SLOTS];
	struct carry_secret secrets[LAUNCH_SECRETS_MAX];
};

/* Nothing to carry: head filled in, descriptors -1. */
void carry_init(struct carry *);
/* Writes it to a sealed memory file. 0 and its descriptor, or an errno value. */
int carry_write(const struct carry *, int *ret_fd);
/*
 * Reads what carry_write() wrote. False when it was written by a program too
 * different to go on from there, or is not whole: *ret_why says so.
 */
bool carry_read(int fd, struct carry *ret_carry, char ret_why[CARRY_WHY_BYTES]);
/* Has all that it names stay open over an exec, or not. */
void carry_keep_open(const struct carry *, bool open);

#endif
