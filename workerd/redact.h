/*
 * redact: takes the secret values of a run out of texts that leave the worker.
 * A page may show what it was given, in its text, its address or a message.
 *
 * Found are values of at least REDACT_MIN bytes as they are, escaped for JSON,
 * URLs (with %20 or +) and HTML, also twice, in base64 at any place of a longer
 * text, and the beginning of one at the end of a text that was cut. In their
 * place stands REDACT_SHOWN.
 *
 * A value that is one short word (word.h) is found as a whole word only, and
 * not behind a slash: else the password "admin" would take apart addresses and
 * titles that were there before it, and tell itself by that.
 */
#ifndef WORKERD_REDACT_H
#define WORKERD_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

#define REDACT_MIN   4
#define REDACT_SHOWN "[secret]"

struct redact;
struct secrets;

/* The secrets are borrowed. NULL when memory ran out. */
struct redact *redact_new(const struct secrets *);
void redact_free(struct redact **);
/* Whether there is anything to take out. */
bool redact_finds(const struct redact *, const void *bytes, size_t len);
/*
 * Appends the bytes without secrets to out; JSON stays JSON, with a number that
 * is a secret turned into a string, and so are true, false and null where they
 * are all of it. False when out gave out.
 */
bool redact_add(
    const struct redact *, const void *bytes, size_t len, struct buf *out);

/*
 * The same for a name that programs go by: a kind, a code, the name of a step.
 * As in the names of members of JSON, a secret that is one short word stays.
 */
bool redact_add_name(const struct redact *, const char *name, struct buf *out);
/*
 * What this process writes goes through that one from here on: messages
 * (report.h) and the log. NULL: through none. It is borrowed.
 */
void redact_install(const struct redact *);
/* NULL when there is none. */
const struct redact *redact_installed(void);

#endif
