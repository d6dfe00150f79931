/*
 * secrets: takes out of the inputs of a submission what must not be stored:
 * the values that the template's schema says are writeOnly.
 */
#ifndef SUPERVISORD_SECRETS_H
#define SUPERVISORD_SECRETS_H

#include <stdbool.h>

#include "common/buf.h"
#include "json/schema.h"
#include "supervisord/reply.h"
#include "storage/run.h"

struct sup;

/*
 * Refuses what would be taken for something else: a {"secretRef":...} that can
 * be no name, and an input that looks like {"secret":0}. To be called before
 * the inputs are validated.
 */
bool
secrets_check(const struct schema *, struct json_val inputs, struct refusal *);
/*
 * Appends the inputs to text with {"secret":N} in place of each secret string
 * or number (a {"secretRef":"name"} stays), and seals these as a JSON array of strings in a memfd, which
 * becomes the caller's; -1 when there are none, and text is left alone.
 */
bool secrets_take(const struct schema *, struct json_val inputs,
    struct buf *text, int *ret_fd, struct refusal *);
/*
 * The names of the stored secrets that the run's inputs refer to, each once,
 * a NUL behind each.
 */
bool secrets_names(struct sup *, const struct run_record *, struct buf *names);
/* Whether the stored inputs of a run name secrets; true when in doubt. */
bool secrets_needed(struct sup *, const struct run_record *);

#endif
