/*
 * hints: for models: what an answer means in a sentence, and which calls are
 * likely to come next.
 */
#ifndef MCP_HINTS_H
#define MCP_HINTS_H

#include "json/tape.h"
#include "json/writer.h"

/* Members nextActions and, of a run, resultSummary, into an open object. */
void
hints_run(struct json_writer *, struct json_val run, struct json_val artifacts);
void hints_error(struct json_writer *, struct json_val error);
/* Of a list that goes on at that cursor. */
void hints_list(struct json_writer *, const char *tool, struct json_val cursor);
void hints_events(struct json_writer *, struct json_val answer);
/* Of a list of templates; shortened: without their outputs. */
void hints_templates(
    struct json_writer *, struct json_val templates, bool shortened);

#endif
