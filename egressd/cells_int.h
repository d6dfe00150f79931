/*
 * cells_int: what the files of a cell and its connections share.
 */
#ifndef EGRESSD_CELLS_INT_H
#define EGRESSD_CELLS_INT_H

#include <sys/queue.h>

#include "egressd/cells.h"
#include "egressd/judge.h"
#include "egressd/known.h"
#include "model/egress.h"

#define CELL_MAGIC 0x65676365U

struct conn;
struct reports;

struct cell {
	uint32_t magic;
	LIST_ENTRY(cell) link;
	struct cells *owner;
	uint32_t id;
	int listener; /* -1: not there */
	struct event *on_accept;
	bool accepting;
	LIST_HEAD(, conn) conns;
	size_t nconns;
	size_t nactive; /* of those, the ones past their request */
	size_t nfds;    /* that they hold, or may come to hold */
	/* Of the run that it is bound to. */
	bool bound;
	char run_id[IPC_ID_MAX + 1];
	bool local;
	struct domain_list *allowed, *forbidden, *kept;
	int64_t max_connections, max_bytes;
	struct cells_sums sums;
	bool used_up; /* all bytes that it may */
	struct reports *reports;
	/* Of the run that is bound, or is going to be. */
	char named_run[IPC_ID_MAX + 1];
	struct known named;
	/* Names that might be private here, but were public: for good. */
	struct known was_public;
};

struct cells {
	struct egress *egress;
	struct event *on_resume; /* accepts again */
	bool paused;             /* no descriptor was left */
	bool told;               /* and that was logged */
	LIST_HEAD(, cell) list;
	LIST_HEAD(, cell) spare; /* a listener is handed over once */
};

/* The rules for its connections to that host now. */
void
cell_judge(const struct cell *, const struct host *, struct judge *ret_judge);
/* The name has a public address: none near this machine is its own any more. */
void cell_saw_public(struct cell *, const struct host *);
/*
 * Sets aside so many descriptors more. No cell gets more than is left for all
 * others: false when it would.
 */
bool cell_take_fds(struct cell *, size_t n);
void cell_return_fds(struct cell *, size_t n);
/* A connection of it has ended. */
void cell_conn_ended(struct cell *);
/* Counts bytes; the run may have had its last, which used_up tells. */
void cell_count(struct cell *, size_t in, size_t out);
/* Closes all connections that it has. */
void cell_close_conns(struct cell *);
/* Tells supervisord, unless it was told a moment ago. address may be NULL. */
void cell_report(struct cell *, const char *host, uint16_t port,
    const struct domain_address *address, enum egress_outcome,
    const char *rule);

#endif
