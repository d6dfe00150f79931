/*
 * artifact: get_artifact. A chunk of an artifact, or one value inside a JSON
 * artifact, so that a model pays for what it needs. What is text comes as text
 * of its own, an image as an image.
 */
#ifndef MCP_ARTIFACT_H
#define MCP_ARTIFACT_H

#include <stdbool.h>
#include <stddef.h>

#include "mcp/call.h"

/*
 * The most bytes of a chunk that fit a model: 25,000 tokens is what clients
 * take. A token is 3 bytes of English or 1.5 of other text at the worst.
 */
#define ARTIFACT_MODEL_BYTES 36000

bool artifact_prepare(struct call *);
/* The chunk that was asked for; as link_done_fn. */
void artifact_answered(struct call *, bool good, const char *, size_t len);

#endif
