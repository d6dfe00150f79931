/*
 * MessagePack values: msgpack-c's packer writes them, a cursor of our own
 * reads them, since msgpack-c's unpacker allocates by what a header claims.
 * Runs wherever messages or records are handled.
 */
#include <string.h>

#include <msgpack/pack.h>

#include "ipc/head.h"
#include "ipc/mp.h"

static int
put_bytes(void *b, const char *bytes, size_t len)
{
	return buf_add(b, bytes, len) ? 0 : -1;
}

static msgpack_packer
packer(struct buf *b)
{
	msgpack_packer pk;

	msgpack_packer_init(&pk, b, put_bytes);
	return pk;
}

bool
mp_put_nil(struct buf *b)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_nil(&pk) == 0;
}

bool
mp_put_bool(struct buf *b, bool v)
{
	msgpack_packer pk = packer(b);

	return (v ? msgpack_pack_true(&pk) : msgpack_pack_false(&pk)) == 0;
}

bool
mp_put_int(struct buf *b, int64_t v)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_int64(&pk, v) == 0;
}

bool
mp_put_uint(struct buf *b, uint64_t v)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_uint64(&pk, v) == 0;
}

bool
mp_put_double(struct buf *b, double v)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_double(&pk, v) == 0;
}

/* Takes a header back whose body did not fit. */
static bool
put_body(
    struct buf *b, size_t start, int head_rc, const void *bytes, size_t len)
{
	if (head_rc == 0 && buf_add(b, bytes, len))
		return true;
	b->len = start;
	return false;
}

bool
mp_put_str(struct buf *b, const char *text, size_t len)
{
	msgpack_packer pk = packer(b);
	size_t start = b->len;

	return put_body(b, start, msgpack_pack_str(&pk, len), text, len);
}

bool
mp_put_cstr(struct buf *b, const char *text)
{
	return mp_put_str(b, text, strlen(text));
}

bool
mp_put_bin(struct buf *b, const void *bytes, size_t len)
{
	msgpack_packer pk = packer(b);
	size_t start = b->len;

	return put_body(b, start, msgpack_pack_bin(&pk, len), bytes, len);
}

bool
mp_put_array(struct buf *b, uint32_t n)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_array(&pk, n) == 0;
}

bool
mp_put_map(struct buf *b, uint32_t n)
{
	msgpack_packer pk = packer(b);

	return msgpack_pack_map(&pk, n) == 0;
}

void
mp_reader_init(struct mp_reader *r, const void *bytes, size_t len)
{
	static const uint8_t none[1];

	r->p = len == 0 ? none : bytes;
	r->end = r->p + len;
	r->failed = false;
}

enum mp_type
mp_peek(const struct mp_reader *r)
{
	struct mp_head h;

	if (r->failed)
		return MP_BAD;
	if (r->p == r->end)
		return MP_END;
	mp_head_read(r->p, r->end, &h);
	return h.type == MP_END ? MP_BAD : h.type;
}

/* Consumes a header of that type. */
static bool
take(struct mp_reader *r, enum mp_type type, struct mp_head *ret_head)
{
	if (!r->failed) {
		mp_head_read(r->p, r->end, ret_head);
		if (ret_head->type == type) {
			r->p += ret_head->head_len;
			return true;
		}
	}
	r->failed = true;
	return false;
}

bool
mp_get_nil(struct mp_reader *r)
{
	struct mp_head h;

	return take(r, MP_NIL, &h);
}

bool
mp_get_bool(struct mp_reader *r, bool *ret_value)
{
	struct mp_head h;

	if (!take(r, MP_BOOL, &h))
		return false;
	*ret_value = h.b;
	return true;
}

bool
mp_get_int(struct mp_reader *r, int64_t *ret_value)
{
	struct mp_head h;

	if (!take(r, MP_INT, &h))
		return false;
	*ret_value = h.i;
	return true;
}

bool
mp_get_uint(struct mp_reader *r, uint64_t *ret_value)
{
	enum mp_type type = mp_peek(r);
	struct mp_head h;

	if (!take(r, type == MP_UINT ? MP_UINT : MP_INT, &h))
		return false;
	if (h.type == MP_INT && h.i < 0) {
		r->failed = true;
		return false;
	}
	*ret_value = h.u;
	return true;
}

bool
mp_get_double(struct mp_reader *r, double *ret_value)
{
	enum mp_type type = mp_peek(r);
	struct mp_head h;

	if (type != MP_INT && type != MP_UINT)
		type = MP_DOUBLE;
	if (!take(r, type, &h))
		return false;
	if (type == MP_DOUBLE)
		*ret_value = h.d;
	else
		*ret_value = type == MP_INT ? (double)h.i : (double)h.u;
	return true;
}

/* Consumes header and body; the body lies before r->p afterwards. */
static bool
take_body(struct mp_reader *r, enum mp_type type, struct mp_head *ret_head)
{
	if (!take(r, type, ret_head))
		return false;
	if ((size_t)(r->end - r->p) < ret_head->n) {
		r->failed = true;
		return false;
	}
	r->p += ret_head->n;
	return true;
}

bool
mp_get_str(struct mp_reader *r, const char **ret_text, size_t *ret_len)
{
	struct mp_head h;

	if (!take_body(r, MP_STR, &h))
		return false;
	*ret_text = (const char *)(r->p - h.n);
	*ret_len = h.n;
	return true;
}

bool
mp_get_bin(struct mp_reader *r, const void **ret_bytes, size_t *ret_len)
{
	struct mp_head h;

	if (!take_body(r, MP_BIN, &h))
		return false;
	*ret_bytes = r->p - h.n;
	*ret_len = h.n;
	return true;
}

bool
mp_get_array(struct mp_reader *r, uint32_t *ret_n)
{
	struct mp_head h;

	if (!take(r, MP_ARRAY, &h))
		return false;
	if (h.n > (size_t)(r->end - r->p)) {
		r->failed = true;
		return false;
	}
	*ret_n = h.n;
	return true;
}

bool
mp_get_map(struct mp_reader *r, uint32_t *ret_n)
{
	struct mp_head h;

	if (!take(r, MP_MAP, &h))
		return false;
	if (h.n > (size_t)(r->end - r->p) / 2) {
		r->failed = true;
		return false;
	}
	*ret_n = h.n;
	return true;
}

/* Consumes one header, and the body when it is no container. */
static bool
skip_one(struct mp_reader *r, uint64_t *ret_children)
{
	struct mp_head h;

	mp_head_read(r->p, r->end, &h);
	if (h.type == MP_END || h.type == MP_BAD)
		return false;
	r->p += h.head_len;
	*ret_children = h.type == MP_ARRAY ? h.n
	    : h.type == MP_MAP             ? (uint64_t)h.n * 2
					   : 0;
	if (h.type == MP_ARRAY || h.type == MP_MAP)
		return true;
	if ((size_t)(r->end - r->p) < h.n)
		return false;
	r->p += h.n;
	return true;
}

bool
mp_skip(struct mp_reader *r)
{
	uint64_t open = 1, children = 0; /* open: values still to consume */

	while (open > 0 && !r->failed) {
		if (skip_one(r, &children))
			open += children - 1;
		else
			r->failed = true;
		/* A value takes a byte at least. */
		if (open > (size_t)(r->end - r->p))
			r->failed = true;
	}
	return !r->failed;
}

bool
mp_done(const struct mp_reader *r)
{
	return !r->failed && r->p == r->end;
}
