/*
 * mp: MessagePack values, written into a struct buf and read back by a cursor
 * that never leaves its bytes and never allocates. Messages and stored records
 * are made of them.
 */
#ifndef IPC_MP_H
#define IPC_MP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Each appends one value; false (and buf.failed) when it does not fit. */
bool mp_put_nil(struct buf *);
bool mp_put_bool(struct buf *, bool);
bool mp_put_int(struct buf *, int64_t);
bool mp_put_uint(struct buf *, uint64_t);
bool mp_put_double(struct buf *, double);
bool mp_put_str(struct buf *, const char *, size_t len);
bool mp_put_cstr(struct buf *, const char *);
bool mp_put_bin(struct buf *, const void *, size_t len);
/* Followed by n values, or by n pairs of key and value. */
bool mp_put_array(struct buf *, uint32_t n);
bool mp_put_map(struct buf *, uint32_t n);

enum mp_type {
	MP_END, /* no bytes are left */
	MP_BAD, /* a reserved or cut header, or an earlier failure */
	MP_NIL,
	MP_BOOL,
	MP_INT,  /* fits int64_t */
	MP_UINT, /* above INT64_MAX */
	MP_DOUBLE,
	MP_STR,
	MP_BIN,
	MP_ARRAY,
	MP_MAP,
	MP_EXT,
};

/* The first failed call marks the reader; later calls fail, too. */
struct mp_reader {
	const uint8_t *p;
	const uint8_t *end;
	bool failed;
};

void mp_reader_init(struct mp_reader *, const void *, size_t len);
/* Type of the next value, which is not consumed. */
enum mp_type mp_peek(const struct mp_reader *);
/*
 * Each consumes one value of its type. False when the next value is of another
 * type, out of range or cut; outputs are untouched then. Strings and bins are
 * borrowed from the bytes given at the start and have no NUL at their end.
 */
bool mp_get_nil(struct mp_reader *);
bool mp_get_bool(struct mp_reader *, bool *ret_value);
bool mp_get_int(struct mp_reader *, int64_t *ret_value);
bool mp_get_uint(struct mp_reader *, uint64_t *ret_value);
/* Integers are accepted and converted. */
bool mp_get_double(struct mp_reader *, double *ret_value);
bool mp_get_str(struct mp_reader *, const char **ret_text, size_t *ret_len);
bool mp_get_bin(struct mp_reader *, const void **ret_bytes, size_t *ret_len);
/* A count above the number of bytes left (twice it for a map) is a failure. */
bool mp_get_array(struct mp_reader *, uint32_t *ret_n);
bool mp_get_map(struct mp_reader *, uint32_t *ret_n);
/* Consumes one value with all it contains, ext included, without recursion. */
bool mp_skip(struct mp_reader *);
/* All bytes were consumed and nothing failed. */
bool mp_done(const struct mp_reader *);

#endif
