/*
 * runjson: the Run object clients see (contract section 4).
 */
#ifndef SUPERVISORD_RUNJSON_H
#define SUPERVISORD_RUNJSON_H

#include <stdbool.h>
#include <stddef.h>

#include "json/writer.h"
#include "storage/run.h"

#define RUNJSON_BYTES_MAX  (1u << 20) /* of an answer about runs */
#define RUNJSON_OUTPUT_MAX (512u << 10)

struct store_txn;
struct sup;

enum runjson_part {
	RUNJSON_BRIEF = 0,
	RUNJSON_RESULT = 1 << 0, /* result, error, warnings, artifactIds */
	RUNJSON_OUTPUT = 1 << 1  /* the TaskResult */
};

/* What is wanted of a run. */
struct runjson_want {
	unsigned parts;
	size_t max_bytes; /* cut to about this; 0: as long as it is stored */
	bool among_own;   /* the queue's other runs are not to be known of */
};

/*
 * The object's members, inside an object that is open. What is brief is in the
 * record, and the transaction then may be NULL.
 */
void runjson_write(struct sup *, struct store_txn *, const struct run_record *,
    const struct runjson_want *, struct json_writer *);

#endif
