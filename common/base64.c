#include <string.h>

#include "common/base64.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool
base64_encode(struct buf *b, const uint8_t *p, size_t len)
{
	char *o = (char *)buf_reserve(b, BASE64_LEN(len));
	uint32_t v;

	if (o == NULL)
		return false;
	for (; len >= 3; len -= 3, p += 3, o += 4) {
		v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
		o[0] = alphabet[v >> 18];
		o[1] = alphabet[v >> 12 & 63];
		o[2] = alphabet[v >> 6 & 63];
		o[3] = alphabet[v & 63];
	}
	if (len > 0) {
		v = (uint32_t)p[0] << 16 | (len == 2 ? (uint32_t)p[1] << 8 : 0);
		o[0] = alphabet[v >> 18];
		o[1] = alphabet[v >> 12 & 63];
		o[2] = len == 2 ? alphabet[v >> 6 & 63] : '=';
		o[3] = '=';
		o += 4;
	}
	b->len = (size_t)((uint8_t *)o - b->data);
	return true;
}

static int
base64_value(char c)
{
	const char *p = c == '\0' ? NULL : strchr(alphabet, c);

	return p == NULL ? -1 : (int)(p - alphabet);
}

/* Decodes one group of four characters with pad '=' at its end. */
static bool
base64_group(const char *s, int pad, uint8_t out[3])
{
	uint32_t v = 0;
	int d;

	for (int i = 0; i < 4; i++) {
		d = i >= 4 - pad ? 0 : base64_value(s[i]);
		if (d == -1)
			return false;
		v = v << 6 | (uint32_t)d;
	}
	out[0] = (uint8_t)(v >> 16);
	out[1] = (uint8_t)(v >> 8);
	out[2] = (uint8_t)v;
	/* Bits that padding cuts off must be zero. */
	return !(pad == 1 && out[2] != 0) && !(pad == 2 && out[1] != 0);
}

bool
base64_decode(struct buf *b, const char *s, size_t len)
{
	size_t start = b->len;
	uint8_t out[3];
	int pad;

	if (len % 4 != 0)
		return false;
	for (; len > 0; len -= 4, s += 4) {
		pad =
		    len > 4 ? 0 : (s[3] == '=') + (s[3] == '=' && s[2] == '=');
		if (!base64_group(s, pad, out) ||
		    !buf_add(b, out, (size_t)(3 - pad))) {
			b->len = start;
			return false;
		}
	}
	return true;
}
