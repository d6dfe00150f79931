/*
 * json_plain: what RFC 8259 says, as plainly as it can be written, to compare
 * json/ with. Recursive and slow; only tests use it.
 */
#ifndef T_FUZZ_JSON_PLAIN_H
#define T_FUZZ_JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the bytes are one JSON text in UTF-8, nested at most max_depth. */
bool json_plain_valid(const uint8_t *, size_t len, unsigned max_depth);
/* Whether the bytes are UTF-8; control characters are. */
bool json_plain_utf8(const uint8_t *, size_t len);

#endif
