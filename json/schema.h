/*
 * schema: checks JSON values against JSON Schema, 2020-12 core and the draft-07
 * spellings of it. Used by supervisord (schemas of installed templates) and
 * workerd (callers' schemas). What it does not implement is refused when a
 * schema is compiled, never guessed; schemas and values are hostile, so both
 * compiling and checking have budgets.
 *
 * format and the content* keywords are annotations; so is writeOnly, which
 * schema_find_secrets() looks for. $id and $anchor name parts
 * of the schema; nothing is ever fetched. Refused, among others: references
 * that lead outside, $dynamicRef, unevaluated*, vocabularies, unknown keywords,
 * patterns outside the common ground of ECMA-262 and PCRE2.
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

#include "json/tape.h"

#define SCHEMA_BYTES_MAX   ((size_t)64 << 10)
#define SCHEMA_DEPTH_MAX   32
#define SCHEMA_REF_HOPS    100
#define SCHEMA_MATCH_LIMIT 100000
#define SCHEMA_STEPS_MAX   5000000 /* nodes and members visited per check */

/* What "$schema" says; the other applies when it says nothing. */
enum schema_dialect {
	SCHEMA_2020_12,
	SCHEMA_DRAFT_07,
	SCHEMA_DIALECT__MAX
};

enum schema_error_kind {
	SCHEMA_ERROR_NONE,
	SCHEMA_ERROR_MISMATCH, /* the value breaks the schema */
	SCHEMA_ERROR_UNSUPPORTED,
	SCHEMA_ERROR_MALFORMED, /* a keyword has an impossible argument */
	SCHEMA_ERROR_LIMIT,     /* a budget ran out: no verdict */
	SCHEMA_ERROR_MEMORY,
	SCHEMA_ERROR__MAX
};

/* Both texts are well-formed UTF-8 without control characters, cut with an
 * ellipsis if too long. */
struct schema_error {
	enum schema_error_kind kind;
	char
	    pointer[256]; /* RFC 6901: into the schema (compile) or the value */
	char message[256]; /* "expected string, got number" */
};

struct schema;

/*
 * Compiles the schema root; keeps a copy, so its document may go. Relative
 * references are resolved within root. ret_error (may be NULL) is written only
 * on failure.
 */
bool schema_compile(struct json_val root, enum schema_dialect,
    struct schema **ret, struct schema_error *ret_error);
void schema_free(struct schema **);
/*
 * True if the value conforms; else ret_error (may be NULL) has the first
 * mistake found, or why there is no verdict (kind LIMIT or MEMORY). The value's
 * document should have been parsed with JSON_DUP_ERROR. The message tells
 * nothing of a value that is writeOnly, only where it is.
 */
bool schema_validate(
    const struct schema *, struct json_val, struct schema_error *ret_error);
/*
 * The same for the inputs of a template: where the schema itself says
 * writeOnly or secretRef, {"secretRef":"name"} stands for a value that is
 * stored elsewhere and fits.
 */
bool schema_validate_inputs(
    const struct schema *, struct json_val, struct schema_error *ret_error);
#define SCHEMA_SECRET_REF "secretRef"
/* An object with that member alone, a string. */
bool schema_is_secret_ref(struct json_val);
/* Whether a part of the schema says writeOnly or secretRef. */
bool schema_has_secrets(const struct schema *);
/*
 * Finds the parts of a value that the schema says are writeOnly, and the
 * references where it says secretRef:
 * (*ret_marks)[v.at] is 1 for each of them and everything inside it, 0 for
 * all others. The caller frees the marks. False when there is no value, memory
 * ran out or it takes too much work.
 */
bool schema_find_secrets(
    const struct schema *, struct json_val, uint8_t **ret_marks);
/* "/urls/3: expected string, got number"; NUL-terminated, cut to size. */
void schema_error_text(const struct schema_error *, char *dst, size_t size);

#endif
