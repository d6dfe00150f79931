/*
 * MessagePack headers (the specification's "formats"). Runs wherever messages
 * or records are read; looks at no byte beyond the end it is given.
 */
#include <string.h>

#include "common/panic.h"
#include "ipc/head.h"

/* What the bytes 0xc0..0xdf announce: the type and the bytes that follow. */
static const struct {
	uint8_t type;
	uint8_t arg_len;
} formats[] = {
	{ MP_NIL, 0 }, { MP_BAD, 0 },                   /* c0 */
	{ MP_BOOL, 0 }, { MP_BOOL, 0 },                 /* c2 */
	{ MP_BIN, 1 }, { MP_BIN, 2 }, { MP_BIN, 4 },    /* c4 */
	{ MP_EXT, 1 }, { MP_EXT, 2 }, { MP_EXT, 4 },    /* c7 */
	{ MP_DOUBLE, 4 }, { MP_DOUBLE, 8 },             /* ca */
	{ MP_UINT, 1 }, { MP_UINT, 2 }, { MP_UINT, 4 }, /* cc */
	{ MP_UINT, 8 }, { MP_INT, 1 }, { MP_INT, 2 },   /* cf */
	{ MP_INT, 4 }, { MP_INT, 8 },                   /* d2 */
	{ MP_EXT, 0 }, { MP_EXT, 0 }, { MP_EXT, 0 },    /* d4 */
	{ MP_EXT, 0 }, { MP_EXT, 0 },                   /* d7 */
	{ MP_STR, 1 }, { MP_STR, 2 }, { MP_STR, 4 },    /* d9 */
	{ MP_ARRAY, 2 }, { MP_ARRAY, 4 },               /* dc */
	{ MP_MAP, 2 }, { MP_MAP, 4 },                   /* de */
};

static uint64_t
head_arg(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	while (len-- > 0)
		v = v << 8 | *p++;
	return v;
}

static void
head_set_uint(struct mp_head *h, uint64_t v)
{
	h->u = v;
	h->i = v <= INT64_MAX ? (int64_t)v : INT64_MAX;
	h->type = v <= INT64_MAX ? MP_INT : MP_UINT;
}

static void
head_set_int(struct mp_head *h, uint64_t v, size_t len)
{
	ASSERT(len >= 1 && len <= 8);

	uint64_t sign = UINT64_C(1) << (len * 8 - 1);

	if ((v & sign) == 0) {
		head_set_uint(h, v);
		return;
	}
	/* Two's complement without a cast out of range. */
	h->i = -(int64_t)(sign - 1 - (v & (sign - 1))) - 1;
	h->type = MP_INT;
}

static void
head_set_double(struct mp_head *h, uint64_t v, size_t len)
{
	uint32_t bits = (uint32_t)v;
	float f;

	if (len == 4) {
		memcpy(&f, &bits, sizeof(f));
		h->d = (double)f;
	} else
		memcpy(&h->d, &v, sizeof(h->d));
}

/* The one-byte formats outside 0xc0..0xdf. */
static void
head_read_fix(uint8_t c, struct mp_head *h)
{
	if (c <= 0x7f)
		head_set_uint(h, c);
	else if (c >= 0xe0) {
		h->type = MP_INT;
		h->i = (int64_t)c - 256;
	} else {
		h->type = c <= 0x8f ? MP_MAP : c <= 0x9f ? MP_ARRAY : MP_STR;
		h->n = c <= 0x9f ? c & 0x0f : c & 0x1f;
	}
}

void
mp_head_read(const uint8_t *p, const uint8_t *end, struct mp_head *ret)
{
	size_t len;
	uint64_t v;
	uint8_t c;

	memset(ret, 0, sizeof(*ret));
	ret->type = MP_END;
	if (p >= end)
		return;
	c = *p++;
	ret->head_len = 1;
	if (c < 0xc0 || c > 0xdf) {
		head_read_fix(c, ret);
		return;
	}
	len = formats[c - 0xc0].arg_len;
	if ((size_t)(end - p) < len)
		return;
	v = head_arg(p, len);
	ret->head_len += len;
	ret->type = formats[c - 0xc0].type;
	if (ret->type == MP_BOOL)
		ret->b = c == 0xc3;
	else if (ret->type == MP_UINT)
		head_set_uint(ret, v);
	else if (ret->type == MP_INT)
		head_set_int(ret, v, len);
	else if (ret->type == MP_DOUBLE)
		head_set_double(ret, v, len);
	else if (ret->type == MP_EXT) /* and the byte of the ext's own type */
		ret->n = (c >= 0xd4 ? 1u << (c - 0xd4) : (uint32_t)v);
	else
		ret->n = (uint32_t)v;
	if (ret->type != MP_EXT)
		return;
	if ((size_t)(end - p) == len)
		ret->type = MP_END;
	else
		ret->head_len++;
}
