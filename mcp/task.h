/*
 * task: a run as a task, as both eras write it: the experimental tasks of the
 * revision 2025-11-25 and the extension io.modelcontextprotocol/tasks. The id
 * of a task is that of its run, so that every run is one, also for other
 * adapters and after restarts.
 */
#ifndef MCP_TASK_H
#define MCP_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "json/tape.h"
#include "json/writer.h"
#include "mcp/question.h"
#include "mcp/revision.h"

struct task {
	struct json_val run;
	struct json_val artifacts; /* of one that has ended; may be missing */
	int64_t ttl_ms; /* how long it is kept after its end; 0: it works */
};

/* It was looked up; answers or asks on. The task is for this call only. */
typedef void task_fn(struct question *, const struct task *);

/* Takes params.taskId over as the question's id. False: it was answered. */
bool task_take_id(struct question **);
/*
 * Asks for the run with the question's id. Who is not there is answered with
 * an error; a question without reply ends without a word.
 */
void task_look(struct question *, task_fn *);
bool task_is_over(struct json_val run);
/* The members of a task, of an open object. */
void task_write(struct json_writer *, enum era, const struct task *);
/* What the tool would have answered, into an open object. */
bool task_write_result(
    struct json_writer *, const struct revision *, const struct task *);
/* Modern: with what belongs to its status. False: no memory. */
bool task_write_detailed(
    struct json_writer *, const struct revision *, const struct task *);

#endif
