/*
 * writer: writes JSON text into a buf, commas and escapes by itself. Used by
 * every program. A wrong order of calls is our own bug (ASSERT); a full buf
 * shows in its failed flag, so one check at the end is enough.
 */
#ifndef JSON_WRITER_H
#define JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "json/tape.h"

/* Private to the writer's functions. */
struct json_writer {
	struct buf *out;
	unsigned indent;
	unsigned depth;
	bool done;
	uint8_t level[2 * JSON_DEPTH_MAX];
};

/* Appends to out, which outlives the writer. Nothing needs freeing. */
void json_writer_init(struct json_writer *, struct buf *out);
/* For people: members on lines of their own, 2 spaces per level. */
void json_writer_init_pretty(struct json_writer *, struct buf *out);
/* True if one complete value was written and everything did fit. */
bool json_writer_finish(struct json_writer *);

/*
 * Opening more than JSON_DEPTH_MAX of these at once is a bug of the caller, who
 * bounds what comes from elsewhere. Parsed values always fit on top.
 */
void json_write_begin_object(struct json_writer *);
void json_write_end_object(struct json_writer *);
void json_write_begin_array(struct json_writer *);
void json_write_end_array(struct json_writer *);

/* Inside an object each value follows its key. */
void json_write_key(struct json_writer *, const char *key);
void json_write_keyn(struct json_writer *, const char *key, size_t len);

/*
 * Any bytes may be passed as a string: ill-formed UTF-8 becomes U+FFFD, control
 * characters (C1 too, which terminals may obey) are escaped. NULL is written as
 * null.
 */
void json_write_str(struct json_writer *, const char *text);
void json_write_strn(struct json_writer *, const char *bytes, size_t len);
/* False if json_write_strn() would have to replace something. */
bool json_str_is_exact(const char *bytes, size_t len);
void json_write_int64(struct json_writer *, int64_t);
/* Shortest text that reads back as the same double; NaN, infinity: null. */
void json_write_double(struct json_writer *, double);
void json_write_bool(struct json_writer *, bool);
void json_write_null(struct json_writer *);
/* Splices one JSON value that is already known to be valid. */
void json_write_raw(struct json_writer *, const void *bytes, size_t len);
/* Splices a parsed value; in a pretty writer it is laid out anew. */
void json_write_val(struct json_writer *, struct json_val);

/* Key and value in one call. */
void json_put_str(struct json_writer *, const char *key, const char *text);
void json_put_strn(
    struct json_writer *, const char *key, const char *bytes, size_t len);
void json_put_int64(struct json_writer *, const char *key, int64_t);
void json_put_double(struct json_writer *, const char *key, double);
void json_put_bool(struct json_writer *, const char *key, bool);
void json_put_null(struct json_writer *, const char *key);
void json_put_raw(
    struct json_writer *, const char *key, const void *bytes, size_t len);
void json_put_val(struct json_writer *, const char *key, struct json_val);

/* Appends v laid out for people, without a final newline. */
bool json_pretty(struct json_val, struct buf *out);

#endif
