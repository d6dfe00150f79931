/*
 * The pre-scan of received MessagePack and the cursor behind it. The first
 * byte is the depth that is allowed. What the scan accepts is read value by
 * value, written anew and means the same; msgpack-c is the second opinion.
 */
#include <string.h>

#include <msgpack.h>

#include "common/panic.h"
#include "ipc/mp.h"
#include "ipc/scan.h"
#include "t/fuzz/fuzz.h"
#include "t/fuzz/json_plain.h"

/* Copies the scalar or header at the reader; *ret_more values follow it. */
static void
copy_value(struct mp_reader *r, struct buf *out, uint64_t *ret_more)
{
	const void *bytes;
	const char *text;
	uint32_t n = 0;
	size_t len;
	uint64_t u;
	int64_t i;
	double d;
	bool b;

	*ret_more = 0;
	switch (mp_peek(r)) {
	case MP_NIL:
		ASSERT(mp_get_nil(r) && mp_put_nil(out));
		break;
	case MP_BOOL:
		ASSERT(mp_get_bool(r, &b) && mp_put_bool(out, b));
		break;
	case MP_INT:
		ASSERT(mp_get_int(r, &i) && mp_put_int(out, i));
		break;
	case MP_UINT:
		ASSERT(mp_get_uint(r, &u) && mp_put_uint(out, u));
		break;
	case MP_DOUBLE:
		ASSERT(mp_get_double(r, &d) && mp_put_double(out, d));
		break;
	case MP_STR:
		ASSERT(mp_get_str(r, &text, &len));
		ASSERT(mp_put_str(out, text, len));
		break;
	case MP_BIN:
		ASSERT(mp_get_bin(r, &bytes, &len));
		ASSERT(mp_put_bin(out, bytes, len));
		break;
	case MP_ARRAY:
		ASSERT(mp_get_array(r, &n) && mp_put_array(out, n));
		*ret_more = n;
		break;
	case MP_MAP:
		ASSERT(mp_get_map(r, &n) && mp_put_map(out, n));
		*ret_more = (uint64_t)n * 2;
		break;
	default:
		panic("a type that the scan refuses");
	}
}

/* A float becomes a double: 5 bytes may become 9. */
static void
copy_all(const uint8_t *bytes, size_t len, struct buf *out)
{
	struct mp_reader r;
	uint64_t missing = 1, more;

	mp_reader_init(&r, bytes, len);
	for (; missing > 0; missing += more - 1)
		copy_value(&r, out, &more);
	ASSERT(mp_done(&r));
}

static void
check_accepted(const uint8_t *bytes, size_t len, unsigned depth)
{
	struct buf once, twice;
	struct mp_reader r;

	mp_reader_init(&r, bytes, len);
	ASSERT(mp_skip(&r) && mp_done(&r));
	buf_init(&once, 2 * len + 16);
	buf_init(&twice, 2 * len + 16);
	copy_all(bytes, len, &once);
	ASSERT(ipc_scan(once.data, once.len, depth) == SCAN_OK);
	copy_all(once.data, once.len, &twice);
	ASSERT(twice.len == once.len &&
	    memcmp(twice.data, once.data, once.len) == 0);
	buf_clear(&once);
	buf_clear(&twice);
}

/*
 * The format as plainly as it can be written: the bytes behind one value, or
 * NULL. Believes no count, it takes one child after the other.
 */
static const uint8_t *
plain(const uint8_t *p, const uint8_t *end, unsigned depth)
{
	static const uint8_t sizes[32] = {
		[0x04] = 1,
		2,
		4,
		0,
		0,
		0,
		4,
		8,
		1,
		2,
		4,
		8,
		1,
		2,
		4,
		8,
		[0x19] = 1,
		2,
		4,
		2,
		4,
		2,
		4,
	};
	uint8_t c = p < end ? *p++ : 0xc1;
	size_t size = c >= 0xc0 && c < 0xe0 ? sizes[c - 0xc0] : 0;
	uint64_t n = 0;

	if (c == 0xc1 || (c >= 0xc7 && c <= 0xc9) || (c >= 0xd4 && c <= 0xd8) ||
	    (size_t)(end - p) < size)
		return NULL;
	for (size_t i = 0; i < size; i++)
		n = n << 8 | *p++;
	n = c >= 0x80 && c <= 0x9f  ? c & 15
	    : c >= 0xa0 && c < 0xc0 ? c & 31
				    : n;
	if ((c >= 0xa0 && c < 0xc0) || (c >= 0xd9 && c <= 0xdb) ||
	    (c >= 0xc4 && c <= 0xc6)) {
		if ((size_t)(end - p) < n ||
		    ((c < 0xc4 || c > 0xc6) && !json_plain_utf8(p, (size_t)n)))
			return NULL;
		return p + n;
	}
	if ((c < 0x80 || c > 0x9f) && c < 0xdc)
		return p;
	if (c >= 0xe0)
		return p;
	if (depth == 0)
		return NULL;
	n *= (c >= 0x80 && c <= 0x8f) || c >= 0xde ? 2 : 1;
	for (; n > 0 && p != NULL; n--)
		p = plain(p, end, depth - 1);
	return p;
}

/* msgpack-c takes memory for what a header claims: only what was accepted. */
static void
check_oracle(const uint8_t *bytes, size_t len)
{
	msgpack_unpacked u;
	size_t off = 0;

	msgpack_unpacked_init(&u);
	ASSERT(msgpack_unpack_next(&u, (const char *)bytes, len, &off) ==
	    MSGPACK_UNPACK_SUCCESS);
	ASSERT(off == len);
	msgpack_unpacked_destroy(&u);
}

/* The cursor alone has to survive what the scan would have refused. */
static void
check_cursor(const uint8_t *bytes, size_t len)
{
	struct mp_reader r;
	size_t left;

	mp_reader_init(&r, bytes, len);
	do {
		left = (size_t)(r.end - r.p);
		ASSERT(left <= len);
	} while (mp_skip(&r) && (size_t)(r.end - r.p) < left);
	ASSERT(r.failed != mp_done(&r));
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	enum scan_result rc, shallow;
	unsigned depth;

	if (size == 0)
		return 0;
	depth = bytes[0] % (IPC_DEPTH_MAX + 1);
	bytes++;
	size--;
	rc = ipc_scan(bytes, size, depth);
	ASSERT(ipc_scan_text(rc)[0] != '\0');
	shallow = ipc_scan(bytes, size, IPC_DEPTH_MAX);
	ASSERT(rc == shallow || rc == SCAN_DEPTH);
	ASSERT((rc == SCAN_OK) ==
	    (plain(bytes, bytes + size, depth) == bytes + size));
	if (rc == SCAN_OK) {
		check_accepted(bytes, size, depth);
		check_oracle(bytes, size);
	}
	check_cursor(bytes, size);
	return 0;
}
