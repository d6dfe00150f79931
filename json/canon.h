/*
 * canon: one spelling for equal JSON values, so that parameters can be compared
 * by a digest and values by their bytes. Used by supervisord (idempotency) and
 * the schema validator.
 */
#ifndef JSON_CANON_H
#define JSON_CANON_H

#include <stdbool.h>

#include "common/buf.h"
#include "json/tape.h"

/*
 * Appends v without white space, members sorted by the bytes of their keys (of
 * equal keys only the last), strings with the fewest escapes, numbers by their
 * exact decimal value (1.0, 10e-1 and 1 are the same, -0 is 0). The text is
 * valid JSON. False if v is missing or memory or the buf gave out; out may then
 * hold a part.
 */
bool json_canon_add(struct json_val, struct buf *out);

#endif
