/* crc32c: the Castagnoli checksum (RFC 3720 appendix B.4) of records. */
#ifndef STORAGE_CRC32C_H
#define STORAGE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Goes on from crc (0 at the start). */
uint32_t crc32c(uint32_t crc, const void *, size_t len);
/* The same where the processor has no instruction for it; for tests. */
uint32_t crc32c_by_table(uint32_t crc, const void *, size_t len);

#endif
