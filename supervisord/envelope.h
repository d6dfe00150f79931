/*
 * envelope: the documents of a run's end: its result as answered, the full one
 * inside the TaskResult, its error, and the write that makes it terminal.
 */
#ifndef SUPERVISORD_ENVELOPE_H
#define SUPERVISORD_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "supervisord/outcome.h"

#define ENVELOPE_BYTES_MAX (48u << 20)
#define ITEMS_CAUSES_MAX   8
#define ITEMS_CAUSE_CHARS  200
#define RESULT_INLINE_MAX  (256u << 10) /* of a result as it is answered */

struct change;
struct task;

/* How many items failed for a reason, and what the first of them said. */
struct items_cause {
	enum err_code code;
	uint32_t n;
	char message[ITEMS_CAUSE_CHARS + 1];
};

/* Records of a run's items in order of index, joined by commas. */
struct items {
	bool by_items; /* the template works on items */
	uint32_t succeeded, failed;
	struct items_cause causes[ITEMS_CAUSES_MAX]; /* the first that came */
	size_t ncauses;
	struct buf text;
	/* What fits an answer: so many records, so many bytes of text. */
	uint32_t shown;
	size_t shown_len;
};

void items_init(struct items *);
void items_clear(struct items *);
void items_add(struct items *, const void *record, size_t len, bool good);
/* Why most of those that failed did; NULL if none said why. */
const struct items_cause *items_commonest(const struct items *);

/*
 * The result object, after the worker's own members: summary and items for a
 * template of items. With cut it has only what fits an answer, and names the
 * artifact (may be NULL) that holds all of it.
 */
void result_write(const struct items *, uint32_t total, const void *worker,
    size_t worker_len, const struct ulid *cut, struct json_writer *);

/* Writes the TaskResult; change has the artifacts it names. */
bool envelope_build(struct task *, const struct outcome *, const struct items *,
    const struct change *, struct buf *);
/*
 * Completes the change that makes the run terminal; envelope is the id of the
 * TaskResult's artifact, NULL when it could not be stored.
 */
bool envelope_terminal(struct task *, const struct outcome *,
    const struct items *, const struct ulid *envelope, struct change *);

#endif
