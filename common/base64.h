/* base64: RFC 4648 section 4, with padding. */
#ifndef COMMON_BASE64_H
#define COMMON_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define BASE64_LEN(n) (((n) + 2) / 3 * 4)

/* Appends the encoding of len bytes. */
bool base64_encode(struct buf *, const uint8_t *, size_t len);
/* Appends what text decodes to; false for anything but strict base64. */
bool base64_decode(struct buf *, const char *text, size_t len);

#endif
