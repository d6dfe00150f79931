/*
 * artcheck: files of artifacts are held to their SHA-256 before any byte of them
 * is answered, a step in each turn of the loop, so that nobody waits for one
 * who reads a large one. What was found good is remembered by the checksums of
 * its blocks, and those of the artifacts read last are kept.
 */
#ifndef SUPERVISORD_ARTCHECK_H
#define SUPERVISORD_ARTCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "storage/artifact_sums.h"
#include "supervisord/readart.h"

struct artchecks;
struct client;
struct sup;

struct artchecks *artchecks_new(struct sup *);
void artchecks_free(struct artchecks **);

/* NULL: it must be waited for. Borrowed until the loop goes on. */
const struct artifact_sums *
artcheck_find(struct artchecks *, const struct ulid *);
/*
 * Checks the file, or joins in; readart_checked() then answers the client, if
 * it is still there. False: there is no room for one more.
 */
bool artcheck_wait(struct artchecks *, struct client *, uint32_t seq,
    const struct artifact_row *, const struct readart_want *);

#endif
