/* stored: the secrets that are kept in files, each under its name. */
#ifndef LAUNCHER_STORED_H
#define LAUNCHER_STORED_H

#include <sys/types.h>

#include "launcher/options.h"

/* Bytes of one value. */
#define STORED_BYTES_MAX 16384

/* A value and the hosts that it is for, as model/secrethosts.h reads them. */
enum {
	STORED_VALUE,
	STORED_HOSTS,
	STORED_FILES
};

struct stored {
	int fd[STORED_FILES]; /* -1: not open */
	off_t size[STORED_FILES];
};

/*
 * Opens the secret that a run of uid knows by that name: the user's own, else
 * one that is for everybody, else a credential that systemd handed over.
 * The hosts are beside it, in NAME.hosts. Returns 0, *ret to be closed; or
 * ENOENT, ENOKEY (it has no hosts), EPERM (others may read or write it), EFBIG,
 * EINVAL (not a file, or empty), or another errno value.
 */
int stored_open(
    const struct options *, uid_t uid, const char *name, struct stored *ret);
void stored_close(struct stored *);

#endif
