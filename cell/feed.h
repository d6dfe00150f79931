/* feed: the pipe through which a worker gets the secrets of its run. */
#ifndef CELL_FEED_H
#define CELL_FEED_H

#include <stdbool.h>
#include <sys/types.h>

/* Descriptors are -1 when closed. */
struct feed {
	int from; /* what is still to be copied */
	int to;   /* the cell's end of the worker's pipe */
	off_t at; /* of from: its own offset is shared with others */
};

void feed_init(struct feed *);
/*
 * A pipe for a new worker; the old one is closed. *ret_fd is the worker's end,
 * the caller's to close. 0 or an errno value.
 */
int feed_open(struct feed *, int *ret_fd);
/* Takes what the worker is to get; false when it has got something already. */
bool feed_begin(struct feed *, int from);
/* Whether the pipe should be polled for room. */
bool feed_waits(const struct feed *);
/* Copies what the pipe takes, and closes it behind the last byte. */
void feed_go(struct feed *);
void feed_close(struct feed *);

#endif
