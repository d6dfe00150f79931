/*
 * steps: the steps of one run as TaskResult v0 section 3 shows them.
 */
#ifndef SUPERVISORD_STEPS_H
#define SUPERVISORD_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json/writer.h"

#define STEPS_MAX       200
#define STEP_NAME_CHARS 64
#define STEP_CODE_CHARS 64

struct step {
	char name[STEP_NAME_CHARS + 1];
	char error_code[STEP_CODE_CHARS + 1]; /* "" is null */
	bool ok;
	bool open;
	int64_t start_ms; /* monotonic */
	int64_t duration_ms;
	unsigned retries;
	char *meta; /* a JSON object or NULL */
	size_t meta_len;
};

struct steps {
	struct step *list;
	size_t count;
	size_t meta_bytes; /* of all */
};

void steps_clear(struct steps *);
/* False when there are STEPS_MAX already or memory ran out. */
bool steps_start(struct steps *, const char *name, int64_t now_ms);
void steps_retry(struct steps *, const char *name);
/*
 * Closes the last open step of that name; one that was never started is added.
 * error_code may be NULL; one that is not ok gets some code. meta (may be
 * NULL) is copied and must be a JSON object; what all hold together is bounded
 * by LIMIT_STEPS_META_BYTES, beyond it {"truncated":true} stands for it.
 */
bool steps_end(struct steps *, const char *name, bool ok, int64_t duration_ms,
    const char *error_code, const char *meta, size_t meta_len);
/*
 * Closes what is in flight at the end of a run: as failed with this code, as
 * good when it is NULL.
 */
void steps_close(struct steps *, const char *error_code, int64_t now_ms);
/* The first that failed, or NULL. */
const struct step *steps_failed(const struct steps *);
/* The last one, or NULL. */
struct step *steps_last(const struct steps *);

/* Forgets what is in flight: the run goes on and does it again. */
void steps_drop_open(struct steps *);

/* An array; a step in flight has "open". */
void steps_write(const struct steps *, struct json_writer *);
/*
 * Reads what steps_write() wrote: false, steps untouched, if it is not that. A
 * step in flight counts from now_ms.
 */
bool steps_read(struct steps *, const void *json, size_t len, int64_t now_ms);

#endif
