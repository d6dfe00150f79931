/*
 * By the processor's own instruction where there is one; else table-driven,
 * eight bytes a step, for documents of megabytes, with tables that are made at
 * the first call. Runs in supervisord.
 */
#include <stdbool.h>
#include <string.h>
#ifdef __x86_64__
#include <nmmintrin.h>
#endif

#include "storage/crc32c.h"

#define POLYNOMIAL 0x82f63b78u /* reflected */

static uint32_t tables[8][256];
static bool tables_made;

static void
tables_make(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = (c & 1) != 0 ? c >> 1 ^ POLYNOMIAL : c >> 1;
		tables[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int t = 1; t < 8; t++)
			tables[t][i] = tables[t - 1][i] >> 8 ^
			    tables[0][tables[t - 1][i] & 0xff];
	tables_made = true;
}

static uint32_t
le32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

uint32_t
crc32c_by_table(uint32_t crc, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	if (!tables_made)
		tables_make();
	crc = ~crc;
	for (; len >= 8; p += 8, len -= 8) {
		uint32_t a = crc ^ le32(p), b = le32(p + 4);

		crc = tables[7][a & 0xff] ^ tables[6][a >> 8 & 0xff] ^
		    tables[5][a >> 16 & 0xff] ^ tables[4][a >> 24] ^
		    tables[3][b & 0xff] ^ tables[2][b >> 8 & 0xff] ^
		    tables[1][b >> 16 & 0xff] ^ tables[0][b >> 24];
	}
	for (; len > 0; p++, len--)
		crc = crc >> 8 ^ tables[0][(crc ^ *p) & 0xff];
	return ~crc;
}

#ifdef __x86_64__
static uint32_t __attribute__((target("sse4.2")))
crc32c_by_sse42(uint32_t crc, const uint8_t *p, size_t len)
{
	uint64_t c = ~crc, word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, sizeof(word));
		c = _mm_crc32_u64(c, word);
	}
	for (; len > 0; p++, len--)
		c = _mm_crc32_u8((uint32_t)c, *p);
	return ~(uint32_t)c;
}
#endif

uint32_t
crc32c(uint32_t crc, const void *bytes, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_by_sse42(crc, bytes, len);
#endif
	return crc32c_by_table(crc, bytes, len);
}
