/* launchlink: what the launcher says to egressd. */
#ifndef EGRESSD_LAUNCHLINK_H
#define EGRESSD_LAUNCHLINK_H

#include "egressd/egress.h"

struct launchlink;

/* Takes the socket. NULL without memory. */
struct launchlink *launchlink_new(struct egress *, int fd);
void launchlink_free(struct launchlink **);

#endif
