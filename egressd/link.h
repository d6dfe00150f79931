/*
 * link: what supervisord says of the runs in the cells, and what it is told.
 */
#ifndef EGRESSD_LINK_H
#define EGRESSD_LINK_H

#include <stdint.h>

#include "egressd/egress.h"
#include "model/egress.h"

struct link;

/*
 * Takes the socket, also on failure (NULL). When supervisord is gone, or breaks
 * the protocol, the link ends by itself and egress->link becomes NULL.
 */
struct link *link_new(struct egress *, int fd);
void link_free(struct link **);
/* One that cannot be told counts as told: runs must not wait for readers. */
void link_report(struct link *, uint32_t cell_id, const char *run_id,
    const char *host, uint16_t port, const struct domain_address *,
    enum egress_outcome, const char *rule);

#endif
