/*
 * sha256: SHA-256 of long data. The digest is that of libmd; whole blocks go
 * through the processor's own instructions where it has them, which is several
 * times faster.
 */
#ifndef COMMON_SHA256_H
#define COMMON_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sha2.h>

/* In place of SHA256Update; SHA256Init and SHA256Final are libmd's. */
void sha256_update(SHA2_CTX *, const void *, size_t len);
/* All at once. */
void
sha256_of(const void *, size_t len, uint8_t ret_digest[SHA256_DIGEST_LENGTH]);

#endif
