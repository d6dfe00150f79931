/* compartment: what a cell's namespaces look like inside. */
#ifndef LAUNCHER_COMPARTMENT_H
#define LAUNCHER_COMPARTMENT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Where the browser finds its profile, whatever the state directory is. */
#define COMPARTMENT_PROFILE "/tmp/browsertask-profile"

struct compartment {
	bool user_namespace; /* user mode: ids are mapped to themselves */
	uid_t uid;           /* of the launcher, user mode only */
	gid_t gid;
	gid_t proc_gid;              /* sees all processes; system mode only */
	bool shares_ipc, shares_uts; /* has none of its own */
	bool own_cgroups;            /* sees no group above the service's */
	bool browser;                /* there will be one: it gets a way out */
	bool fresh_profile;          /* one that lives and ends in here */
	uid_t profile_uid;           /* its owner */
	gid_t profile_gid;
	uint64_t profile_bytes; /* bound of a fresh one */
	uint64_t memory_bytes;  /* of the other places in memory */
	char profile[PATH_MAX]; /* a kept one; "": none */
	struct stat profile_st; /* the path must still lead to this one */
	/* Of a browser outside /usr; "": none. */
	const char *browser_dir;
	/* What must not be seen although it lies in /usr; or NULL. */
	const char *hidden[3];
};

/* CLONE_NEW* flags of the compartment. */
uint64_t compartment_clone_flags(const struct compartment *);
/*
 * In the child: fills the new namespaces. Returns 0 or an errno value, and
 * then *ret_stage says at what.
 */
int compartment_enter(const struct compartment *, const char **ret_stage);
/*
 * In the child, then: the listener through which the browser leaves, the
 * caller's to close; -1 if it is to have none. 0 or an errno value.
 */
int compartment_listen(const struct compartment *, int *ret_fd);

#endif
