/*
 * scan: jumps over the bytes of a JSON text that need no decision. Private to
 * json/. With SSE2 16 bytes at a time; the portable loops are the tails of
 * those and everything elsewhere. Never reads at or beyond end.
 */
#ifndef JSON_SCAN_H
#define JSON_SCAN_H

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Stops at '"', '\\', a control character or a byte that is not ASCII. */
static inline const uint8_t *
json_scan_plain_portable(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p >= 0x20 && *p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Stops at '"' or '\\'. */
static inline const uint8_t *
json_scan_quote_portable(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Stops at '"' or a bracket of either kind. */
static inline const uint8_t *
json_scan_nest_portable(const uint8_t *p, const uint8_t *end)
{
	while (p < end && *p != '"' && (*p | 0x20) != '{' && (*p | 0x20) != '}')
		p++;
	return p;
}

#ifdef __SSE2__

static inline __m128i
json_scan_load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* A bit for each byte at which json_scan_plain() stops. */
static inline unsigned
json_scan_stops(__m128i v)
{
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i slash = _mm_set1_epi8('\\');
	const __m128i space = _mm_set1_epi8(0x20);
	__m128i hit;

	/* Signed: bytes from 0x80 on are below the space too. */
	hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash));
	hit = _mm_or_si128(hit, _mm_cmplt_epi8(v, space));
	return (unsigned)_mm_movemask_epi8(hit);
}

static inline const uint8_t *
json_scan_plain(const uint8_t *p, const uint8_t *end)
{
	unsigned mask;
	__m128i v;

	for (; end - p >= 16; p += 16) {
		mask = json_scan_stops(json_scan_load(p));
		if (mask != 0)
			return p + __builtin_ctz(mask);
	}
	/* Keys and names are shorter. */
	if (end - p >= 8) {
		v = _mm_loadl_epi64((const __m128i *)(const void *)p);
		mask = json_scan_stops(v) & 0xff;
		if (mask != 0)
			return p + __builtin_ctz(mask);
		p += 8;
	}
	return json_scan_plain_portable(p, end);
}

static inline const uint8_t *
json_scan_quote(const uint8_t *p, const uint8_t *end)
{
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i slash = _mm_set1_epi8('\\');

	for (; end - p >= 16; p += 16) {
		__m128i v = json_scan_load(p);
		unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(
		    _mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));

		if (mask != 0)
			return p + __builtin_ctz(mask);
	}
	return json_scan_quote_portable(p, end);
}

static inline const uint8_t *
json_scan_nest(const uint8_t *p, const uint8_t *end)
{
	const __m128i quote = _mm_set1_epi8('"');
	const __m128i open = _mm_set1_epi8('{');
	const __m128i close = _mm_set1_epi8('}');
	const __m128i fold = _mm_set1_epi8(0x20);

	for (; end - p >= 16; p += 16) {
		__m128i v = json_scan_load(p), w = _mm_or_si128(v, fold), hit;
		unsigned mask;

		/* '[' and ']' differ from '{' and '}' in one bit. */
		hit = _mm_or_si128(_mm_cmpeq_epi8(v, quote),
		    _mm_or_si128(
			_mm_cmpeq_epi8(w, open), _mm_cmpeq_epi8(w, close)));
		mask = (unsigned)_mm_movemask_epi8(hit);
		if (mask != 0)
			return p + __builtin_ctz(mask);
	}
	return json_scan_nest_portable(p, end);
}

#else

#define json_scan_plain json_scan_plain_portable
#define json_scan_quote json_scan_quote_portable
#define json_scan_nest  json_scan_nest_portable

#endif

#endif
