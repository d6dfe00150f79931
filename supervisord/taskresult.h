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
};

void taskresult_write(const struct taskresult *, struct json_writer *);

#endif
