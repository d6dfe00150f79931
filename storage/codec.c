/* Records of the store, field by field. Runs in supervisord. */
#include <string.h>

#include "ipc/mp.h"
#include "storage/codec.h"
#include "storage/store.h"

static int
put_text(struct buf *b, const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	if (len == size)
		return STORE_INVALID;
	mp_put_str(b, text, len);
	return STORE_OK;
}

static int
put_name(struct buf *b, const void *at, const struct field *f)
{
	unsigned v;

	memcpy(&v, at, sizeof(v));
	if (v >= f->size)
		return STORE_INVALID;
	mp_put_cstr(b, f->name(v));
	return STORE_OK;
}

static int
put_bytes(struct buf *b, const void *object, const struct field *f)
{
	const char *base = object;
	const void *bytes;
	size_t len;

	memcpy(&bytes, base + f->offset, sizeof(bytes));
	memcpy(&len, base + f->len_offset, sizeof(len));
	if (len > f->size)
		return STORE_LIMIT;
	mp_put_bin(b, bytes, len);
	return STORE_OK;
}

static int
put_field(struct buf *b, const void *object, const struct field *f)
{
	const char *at = (const char *)object + f->offset;

	switch (f->type) {
	case FIELD_BOOL:
		mp_put_bool(b, *(const bool *)at);
		return STORE_OK;
	case FIELD_U8:
		mp_put_uint(b, *(const uint8_t *)at);
		return STORE_OK;
	case FIELD_U32:
		mp_put_uint(b, *(const uint32_t *)(const void *)at);
		return STORE_OK;
	case FIELD_U64:
		mp_put_uint(b, *(const uint64_t *)(const void *)at);
		return STORE_OK;
	case FIELD_I64:
		mp_put_int(b, *(const int64_t *)(const void *)at);
		return STORE_OK;
	case FIELD_TEXT:
		return put_text(b, at, f->size);
	case FIELD_FIXED:
		mp_put_bin(b, at, f->size);
		return STORE_OK;
	case FIELD_NAME:
		return put_name(b, at, f);
	case FIELD_BYTES:
		return put_bytes(b, object, f);
	}
	return STORE_INVALID;
}

int
codec_put(
    struct buf *b, const void *object, const struct field *fields, size_t n)
{
	int rc;

	for (size_t i = 0; i < n; i++)
		if ((rc = put_field(b, object, &fields[i])) != STORE_OK)
			return rc;
	return b->failed ? STORE_NO_MEMORY : STORE_OK;
}

static bool
get_number(struct mp_reader *r, uint64_t max, uint64_t *ret)
{
	return mp_get_uint(r, ret) && *ret <= max;
}

static bool
get_text(struct mp_reader *r, char *at, size_t size)
{
	const char *text;
	size_t len;

	if (!mp_get_str(r, &text, &len) || len >= size ||
	    memchr(text, '\0', len) != NULL)
		return false;
	memcpy(at, text, len);
	memset(at + len, 0, size - len);
	return true;
}

static bool
get_name(struct mp_reader *r, void *at, const struct field *f)
{
	const char *text;
	size_t len;

	if (!mp_get_str(r, &text, &len))
		return false;
	for (unsigned v = 0; v < f->size; v++)
		if (strlen(f->name(v)) == len &&
		    memcmp(f->name(v), text, len) == 0) {
			memcpy(at, &v, sizeof(v));
			return true;
		}
	return false;
}

static bool
get_bytes(struct mp_reader *r, void *object, const struct field *f)
{
	char *base = object;
	const void *bytes;
	size_t len;

	if (!mp_get_bin(r, &bytes, &len))
		return false;
	if (f->type == FIELD_FIXED) {
		if (len != f->size)
			return false;
		memcpy(base + f->offset, bytes, len);
		return true;
	}
	if (len > f->size)
		return false;
	memcpy(base + f->offset, &bytes, sizeof(bytes));
	memcpy(base + f->len_offset, &len, sizeof(len));
	return true;
}

static bool
get_field(struct mp_reader *r, void *object, const struct field *f)
{
	char *at = (char *)object + f->offset;
	uint64_t v;

	switch (f->type) {
	case FIELD_BOOL:
		return mp_get_bool(r, (bool *)at);
	case FIELD_U8:
		if (!get_number(r, UINT8_MAX, &v))
			return false;
		*(uint8_t *)at = (uint8_t)v;
		return true;
	case FIELD_U32:
		if (!get_number(r, UINT32_MAX, &v))
			return false;
		*(uint32_t *)(void *)at = (uint32_t)v;
		return true;
	case FIELD_U64:
		return mp_get_uint(r, (uint64_t *)(void *)at);
	case FIELD_I64:
		return mp_get_int(r, (int64_t *)(void *)at);
	case FIELD_TEXT:
		return get_text(r, at, f->size);
	case FIELD_NAME:
		return get_name(r, at, f);
	case FIELD_FIXED:
	case FIELD_BYTES:
		return get_bytes(r, object, f);
	}
	return false;
}

int
codec_get(
    struct mp_reader *r, void *object, const struct field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!get_field(r, object, &fields[i]))
			return STORE_CORRUPT;
	return STORE_OK;
}

int
codec_encode(
    struct buf *b, const void *object, const struct field *fields, size_t n)
{
	mp_put_array(b, (uint32_t)n);
	return codec_put(b, object, fields, n);
}

int
codec_decode(const void *bytes, size_t len, void *object,
    const struct field *fields, size_t n)
{
	return codec_decode_grown(bytes, len, object, fields, n, n);
}

int
codec_decode_grown(const void *bytes, size_t len, void *object,
    const struct field *fields, size_t least, size_t n)
{
	struct mp_reader r;
	uint32_t count;

	mp_reader_init(&r, bytes, len);
	if (!mp_get_array(&r, &count) || count < least || count > n ||
	    codec_get(&r, object, fields, count) != STORE_OK || !mp_done(&r))
		return STORE_CORRUPT;
	return STORE_OK;
}
