/*
 * taskresult: the TaskResult v0 envelope, written for every run that ended.
 * Pure.
 */
#ifndef SUPERVISORD_TASKRESULT_H
#define SUPERVISORD_TASKRESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "json/writer.h"
#include "model/errors.h"
#include "storage/artifact.h"
#include "storage/run.h"

#define ARTIFACT_ROWS_MAX 64

struct store_txn;

/* Where its parts lie; all borrowed. */
struct taskresult {
	const struct run_record *rec; /* with its terminal status */
	const void *result;           /* JSON object; NULL is {} */
	size_t result_len;
	const struct artifact_row *artifacts;
	size_t nartifacts;
	const void *steps; /* JSON array; NULL is [] */
	size_t steps_len;
	const void *trace_lines; /* JSON array; NULL is [] */
	size_t trace_lines_len;
	enum err_code code; /* ERR_NONE: no error */
	const char *message;
	const char *failed_step;
	bool retryable;
};

/* The artifacts of a run, as many as are named in answers. */
struct artifact_rows {
	struct artifact_row rows[ARTIFACT_ROWS_MAX];
	size_t count;
	size_t omitted;
};

/*
 * Beyond ARTIFACT_ROWS_MAX they are left out and counted, the TaskResult and
 * extractions last.
 */
void artifact_rows_add(struct artifact_rows *, const struct artifact_row *);
/* Starts anew with those that are stored; unreadable ones are left out. */
void artifact_rows_read(
    struct artifact_rows *, struct store_txn *, const struct ulid *run);

void taskresult_write(const struct taskresult *, struct json_writer *);

#endif
