/* record: the last row of the audit log, where supervisord cannot write. */
#ifndef LAUNCHER_RECORD_H
#define LAUNCHER_RECORD_H

#include "common/recordfile.h"
#include "launch/launch.h"

struct record {
	int fd;                      /* -1: there is none */
	char text[RECORD_BYTES + 1]; /* "ROW:HASH", or "" */
};

/* Opens or makes it; without it the service goes on, and the log says so. */
void record_open(struct record *, const char *state);
/* A row that was told; row 0 is none. */
void record_take(struct record *, const struct launch_row_told *);

#endif
