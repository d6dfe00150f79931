/*
 * The pre-scan of received bytes. Runs in every process that has a peer. A
 * fixed stack of counters: no memory, no recursion, no byte beyond the end.
 */
#include <stdbool.h>
#include <stdint.h>

#include "common/panic.h"
#include "ipc/head.h"
#include "ipc/scan.h"

struct scan {
	const uint8_t *p;
	const uint8_t *end;
	unsigned max_depth;
	unsigned depth;
	uint64_t open[IPC_DEPTH_MAX + 1]; /* values missing per level */
};

/* The length of the UTF-8 sequence at p; 0 when there is none. */
static size_t
utf8_len(const uint8_t *p, size_t left)
{
	uint8_t c = p[0], low = 0x80, high = 0xbf;
	size_t n;

	if (c < 0x80)
		return 1;
	n = c >= 0xc2 && c <= 0xdf   ? 2
	    : (c & 0xf0) == 0xe0     ? 3
	    : c >= 0xf0 && c <= 0xf4 ? 4
				     : 0;
	if (n == 0 || n > left)
		return 0;
	/* Overlong forms, surrogates and what is above U+10FFFF. */
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

static bool
utf8_valid(const uint8_t *p, size_t len)
{
	size_t n;

	while (len > 0) {
		n = utf8_len(p, len);
		if (n == 0)
			return false;
		p += n;
		len -= n;
	}
	return true;
}

static enum scan_result
scan_container(struct scan *s, uint64_t children)
{
	/* A child takes a byte at least. */
	if (children > (size_t)(s->end - s->p))
		return SCAN_CUT;
	if (s->depth == s->max_depth)
		return SCAN_DEPTH;
	s->open[++s->depth] = children;
	return SCAN_OK;
}

static enum scan_result
scan_value(struct scan *s)
{
	struct mp_head h;

	mp_head_read(s->p, s->end, &h);
	s->p += h.head_len;
	switch (h.type) {
	case MP_END:
		return SCAN_CUT;
	case MP_BAD:
		return SCAN_RESERVED;
	case MP_EXT:
		return SCAN_EXT;
	case MP_ARRAY:
		return scan_container(s, h.n);
	case MP_MAP:
		return scan_container(s, (uint64_t)h.n * 2);
	case MP_STR:
	case MP_BIN:
		if ((size_t)(s->end - s->p) < h.n)
			return SCAN_CUT;
		if (h.type == MP_STR && !utf8_valid(s->p, h.n))
			return SCAN_UTF8;
		s->p += h.n;
		return SCAN_OK;
	default:
		return SCAN_OK;
	}
}

enum scan_result
ipc_scan(const void *bytes, size_t len, unsigned max_depth)
{
	static const uint8_t none[1];
	struct scan s = { .max_depth = max_depth, .open = { 1 } };
	enum scan_result rc;

	ASSERT(max_depth <= IPC_DEPTH_MAX);
	s.p = len == 0 ? none : bytes;
	s.end = s.p + len;
	for (;;) {
		while (s.open[s.depth] == 0 && s.depth > 0)
			s.depth--;
		if (s.open[s.depth] == 0)
			break;
		s.open[s.depth]--;
		rc = scan_value(&s);
		if (rc != SCAN_OK)
			return rc;
	}
	return s.p == s.end ? SCAN_OK : SCAN_LONG;
}

const char *
ipc_scan_text(enum scan_result rc)
{
	static const char *const texts[] = {
		[SCAN_OK] = "well-formed",
		[SCAN_CUT] = "ends within a value",
		[SCAN_LONG] = "has bytes behind its end",
		[SCAN_DEPTH] = "is nested too deep",
		[SCAN_EXT] = "contains an ext type",
		[SCAN_RESERVED] = "contains a reserved byte",
		[SCAN_UTF8] = "contains text that is not UTF-8",
	};

	ASSERT((unsigned)rc < SCAN__MAX);
	return texts[rc];
}
