/* revision: the table of revision.def. */
#ifndef MCP_REVISION_H
#define MCP_REVISION_H

#include <stdbool.h>
#include <stddef.h>

#include "json/tape.h"
#include "json/writer.h"

enum era {
	ERA_LEGACY = 1,
	ERA_MODERN = 2
};

#define REV_BATCHES     1u
#define REV_ANNOTATIONS 2u
#define REV_STRUCTURED  4u
#define REV_TASKS       8u

struct revision {
	const char *name;
	enum era era;
	unsigned features; /* of REV_ */
};

/* NULL when it is not spoken, or the value is no string. */
const struct revision *revision_find(struct json_val name);
/* The newest one that is agreed on by initialize. */
const struct revision *revision_newest_legacy(void);
const struct revision *revision_newest_modern(void);
/* An array of all names, newest first. */
void revision_write_names(struct json_writer *);

#endif
