/*
 * bodies: made-up response bodies. Runs in demosite. Large bodies must not
 * cost memory by their size: /big refers to one block again and again.
 */
#include <stdint.h>
#include <string.h>

#include <event2/buffer.h>

#include "site/bodies.h"

#define BLOCK_BYTES      65536
#define GZIP_BLOCK_BYTES 65535
#define BOMB_BLOCK_BYTES 13
#define BOMB_BLOCK_GIVES 2064
#define BOMB_BLOCKS      4096

int
bodies_add_big(struct evbuffer *out, long n)
{
	static const char line[] = "All of this text is here to be long. ";
	static char block[BLOCK_BYTES];
	int bad;

	if (block[0] == '\0') {
		for (size_t i = 0; i < sizeof(block); i++)
			block[i] = line[i % (sizeof(line) - 1)];
	}
	bad = evbuffer_add_printf(out,
		  "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
		  "<title>A big page of %ld bytes</title>\n"
		  "<h1>Big</h1>\n<p id=\"text\">",
		  n) < 0;
	for (; n > 0 && !bad; n -= BLOCK_BYTES) {
		bad = evbuffer_add_reference(out, block,
		    n < BLOCK_BYTES ? (size_t)n : BLOCK_BYTES, NULL, NULL);
	}
	if (bad)
		return -1;
	return evbuffer_add_printf(out, "</p>\n</html>\n") < 0 ? -1 : 0;
}

int
bodies_add_dom(struct evbuffer *out, long n)
{
	int bad;

	bad = evbuffer_add_printf(out,
		  "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
		  "<title>A page of %ld nodes</title>\n"
		  "<h1>Nodes</h1>\n<main id=\"nodes\">\n",
		  n) < 0;
	for (long i = 1; i <= n && !bad; i++)
		bad = evbuffer_add_printf(out, "<p>node %ld</p>\n", i) < 0;
	if (bad)
		return -1;
	return evbuffer_add_printf(out, "</main>\n</html>\n") < 0 ? -1 : 0;
}

/*
 * 104 bits that give 2064 bytes: eight times the code of length 258 and that
 * of distance 1, in the fixed code. They go on from the third bit of the
 * block's first byte, behind the block's head, and end in two bytes of zeros.
 */
static void
bomb_fill(uint8_t *block, size_t size)
{
	static const uint8_t code[13] = { 1, 1, 0, 0, 0, 1, 0, 1 };

	memset(block, 0, size);
	for (size_t bit = 3; bit < 8 * size; bit++)
		block[bit / 8] |= (uint8_t)(code[(bit - 3) % 13] << bit % 8);
}

int
bodies_add_bomb(struct evbuffer *out, long n)
{
	static const char page[] =
	    "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
	    "<title>A page that is small when packed</title>\n<p>a";
	static const uint8_t head[15] = { 0x1f, 0x8b,
		8, [9] = 3, [11] = sizeof(page) - 1, 0,
		(uint8_t) ~(sizeof(page) - 1), 0xff };
	static uint8_t block[BOMB_BLOCKS * BOMB_BLOCK_BYTES];
	long left = (n + BOMB_BLOCK_GIVES - 1) / BOMB_BLOCK_GIVES;
	uint8_t first[BOMB_BLOCK_BYTES];
	int bad;

	_Static_assert(sizeof(page) <= 256, "its length is one byte");
	bomb_fill(block, sizeof(block));
	memcpy(first, block, sizeof(first));
	first[0] |= 3; /* the last block, of the fixed code */
	bad = evbuffer_add(out, head, sizeof(head)) != 0 ||
	    evbuffer_add(out, page, sizeof(page) - 1) != 0 ||
	    evbuffer_add(out, first, sizeof(first)) != 0;
	for (left--; left > 0 && !bad; left -= BOMB_BLOCKS) {
		bad = evbuffer_add_reference(out, block,
			  (size_t)(left < BOMB_BLOCKS ? left : BOMB_BLOCKS) *
			      BOMB_BLOCK_BYTES,
			  NULL, NULL) != 0;
	}
	return bad || evbuffer_add(out, "\0\0", 2) != 0 ? -1 : 0;
}

static uint32_t
crc32_update(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len-- > 0) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
	}
	return crc;
}

static void
put_le(uint8_t *p, uint32_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

int
bodies_add_gzip(struct evbuffer *out, struct evbuffer *plain)
{
	static const uint8_t head[10] = { 0x1f, 0x8b, 8, [9] = 3 };
	uint32_t crc = UINT32_MAX, total = 0;
	uint8_t part[8];
	size_t left = evbuffer_get_length(plain);
	int bad = evbuffer_add(out, head, sizeof(head));

	do {
		size_t len = left < GZIP_BLOCK_BYTES ? left : GZIP_BLOCK_BYTES;
		const uint8_t *p = evbuffer_pullup(plain, (ssize_t)len);

		if (len > 0 && p == NULL)
			return -1;
		left -= len;
		part[0] = left == 0;
		put_le(part + 1, (uint32_t)len, 2);
		put_le(part + 3, ~(uint32_t)len, 2);
		bad |= evbuffer_add(out, part, 5);
		crc = crc32_update(crc, p, len);
		total += (uint32_t)len;
		bad |= evbuffer_remove_buffer(plain, out, len) < 0;
	} while (left > 0);
	put_le(part, ~crc, 4);
	put_le(part + 4, total, 4);
	bad |= evbuffer_add(out, part, sizeof(part));
	return bad ? -1 : 0;
}
