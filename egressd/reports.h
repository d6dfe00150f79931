/*
 * reports: which refusals of a run have just been told, so that a page that
 * tries again and again is not told of each time.
 */
#ifndef EGRESSD_REPORTS_H
#define EGRESSD_REPORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/egress.h"

struct reports;

/* NULL without memory. */
struct reports *reports_new(void);
void reports_free(struct reports **);
/*
 * Whether this one is to be told: the first, and then one a second of the same
 * host, port and outcome; and not more than a bound a second of all.
 */
bool reports_due(struct reports *, const char *host, uint16_t port,
    enum egress_outcome, int64_t now_ms);

#endif
