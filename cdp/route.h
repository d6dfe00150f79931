/* route: which method names are events that somebody reads. */
#ifndef CDP_ROUTE_H
#define CDP_ROUTE_H

#include <stddef.h>

#include "cdp/cdp.h"

/* CDP_EV__MAX for a method that is not in the table. */
enum cdp_event_kind cdp_route_event(const char *method, size_t len);

#endif
