/*
 * codec: records as MessagePack arrays, from a table of the struct's fields.
 * The decoder is total: every value is checked, leftovers are damage.
 */
#ifndef STORAGE_CODEC_H
#define STORAGE_CODEC_H

#include <stddef.h>

#include "common/buf.h"

enum field_type {
	FIELD_BOOL,
	FIELD_U8,
	FIELD_U32,
	FIELD_U64,
	FIELD_I64,
	FIELD_TEXT,  /* char[size] with its NUL */
	FIELD_FIXED, /* uint8_t[size] */
	FIELD_NAME,  /* an enum of size values, stored by its name */
	FIELD_BYTES, /* pointer; its size_t at len_offset, at most size */
};

struct field {
	enum field_type type;
	size_t offset;
	size_t size;
	size_t len_offset;
	const char *(*name)(unsigned);
};

/* For a struct T and its member m. */
#define F_BOOL(T, m)                                   \
	{                                              \
		FIELD_BOOL, offsetof(T, m), 0, 0, NULL \
	}
#define F_U8(T, m)                                   \
	{                                            \
		FIELD_U8, offsetof(T, m), 0, 0, NULL \
	}
#define F_U32(T, m)                                   \
	{                                             \
		FIELD_U32, offsetof(T, m), 0, 0, NULL \
	}
#define F_U64(T, m)                                   \
	{                                             \
		FIELD_U64, offsetof(T, m), 0, 0, NULL \
	}
#define F_I64(T, m)                                   \
	{                                             \
		FIELD_I64, offsetof(T, m), 0, 0, NULL \
	}
#define F_TEXT(T, m)                                                     \
	{                                                                \
		FIELD_TEXT, offsetof(T, m), sizeof(((T *)0)->m), 0, NULL \
	}
#define F_FIXED(T, m)                                                     \
	{                                                                 \
		FIELD_FIXED, offsetof(T, m), sizeof(((T *)0)->m), 0, NULL \
	}
#define F_NAME(T, m, max, fn)                          \
	{                                              \
		FIELD_NAME, offsetof(T, m), max, 0, fn \
	}
#define F_BYTES(T, m, l, max)                                          \
	{                                                              \
		FIELD_BYTES, offsetof(T, m), max, offsetof(T, l), NULL \
	}

/*
 * Appends the fields of *object as values (no array header). STORE_INVALID,
 * STORE_LIMIT or STORE_NO_MEMORY.
 */
int codec_put(struct buf *, const void *object, const struct field *, size_t n);
struct mp_reader;
/* STORE_CORRUPT unless all n are there; *object may be half filled then. */
int codec_get(struct mp_reader *, void *object, const struct field *, size_t n);
/* As above for a record that is one array of these fields and nothing else. */
int
codec_encode(struct buf *, const void *object, const struct field *, size_t n);
int codec_decode(
    const void *, size_t len, void *object, const struct field *, size_t n);
/*
 * The same for a record that has grown: one that was written when there were
 * fewer fields, at least the first of them, leaves the others as they are.
 */
int codec_decode_grown(const void *, size_t len, void *object,
    const struct field *, size_t least, size_t n);

#endif
