/*
 * metacheck: the rules of a template's metadata (contract section 6): for
 * people who write one, and for registry, which takes none that has a fault.
 */
#ifndef SUPERVISORD_METACHECK_H
#define SUPERVISORD_METACHECK_H

#include <stdbool.h>

#include "json/tape.h"

struct registry;

/* path is a JSON pointer into the metadata; both texts are borrowed. */
typedef void
metacheck_fn(void *arg, bool warning, const char *path, const char *message);

/* Calls fn for every fault and doubt, in the order of the rules. */
void metacheck(
    struct json_val meta, const struct registry *, metacheck_fn *fn, void *arg);

#endif
