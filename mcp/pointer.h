/*
 * pointer: values inside a document, by index or by JSON pointer (RFC 6901),
 * and pieces of their text. Pure.
 */
#ifndef MCP_POINTER_H
#define MCP_POINTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "json/tape.h"

#define POINTER_WHY_MAX 256

/*
 * The element of that index, from 0: of the document if it is a list, else of
 * its member items or pages, or of theirs of its member result. False, and why.
 */
bool pointer_item(struct json_val document, int64_t index, struct json_val *ret,
    char ret_why[POINTER_WHY_MAX]);
/* The value at an absolute pointer; "" is the document. False, and why. */
bool pointer_get(struct json_val document, const char *pointer,
    struct json_val *ret, char ret_why[POINTER_WHY_MAX]);
/*
 * How many bytes from there on are at most so many and cut no character, but at
 * least one. False: from is behind the end, or inside a character.
 */
bool
pointer_chunk(const struct buf *, size_t from, size_t limit, size_t *ret_len);

#endif
