/* envelope: the members of one message of the browser. */
#ifndef CDP_ENVELOPE_H
#define CDP_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/span.h"

/*
 * False for what is no message, and for an event that nobody reads. The spans
 * lie in msg; a result that was not walked is an object by its first and last
 * byte only.
 */
bool
cdp_envelope_take(const uint8_t *msg, size_t len, struct json_envelope *ret);
/*
 * Whether a session id of the browser may stand in our own JSON text, where it
 * is not escaped, and is not too long.
 */
bool cdp_session_id_ok(const char *id, size_t len);

#endif
