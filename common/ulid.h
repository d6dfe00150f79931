/*
 * ulid: ids that sort by time (48-bit Unix ms, 80 random bits), in the 26
 * character Crockford form people see and the 16 byte form keys use. Source:
 * the ULID specification; monotonic within one process.
 */
#ifndef COMMON_ULID_H
#define COMMON_ULID_H

#include <stdbool.h>
#include <stdint.h>

#define ULID_BYTES 16
#define ULID_CHARS 26

struct ulid {
	uint8_t b[ULID_BYTES];
};

/* Makes a new id, greater than every one made before in this process. */
struct ulid ulid_new(int64_t now_ms);
/* Writes 26 characters and a NUL. */
void ulid_format(const struct ulid *, char ret_text[ULID_CHARS + 1]);
/* Reads exactly 26 upper-case characters; false when they are not a ULID. */
bool ulid_parse(const char *text, struct ulid *ret_id);
int64_t ulid_time_ms(const struct ulid *);

#endif
