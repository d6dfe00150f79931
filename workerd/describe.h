/*
 * describe: the metadata of templates, read by running each one's program in a
 * confined state of its own that has no ctx.
 */
#ifndef WORKERD_DESCRIBE_H
#define WORKERD_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct builtin;
struct chan;

#define DESCRIBE_MAX_BYTES ((size_t)256 << 10)

/* Appends the metadata as one JSON object; false: why is in errbuf. */
bool describe_template(
    const struct builtin *, struct buf *out, char *errbuf, size_t errsize);
/*
 * Sends the metadata of a template that is not installed, or what is wrong with
 * its text, and describe.done.
 */
bool describe_send_text(struct chan *, const struct buf *text);
/*
 * Sends the metadata of all templates and describe.done. Templates that do not
 * describe themselves are logged and left out.
 */
bool describe_send(struct chan *);

#endif
