/*
 * reply: answers to clients, and errors in the one shape the contract gives
 * them (MCP contract v1 section 5).
 */
#ifndef SUPERVISORD_REPLY_H
#define SUPERVISORD_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ulid.h"
#include "json/writer.h"
#include "model/errors.h"

#define REPLY_BYTES_MAX (2u << 20)

struct client;

/* What is wrong, collected while a request is checked. */
struct refusal {
	enum err_code code; /* ERR_NONE: nothing */
	char message[512];
};

bool refuse(struct refusal *, enum err_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4))); /* always false */

/* run may be NULL: the run the error is about. */
void reply_error(struct client *, uint32_t seq, enum err_code,
    const struct ulid *run, const char *message);
/* Sends what was written and empties the buf; too much is an error answer. */
void
reply_json(struct client *, uint32_t seq, struct json_writer *, struct buf *);
/*
 * The same for what was done: no error answer may say that it was not. Without
 * memory for it the client is dropped, and asks again.
 */
void
reply_done(struct client *, uint32_t seq, struct json_writer *, struct buf *);
/* STORAGE_FULL or STORAGE_ERROR for a store's error. */
enum err_code reply_store_code(int store_err);

/* prefix_ULID for people; room for prefix + 27. */
#define ID_CHARS (5 + ULID_CHARS)
void id_format(const char *prefix, const struct ulid *, char ret[ID_CHARS + 1]);
bool id_parse(const char *prefix, const char *text, struct ulid *ret_id);
void json_put_id(struct json_writer *, const char *key, const char *prefix,
    const struct ulid *);

#endif
