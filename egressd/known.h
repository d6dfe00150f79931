/*
 * known: the hosts that a run names, and the names that were public while its
 * cell lived. Both decide whether an address near this machine may be reached.
 */
#ifndef EGRESSD_KNOWN_H
#define EGRESSD_KNOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "egressd/host.h"
#include "model/limits.h"

/* A set of hosts, one a line, each line between newlines. */
struct known {
	struct buf lines;
};

void known_init(struct known *);
void known_clear(struct known *);
/* Whether the set holds the host, in whatever spelling. */
bool known_has(const struct known *, const struct host *);
/* False when the set is full or memory is short. A bad host is left out. */
bool known_add(struct known *, const struct host *);
/* Adds hosts, one a line. False as known_add(). */
bool known_add_lines(struct known *, const char *lines);

#endif
