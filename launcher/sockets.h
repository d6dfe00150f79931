/* sockets: the two listening sockets of an instance. */
#ifndef LAUNCHER_SOCKETS_H
#define LAUNCHER_SOCKETS_H

#include "launcher/dirs.h"

struct sockets {
	int client_fd;
	int admin_fd;
	bool inherited; /* from systemd: not ours to unlink */
};

/*
 * Takes the sockets named "client" and "admin" from systemd, else binds
 * client.sock and admin.sock in the socket directory, for their groups. They do
 * not listen yet.
 * Returns 0, or an exit code after having logged the reason.
 */
int sockets_open(struct sockets *, const struct dirs *, const struct options *);
/*
 * Lets the groups of the settings use the sockets. 0 or an errno value; sockets
 * of systemd's are left alone.
 */
int sockets_regroup(
    const struct sockets *, const struct dirs *, const struct settings *);
/* Removes the files of sockets that were bound here. */
void sockets_unlink(const struct sockets *, const struct dirs *);

#endif
