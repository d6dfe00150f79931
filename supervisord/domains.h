/*
 * domains: the lists of hosts that a caller narrows its run with, from JSON to
 * the patterns that egressd judges by.
 */
#ifndef SUPERVISORD_DOMAINS_H
#define SUPERVISORD_DOMAINS_H

#include <stdbool.h>

#include "json/tape.h"
#include "supervisord/reply.h"

/*
 * Reads an array of strings. *ret_lines (the caller frees it) gets the patterns
 * of model/domains.h, one a line, names of other scripts as A-labels; "" when
 * there are none. On failure it is untouched and the refusal names the entry;
 * path is where the array is.
 */
bool domains_read(
    struct json_val, const char *path, char **ret_lines, struct refusal *);

#endif
