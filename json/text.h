/*
 * text: what stands between the quotes of a JSON string. Private to json/.
 * Decoding is total: lone surrogate escapes, escapes that are none and bytes
 * that are not UTF-8 become U+FFFD, so that what comes out is always well-formed
 * UTF-8.
 */
#ifndef JSON_TEXT_H
#define JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* A walk over raw bytes that yields decoded pieces. */
struct json_text {
	const uint8_t *p;
	const uint8_t *end;
	uint8_t decoded[4];
};

/*
 * Looks at the byte sequence at p < end. True if it is one well-formed
 * character; *ret_len is its length or that of the ill-formed part, >= 1.
 */
bool json_utf8_step(const uint8_t *p, const uint8_t *end, size_t *ret_len);

void json_text_init(struct json_text *, const uint8_t *raw, size_t len);
/*
 * The next decoded bytes, whole characters, valid until the next call; 0 at
 * the end.
 */
size_t json_text_next(struct json_text *, const uint8_t **ret);

size_t json_text_len(const uint8_t *raw, size_t len);
/* dst has room for json_text_len() bytes. */
void json_text_decode(const uint8_t *raw, size_t len, uint8_t *dst);
bool json_text_add(const uint8_t *raw, size_t len, struct buf *out);
bool
json_text_eq(const uint8_t *raw, size_t len, const char *bytes, size_t nbytes);
/* Order of the decoded bytes: < 0, 0, > 0. */
int json_text_cmp(const uint8_t *a, size_t alen, const uint8_t *b, size_t blen);
/* As json_str_copy() in json/tape.h. */
bool json_text_copy(const uint8_t *raw, size_t len, char *dst, size_t size);

/* Appends any bytes as the inside of a JSON string. */
bool json_text_escape(const void *bytes, size_t len, struct buf *out);
/* Appends a string in our own spelling, with quotes. */
bool json_text_respell(const uint8_t *raw, size_t len, struct buf *out);

#endif
