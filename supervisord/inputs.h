/*
 * inputs: the inputs of a submission, from the bytes of a frame to what is
 * stored of them and what is not.
 */
#ifndef SUPERVISORD_INPUTS_H
#define SUPERVISORD_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "json/tape.h"
#include "supervisord/options.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"

struct store;

struct inputs {
	struct json_doc *doc; /* of text; NULL once sealed */
	struct buf text;
	int secrets_fd; /* a sealed memfd with what is not stored, or -1 */
};

void inputs_init(struct inputs *);
void inputs_clear(struct inputs *);
/*
 * Reads and checks them; the trace id among them goes into the options unless
 * these have one. Keeps nothing of the bytes.
 */
bool inputs_read(struct inputs *, const struct template *, const void *json,
    size_t len, struct options *, struct refusal *);
/*
 * A keyed digest of all of them, of where the options let the run go and of the
 * session it shall be in (NULL: one of its own): equal for equal values.
 */
bool inputs_digest(const struct inputs *, const struct options *,
    const struct ulid *session, const struct store *, uint8_t ret_digest[32],
    struct refusal *);
/* Takes the secrets out; what remains as text is for the store. */
bool inputs_seal(struct inputs *, const struct template *, struct refusal *);

/* Reads a document of a client; name is what the refusal calls it. */
bool document_read(const void *json, size_t len, size_t max, const char *name,
    unsigned flags, struct json_doc **ret, struct refusal *);

#endif
