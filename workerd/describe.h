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
struct outbox;
struct ipc_params;

#define DESCRIBE_MAX_BYTES ((size_t)256 << 10)

/* Appends the metadata as one JSON object; false: why is in errbuf. */
bool describe_template(
    const struct builtin *, struct buf *out, char *errbuf, size_t errsize);
/*
 * Sends the metadata of all templates and describe.done. Templates that do not
 * describe themselves are logged and left out.
 */
bool describe_send(struct outbox *);

/*
 * Adds the chunk of a describe.text, a template that is not installed, to text.
 * After the last one sends its metadata, or what is wrong with it, and
 * describe.done, and finishes the chan. False: why says what is wrong.
 */
bool describe_take_text(struct outbox *, struct buf *text,
    const struct ipc_params *, const char **ret_why);

#endif
