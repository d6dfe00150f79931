/*
 * event: a run's numbered event log, bounded by LIMIT_EVENTS and
 * LIMIT_EVENT_LOG_BYTES. Beyond the bound an event that is no state event takes
 * the place of the last such one (its old number is gone); state events always
 * fit.
 */
#ifndef STORAGE_EVENT_H
#define STORAGE_EVENT_H

#include "storage/run.h"

#define EVENT_DOC_BYTES 16384

struct event_row {
	uint64_t seq; /* from 1, rising; gaps are allowed */
	enum event_kind kind;
	int64_t stamp_ms;
	const uint8_t *doc; /* JSON, opaque here */
	size_t doc_len;
};

/*
 * Appends; row->seq is ignored, *ret_seq is the number given. The document may
 * be made when the number is known: event_next_seq() tells it beforehand.
 */
int event_append(struct store_txn *, const struct ulid *run,
    const struct event_row *, uint64_t *ret_seq);
int
event_next_seq(struct store_txn *, const struct ulid *run, uint64_t *ret_seq);

/* row is NULL and err says why for one that cannot be read; false stops. */
typedef bool
event_visit_fn(uint64_t seq, const struct event_row *row, int err, void *arg);
/* Those with seq > after_seq, rising, at most limit. */
int event_list(struct store_txn *, const struct ulid *run, uint64_t after_seq,
    uint64_t limit, event_visit_fn *fn, void *arg);

#endif
