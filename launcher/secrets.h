/*
 * secrets: what the workers of runs may read and nobody else, in sealed memfds
 * that are kept by run until their turn comes.
 */
#ifndef LAUNCHER_SECRETS_H
#define LAUNCHER_SECRETS_H

#include <sys/types.h>

#include "launch/launch.h"
#include "launcher/carry.h"
#include "launcher/stored.h"

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
/*
 * Adds a stored secret, copied from its files, to what is to be given to the
 * run next; with an error, that it cannot be had. What was added for another
 * run and not taken is let go.
 */
void secrets_add(struct secrets *, const struct launch_secret_ref *,
    const struct stored *, int error);
/*
 * What the run's worker is to read, the caller's to close: first the document
 * that was kept, if any; behind a NUL, for each stored one, its name, a NUL,
 * its length in four bytes, lowest first, its bytes, and so its hosts. -1 when
 * there is nothing, or *ret_missing, zeroed else, names what cannot be had.
 */
int secrets_take(struct secrets *, const struct ulid *run,
    struct launch_missing *ret_missing);
void secrets_drop(struct secrets *, const struct ulid *run);
/*
 * Supervisord has ended: lets go of what was being added for a run, since that
 * run is given it from the beginning, or never.
 */
void secrets_leave(struct secrets *);
/* Tells the next one, in SECRET_KEPT, for which runs there are some. */
void secrets_tell(const struct secrets *,
    void (*send)(void *arg, const struct launch_msg *), void *arg);
/* For the program that follows this one, and what one before has left. */
void secrets_carry(const struct secrets *, struct carry *);
void secrets_restore(struct secrets *, const struct carry *);
/* Lets go of all: nobody is left who knows the runs. */
void secrets_clear(struct secrets *);

#endif
