/*
 * shorten: documents cut to fit an answer, their shape kept: lists lose their
 * last elements, long strings their ends. Pure.
 */
#ifndef SUPERVISORD_SHORTEN_H
#define SUPERVISORD_SHORTEN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/ulid.h"
#include "json/tape.h"
#include "json/writer.h"

/*
 * Writes the object or array v in at most max_bytes, as much of it as fits; a
 * string that was cut ends in an ellipsis. Nothing is written as {} or [].
 */
void shorten_write(struct json_val v, size_t max_bytes, struct json_writer *);
/*
 * The same for the result of a run, which gets a member "truncated" that counts
 * its items and names the artifact that has all of it (NULL: there is none).
 */
void shorten_result(struct json_val v, size_t max_bytes,
    const struct ulid *artifact, struct json_writer *);

#endif
