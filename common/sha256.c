/*
 * Blocks by the SHA instructions of x86 processors, found out at run time;
 * everything else, padding included, is left to libmd. Runs in supervisord.
 */
#include <stdbool.h>

#include "common/sha256.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>

#define CPUID7_EBX_SHA    (1u << 29)
#define CPUID1_ECX_SSSE3  (1u << 9)
#define CPUID1_ECX_SSE4_1 (1u << 19)

static const uint32_t round_constants[64] = { 0x428a2f98, 0x71374491,
	0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d,
	0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb,
	0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
	0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb,
	0xbef9a3f7, 0xc67178f2 };

static bool
have_instructions(void)
{
	unsigned a, b, c, d;
	const unsigned need = CPUID1_ECX_SSSE3 | CPUID1_ECX_SSE4_1;

	if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & need) != need)
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
	    (b & CPUID7_EBX_SHA) != 0;
}

/* abef and cdgh hold the state as the instructions want it. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
add_block(__m128i *abef, __m128i *cdgh, const uint8_t *block)
{
	const __m128i big_endian =
	    _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
	__m128i x = *abef, y = *cdgh, w[4], k, next;

	for (int i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(
		    _mm_loadu_si128(
			(const __m128i *)(const void *)(block + 16 * i)),
		    big_endian);
	for (int i = 0; i < 64; i += 4) {
		k = _mm_loadu_si128(
		    (const __m128i *)(const void *)(round_constants + i));
		k = _mm_add_epi32(k, w[0]);
		y = _mm_sha256rnds2_epu32(y, x, k);
		x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(k, 0x0e));
		next = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]),
		    _mm_alignr_epi8(w[3], w[2], 4));
		next = _mm_sha256msg2_epu32(next, w[3]);
		w[0] = w[1];
		w[1] = w[2];
		w[2] = w[3];
		w[3] = next;
	}
	*abef = _mm_add_epi32(*abef, x);
	*cdgh = _mm_add_epi32(*cdgh, y);
}

__attribute__((target("sha,sse4.1,ssse3"))) static void
add_blocks(uint32_t st[8], const uint8_t *p, size_t n)
{
	__m128i abef =
	    _mm_set_epi32((int)st[0], (int)st[1], (int)st[4], (int)st[5]);
	__m128i cdgh =
	    _mm_set_epi32((int)st[2], (int)st[3], (int)st[6], (int)st[7]);

	for (; n > 0; n--, p += SHA256_BLOCK_LENGTH)
		add_block(&abef, &cdgh, p);
	st[0] = (uint32_t)_mm_extract_epi32(abef, 3);
	st[1] = (uint32_t)_mm_extract_epi32(abef, 2);
	st[4] = (uint32_t)_mm_extract_epi32(abef, 1);
	st[5] = (uint32_t)_mm_extract_epi32(abef, 0);
	st[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
	st[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
	st[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
	st[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

#else

static bool
have_instructions(void)
{
	return false;
}

static void
add_blocks(uint32_t st[8], const uint8_t *p, size_t n)
{
	for (; n > 0; n--, p += SHA256_BLOCK_LENGTH)
		SHA256Transform(st, p);
}

#endif

static bool
is_fast(void)
{
	static enum {
		UNKNOWN,
		NO,
		YES
	} fast;

	if (fast == UNKNOWN)
		fast = have_instructions() ? YES : NO;
	return fast == YES;
}

void
sha256_update(SHA2_CTX *ctx, const void *bytes, size_t len)
{
	size_t used = ctx->bitcount[0] / 8 % SHA256_BLOCK_LENGTH, n;
	const uint8_t *p = bytes;

	if (len >= 2 * SHA256_BLOCK_LENGTH && is_fast()) {
		/* First the block that was begun. */
		n = used == 0 ? 0 : SHA256_BLOCK_LENGTH - used;
		SHA256Update(ctx, p, n);
		p += n;
		len -= n;
		n = len / SHA256_BLOCK_LENGTH;
		add_blocks(ctx->state.st32, p, n);
		n *= SHA256_BLOCK_LENGTH;
		ctx->bitcount[0] += (uint64_t)n * 8;
		p += n;
		len -= n;
	}
	SHA256Update(ctx, p, len);
}

void
sha256_of(
    const void *bytes, size_t len, uint8_t ret_digest[SHA256_DIGEST_LENGTH])
{
	SHA2_CTX ctx;

	SHA256Init(&ctx);
	sha256_update(&ctx, bytes, len);
	SHA256Final(ret_digest, &ctx);
}
