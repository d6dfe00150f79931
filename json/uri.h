/*
 * uri: resolves a URI reference against a base (RFC 3986 §5.2), for the names
 * schemas give each other. Private to json/. Nothing is ever fetched.
 */
#ifndef JSON_URI_H
#define JSON_URI_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/*
 * Appends the absolute form of ref; neither has a fragment. False if the buf
 * failed.
 */
bool uri_resolve(const char *base, size_t base_len, const char *ref,
    size_t ref_len, struct buf *out);

#endif
