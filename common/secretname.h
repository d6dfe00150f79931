/*
 * secretname: names of stored secrets, and where they are. Used by supervisord,
 * which knows names only, the launcher, which opens the files, and
 * browsertaskctl, which writes them.
 */
#ifndef COMMON_SECRETNAME_H
#define COMMON_SECRETNAME_H

#include <stdbool.h>
#include <stddef.h>

#define SECRETNAME_BYTES 65 /* with the NUL */
/* Behind a name: the file of the hosts that the secret is for. */
#define SECRETNAME_HOSTS ".hosts"

/*
 * 1 to 64 of letters, digits, ".", "_" and "-", a letter first: numbers are the
 * directories of users. None ends like the files of hosts.
 */
bool secretname_good(const char *);
/*
 * The directory of stored secrets where no other is configured: below
 * sysconfdir for root, else below $XDG_CONFIG_HOME or $HOME. False when it is
 * too long, or the environment names none.
 */
bool secretname_dir(bool root, const char *sysconfdir, char *dst, size_t size);

#endif
