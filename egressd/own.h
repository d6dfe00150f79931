/*
 * own: whether an address and port lead to a listener of this very service:
 * those are refused to every run.
 */
#ifndef EGRESSD_OWN_H
#define EGRESSD_OWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/domains.h"

struct own;

/*
 * For a service that has the uids from base on, count of them. NULL with errno
 * when the kernel does not answer such questions.
 */
struct own *own_new(uid_t base, unsigned int count);
void own_free(struct own **);
/*
 * Whether a connection to it would be taken by one of them. When that cannot
 * be found out, it would. NULL knows none.
 */
bool own_listens(struct own *, const struct domain_address *, uint16_t);

#endif
