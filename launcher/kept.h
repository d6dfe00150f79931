/* kept: which kept profiles supervisord knows, and the removal of others. */
#ifndef LAUNCHER_KEPT_H
#define LAUNCHER_KEPT_H

#include <stdbool.h>

#include "launcher/dirs.h"

struct kept;

/* NULL when memory ran out. */
struct kept *kept_new(void);
void kept_free(struct kept **);
/* Names one that is to stay. 0, or ENOMEM: then nothing may be purged. */
int kept_name(struct kept *, const char *name);
/*
 * Drops all profiles but those named since the last call and those that in_use
 * says yes of; what cannot be dropped is logged.
 */
void kept_purge(struct kept *, const struct dirs *,
    bool (*in_use)(void *, const char *name), void *arg);
/* Forgets the names: who gave them is gone. */
void kept_clear(struct kept *);

#endif
