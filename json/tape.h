/*
 * tape: JSON texts (RFC 8259) checked in one pass and kept as a flat array of
 * tokens, strings and numbers decoded only when asked for. Used by every
 * program that reads JSON from peers, pages, files or the browser; so it must
 * never recurse on the depth of a text, trust a length, or end the process.
 *
 * All accessors are total: asked of a missing value or of the wrong type they
 * say so, and json_obj_get() of anything but an object is a missing value.
 * Lookups can therefore be chained and checked once at their end.
 */
#ifndef JSON_TAPE_H
#define JSON_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define JSON_DEPTH_DEFAULT 64
#define JSON_DEPTH_MAX     512
#define JSON_BYTES_DEFAULT ((size_t)16 << 20)
#define JSON_BYTES_MAX     (((size_t)1 << 28) - 1)

/* Flags of json_parse(). */
#define JSON_DUP_LAST    0x00u /* of equal keys json_obj_get() finds the last */
#define JSON_DUP_ERROR   0x01u /* an object with equal keys is refused */
#define JSON_BORROW      0x02u /* the caller's bytes outlive the doc: no copy */
#define JSON_REPAIR_UTF8 0x04u /* ill-formed bytes in strings become U+FFFD */

enum json_type {
	JSON_MISSING,
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
	JSON_TYPE__MAX
};

enum json_error_kind {
	JSON_ERROR_NONE,
	JSON_ERROR_SYNTAX, /* not JSON, or ill-formed UTF-8 */
	JSON_ERROR_DUPLICATE,
	JSON_ERROR_LIMIT, /* too long or too deep */
	JSON_ERROR_MEMORY,
	JSON_ERROR__MAX
};

/* A field that is 0 stands for its default. */
struct json_limits {
	size_t max_bytes;   /* at most JSON_BYTES_MAX */
	unsigned max_depth; /* arrays and objects; at most JSON_DEPTH_MAX */
};

struct json_error {
	enum json_error_kind kind;
	size_t offset;       /* in bytes, from 0 */
	unsigned line;       /* from 1 */
	unsigned column;     /* in characters, from 1 */
	const char *message; /* lower case, no full stop; static */
};

struct json_doc;

/* A value inside a document, valid as long as the document. */
struct json_val {
	const struct json_doc *doc;
	uint32_t at;
};

/* Walks an array or object; key is missing in an array. */
struct json_iter {
	struct json_val key;
	struct json_val val;
	uint32_t next;
	uint32_t end;
};

/*
 * Checks and indexes one JSON text. limits may be NULL (defaults), ret_error
 * too; it is written only on failure. The doc copies the bytes unless
 * JSON_BORROW is given. A byte order mark is refused. "\u0000" is allowed,
 * a lone surrogate escape decodes to U+FFFD.
 */
bool json_parse(const uint8_t *bytes, size_t len, const struct json_limits *,
    unsigned flags, struct json_doc **ret, struct json_error *ret_error);
void json_doc_free(struct json_doc **);
/* The whole text; a missing value of a NULL doc. */
struct json_val json_root(const struct json_doc *);
/* Heap bytes the doc holds. */
size_t json_doc_bytes(const struct json_doc *);

enum json_type json_type_of(struct json_val);
/* "null", "boolean", "number", "string", "array", "object"; "nothing". */
const char *json_type_name(enum json_type);
bool json_is_missing(struct json_val);
bool json_is_null(struct json_val);
bool json_is_bool(struct json_val);
bool json_is_number(struct json_val);
bool json_is_string(struct json_val);
bool json_is_array(struct json_val);
bool json_is_object(struct json_val);

/* Elements of an array, members of an object (equal keys counted), else 0. */
size_t json_len(struct json_val);
/* Time grows with the members. */
struct json_val json_obj_get(struct json_val, const char *key);
struct json_val json_obj_getn(struct json_val, const char *key, size_t len);
/* The key is a string value, perhaps of another document. */
struct json_val json_obj_getv(struct json_val, struct json_val key);
/* Time grows with index. */
struct json_val json_arr_get(struct json_val, size_t index);
/* for (it = json_iter(v); json_iter_next(&it);) ... it.key, it.val */
struct json_iter json_iter(struct json_val);
bool json_iter_next(struct json_iter *);

bool json_get_bool(struct json_val, bool *ret);
/*
 * The number's value if it is exactly an int64_t: 1, 1.0 and 1e3 are, 0.5 and
 * 9223372036854775808 are not.
 */
bool json_get_int64(struct json_val, int64_t *ret);
/* The nearest double; false beyond its range. */
bool json_get_double(struct json_val, double *ret);

/* Bytes of the decoded string (always well-formed UTF-8); 0 for others. */
size_t json_str_len(struct json_val);
/*
 * The decoded string as bytes of the document, not NUL-terminated; NULL when
 * it has to be decoded first, or is not a string.
 */
const char *json_str_borrow(struct json_val, size_t *ret_len);
/*
 * Copies a string as a C string. False, dst untouched, when it is no string,
 * has a NUL inside, or does not fit with its terminator.
 */
bool json_str_copy(struct json_val, char *dst, size_t size);
/* The same, but what does not fit is cut behind the last whole character. */
bool json_str_cut(struct json_val, char *dst, size_t size);
/* Decodes into memory the caller frees, NUL-terminated; NULL on failure. */
char *json_str_dup(struct json_val, size_t *ret_len);
/* Appends the decoded string; false if no string or the buf failed. */
bool json_str_add(struct json_val, struct buf *);
bool json_str_eq(struct json_val, const char *text);
bool json_str_eqn(struct json_val, const char *bytes, size_t len);
/* Order of the decoded bytes; both must be strings, else 0. */
int json_str_cmp(struct json_val, struct json_val);

/*
 * The value's own text, from the first to the last byte (a string with its
 * quotes, a number as it was written). False if missing.
 */
bool json_raw(struct json_val, const uint8_t **ret, size_t *ret_len);

#endif
