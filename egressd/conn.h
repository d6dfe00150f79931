/* conn: one connection of a browser, from its request to its end. */
#ifndef EGRESSD_CONN_H
#define EGRESSD_CONN_H

#include "egressd/cells_int.h"

/*
 * Takes an accepted, non-blocking socket, also on failure; it is in the list
 * of its cell until it ends by itself.
 */
void conn_start(struct cell *, int fd);
/* Its cell has a run: what waits for one goes on. May end it. */
void conn_bound(struct conn *);
/* A list of the service has changed: ends it if it may not be any more. */
void conn_rejudge(struct conn *);
/* Ends it at once. */
void conn_drop(struct conn *);
/* The next one of the same cell, or NULL. */
struct conn *conn_next(const struct conn *);
/* Whether that name is its host. */
bool conn_is_to(const struct conn *, const struct host *);

#endif
