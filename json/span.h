/*
 * span: finds members of one JSON object without checking or indexing what is
 * inside them, so that browser messages are routed at memory speed. Used by
 * workerd on what Chromium sends. It allocates nothing, is total on any bytes,
 * and cannot be fooled by keys inside strings or nested values; but a span is
 * not known to be valid JSON until json_parse() has seen it.
 */
#ifndef JSON_SPAN_H
#define JSON_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Borrowed bytes of one value; ptr NULL: absent. */
struct json_span {
	const uint8_t *ptr;
	size_t len;
};

/* Top-level members of a Chrome DevTools Protocol message. */
struct json_envelope {
	struct json_span id;
	struct json_span method;
	struct json_span params;
	struct json_span result;
	struct json_span error;
	struct json_span session_id;
};

/*
 * Splits one message. Unknown members are passed over, of equal keys the last
 * counts. False, ret untouched, if the bytes are not one object.
 */
bool
json_envelope_scan(const uint8_t *bytes, size_t len, struct json_envelope *ret);
/* Finds a member of an object; false if absent or the span is no object. */
bool json_span_member(struct json_span, const char *key, struct json_span *ret);
/*
 * As json_span_member() for n names (at most 16) in one walk; a member that is
 * not there gets { NULL, 0 }. False, and nothing set, if this is no object.
 */
bool json_span_members(struct json_span, const char *const *names, size_t n,
    struct json_span *ret);

bool json_span_is_string(struct json_span);
bool json_span_get_int64(struct json_span, int64_t *ret);
bool json_span_get_bool(struct json_span, bool *ret);
/* Compares a string, decoded if need be. */
bool json_span_str_eq(struct json_span, const char *text);
/* As json_str_copy(): a C string that fits and has no NUL inside. */
bool json_span_str_copy(struct json_span, char *dst, size_t size);
/* Appends the decoded string, ill-formed bytes as U+FFFD. */
bool json_span_str_add(struct json_span, struct buf *);
/* What is between the quotes, if it is ASCII without escapes (base64 data). */
bool json_span_str_borrow(struct json_span, struct json_span *ret);

#endif
