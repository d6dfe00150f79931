/*
 * celllog: what worker and browser of one cell write to their stderr, as lines
 * of our own log, bounded in length and number.
 */
#ifndef SUPERVISORD_CELLLOG_H
#define SUPERVISORD_CELLLOG_H

struct celllog;
struct event_base;

/*
 * Takes the pipe's read end (also on failure). name starts each line and is
 * copied. NULL when memory ran out: the cell then runs without a log.
 */
struct celllog *celllog_new(struct event_base *, int fd, const char *name);
/* What comes from here on is of another run. */
void celllog_rename(struct celllog *, const char *name);
/* Reads what is still in the pipe, then closes it. */
void celllog_free(struct celllog **);

#endif
