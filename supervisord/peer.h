/*
 * peer: who is at the other end of a connection, as the kernel says, and
 * whether they may come in by this door.
 */
#ifndef SUPERVISORD_PEER_H
#define SUPERVISORD_PEER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct settings;

/*
 * May the process that connected fd use the clients' socket, or the
 * administrators'? Root and the user the service runs as may use both, the
 * members of adminGroup likewise, those of clientGroup the clients'. With
 * own_uid_only groups do not count. *ret_uid is set in any case, to -1 when the
 * kernel does not say.
 */
bool peer_welcome(int fd, bool admin, bool own_uid_only,
    const struct settings *, uid_t *ret_uid);

#endif
