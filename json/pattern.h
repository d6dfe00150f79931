/*
 * pattern: regular expressions of JSON Schema (ECMA-262, Unicode mode) run by
 * PCRE2. Private to json/. An expression is translated first, so that it means
 * the same; what means something else there, or what only one of the two has,
 * is refused. Matching is bounded, whatever the expression and the text.
 */
#ifndef JSON_PATTERN_H
#define JSON_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

struct pattern;

enum pattern_result {
	PATTERN_MATCH,
	PATTERN_NO_MATCH,
	PATTERN_LIMIT, /* no verdict within the budget */
	PATTERN__MAX
};

/* source is UTF-8. On failure *ret_why is a static text. */
bool pattern_compile(
    const char *source, size_t len, struct pattern **ret, const char **ret_why);
void pattern_free(struct pattern **);
/* Heap bytes it holds. */
size_t pattern_bytes(const struct pattern *);
/*
 * Searches anywhere in the text (UTF-8). Gives up when more than so many bytes
 * and elements of the expression were looked at; *ret_work is how many were.
 */
enum pattern_result pattern_search(struct pattern *, const char *text,
    size_t len, size_t budget, size_t *ret_work);

/* ECMA-262 to PCRE2: pattern_translate.c */
bool pattern_translate(
    const char *source, size_t len, struct buf *out, const char **ret_why);

#endif
