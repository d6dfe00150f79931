/*
 * state: what sites keep in a browser, as one JSON text that outlives it:
 *
 *	{"cookies": [{"name", "value", "domain", "path", "expires" (-1: until
 *	the browser ends), "httpOnly", "secure", "sameSite", "priority",
 *	"sourceScheme", "sourcePort", "partitionKey"}, ...],
 *	"origins": [{"origin": "https://host:port", "localStorage":
 *	[{"name", "value"}, ...]}, ...]}
 *
 * At most LIMIT_STATE_BYTES. It is as secret as a password.
 */
#ifndef PAGE_STATE_H
#define PAGE_STATE_H

#include <stddef.h>

#include "common/buf.h"

struct browser;
struct state_load;
struct state_save;

/*
 * Comes once, from the loop, as the last thing; the object may be freed in it.
 * json is NULL when nothing could be exported, and why says the reason. What
 * was left out was told as a warning.
 */
typedef void state_save_cb(const struct buf *json, const char *why, void *arg);
/* why is NULL, or says that the state could not be read at all. */
typedef void state_load_cb(const char *why, void *arg);

/*
 * Exports all cookies and the local storage of the origins that the browser's
 * tabs have shown. What before says of other origins is taken over; it is an
 * earlier state (not parsable: ignored) and borrowed until the end. Takes
 * timeout_ms at most. NULL when memory ran out.
 */
struct state_save *state_save(struct browser *, const void *before,
    size_t before_len, int timeout_ms, state_save_cb *, void *arg);
/* Without calling back if it has not ended. */
void state_save_free(struct state_save **);

/*
 * Replaces all cookies by those of the state and the local storage of each of
 * its origins; no document of theirs may be open. The text is borrowed until
 * the end.
 */
struct state_load *state_load(struct browser *, const void *json, size_t len,
    int timeout_ms, state_load_cb *, void *arg);
void state_load_free(struct state_load **);

#endif
