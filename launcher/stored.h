/* stored: the secrets that are kept in files, each under its name. */
#ifndef LAUNCHER_STORED_H
#define LAUNCHER_STORED_H

#include <sys/types.h>

#include "launcher/options.h"

/* Bytes of one value. */
#define STORED_BYTES_MAX 16384

/*
 * Opens the secret that a run of uid knows by that name: the user's own, else
 * one that is for everybody, else a credential that systemd handed over.
 * Returns 0, *ret_fd to be closed and *ret_size its size; or ENOENT, EPERM
 * (others may read or write it), EFBIG, EINVAL (not a file, or empty), or
 * another errno value.
 */
int stored_open(const struct options *, uid_t uid, const char *name,
    int *ret_fd, off_t *ret_size);

#endif
