/*
 * secrets: what the workers of runs may read and nobody else, in sealed memfds
 * that are kept by run until their turn comes.
 */
#ifndef LAUNCHER_SECRETS_H
#define LAUNCHER_SECRETS_H

#include "launch/launch.h"

struct secrets;

/* NULL when memory ran out. */
struct secrets *secrets_new(void);
void secrets_free(struct secrets **);
/*
 * Keeps those of a run, instead of what it had; takes fd, which may be -1 when
 * it was lost on its way. EPROTO, and nothing kept, for what is no sealed
 * memfd; when there is no more room they are lost, which their run will find
 * out.
 */
int secrets_keep(struct secrets *, const struct ulid *run, int fd);
/* The run's, which stay in here; -1 when there are none. */
int secrets_find(const struct secrets *, const struct ulid *run);
void secrets_drop(struct secrets *, const struct ulid *run);
/* Lets go of all: nobody is left who knows the runs. */
void secrets_clear(struct secrets *);

#endif
