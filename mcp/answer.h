/*
 * answer: what the service said becomes the result of a tool: structured
 * content, the same as text, links to artifacts, and for models what the
 * contract does not have: a summary and what to do next.
 *
 * Each of these answers the call and frees it, unless it says otherwise.
 */
#ifndef MCP_ANSWER_H
#define MCP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/call.h"
#include "model/errors.h"

/* An error of the service: an object as it writes them. */
void answer_error(struct call *, const char *json, size_t len);
/* One of ours. */
void answer_fault(struct call *, enum err_code, const char *message);
/* call->run, with the answer of artifact.list, or NULL. */
void answer_run(struct call *, const char *json, size_t len);
/*
 * The result of the tool that has made this run, which has ended, into an open
 * object; artifacts may be missing. Answers nothing. False: no memory, and
 * nothing was written.
 */
bool answer_write_run(struct json_writer *, const struct revision *,
    struct json_val run, struct json_val artifacts);

/* For tools whose answer is the service's, as link_done_fn. */
/* A list is short unless full is given: the ids and what they are for. */
void answer_templates(struct call *, bool good, const char *, size_t len);
void answer_plain(struct call *, bool good, const char *, size_t len);
void answer_runs(struct call *, bool good, const char *, size_t len);
void answer_events(struct call *, bool good, const char *, size_t len);

/*
 * This document, without any member of ours, and these blocks of content (an
 * array) in place of its text. Both may be the call's no more: it is freed.
 */
void answer_blocks(struct call *, struct json_val, const struct buf *blocks);

/* What their requests need beside the arguments. */
bool answer_prepare_bounded(struct call *);
bool answer_prepare_events(struct call *);

#endif
