/*
 * cells: the compartments that egressd serves: the listener in each one's
 * network, the run that it is bound to, its connections and sums.
 */
#ifndef EGRESSD_CELLS_H
#define EGRESSD_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "egressd/egress.h"
#include "ipc/msg.h"

struct cells;

/* What a run may do. Texts are borrowed for the call. */
struct cells_binding {
	uint32_t cell_id;
	const char *run_id;
	bool local; /* trust */
	const char *allowed, *forbidden;
	const char *kept; /* what its client keeps all of its runs to */
	int64_t max_connections;
	int64_t max_bytes;
};

struct cells_sums {
	int64_t connections; /* those that came about */
	int64_t in, out;     /* bytes */
	int64_t refused;
};

struct cells *cells_new(struct egress *);
void cells_free(struct cells **);
/* Closes all connections of all cells. */
void cells_close_conns(struct cells *);
/* A list of the service has changed: closes what it does not allow. */
void cells_rejudge(struct cells *);
/* The listener of a cell, which becomes the table's. */
void cells_listen(struct cells *, uint32_t cell_id, int fd);
/* The cell is no more. */
void cells_gone(struct cells *, uint32_t cell_id);
/*
 * Hosts that the inputs of a run name, one a line: said before the run is bound,
 * in as many calls as it takes.
 */
void cells_name(
    struct cells *, uint32_t cell_id, const char *run_id, const char *hosts);
/*
 * From now on its connections are this run's; those of another run are closed.
 * The same run again changes nothing: what a run may do is settled once.
 * False with a reason when the patterns are wrong or memory is short.
 */
bool cells_bind(struct cells *, const struct cells_binding *,
    char ret_why[DOMAINS_WHY_BYTES]);
/* Closes what the run has; all sums are 0 when it is not bound there. */
void cells_unbind(struct cells *, uint32_t cell_id, const char *run_id,
    struct cells_sums *ret_sums);

#endif
