/*
 * intake_int: what the files of intake share.
 */
#ifndef SUPERVISORD_INTAKE_INT_H
#define SUPERVISORD_INTAKE_INT_H

#include <sys/queue.h>

#include "common/buf.h"
#include "storage/journal.h"
#include "supervisord/change.h"
#include "supervisord/intake.h"

#define ARTIFACT_SLOTS 16

struct item {
	TAILQ_ENTRY(item) entry;
	uint64_t first; /* number of its first message */
	struct journal_row row;
};

struct intake {
	struct task *task;
	struct spool *spool;
	TAILQ_HEAD(, item) items;
	size_t nitems;
	struct artifact_writer *slots[ARTIFACT_SLOTS];
	uint64_t slot_firsts[ARTIFACT_SLOTS]; /* as of items */
	uint64_t slot_bytes[ARTIFACT_SLOTS];
	unsigned artifacts;      /* of the run, its earlier attempts included */
	uint64_t artifact_bytes; /* of these and of what is coming */
	struct run_end end;      /* its worker's last word */
	struct buf result;
	uint64_t result_first;
	struct session_state *state; /* being written; or NULL */
	uint64_t state_first;
	uint64_t number;   /* of the message that is taken in */
	uint64_t replayed; /* up to this one a supervisord before stored them */
	unsigned unstored; /* messages of progress since a record was written */
	int64_t credit;    /* changes it may still ask for, in thousandths */
	int64_t credit_ms; /* when that was so */
	bool state_lost;   /* a part of it: the rest is of no use */
};

/* A change of the run's record, NULL (and the run aborted) without memory. */
struct change *intake_change(struct intake *);
/* Whether the message was stored before: its effect must not be doubled. */
bool intake_is_repeated(const struct intake *);
/* The change_done_fn of what the worker reports. */
bool intake_written(struct sup *, struct change *, int err);
/* A write to the spool or an artifact failed: the run ends. */
void intake_store_failed(struct intake *, int err);

/* The last message: what was said is stored, then the worker may go. */
void intake_run_end(struct intake *, const struct ipc_params *);

/* Messages about the session's state. */
void intake_state_data(struct intake *, const struct ipc_params *);
void intake_state_end(struct intake *, const struct ipc_params *);

/* Messages about artifacts that are not made of items. */
void intake_count_artifacts(struct intake *, struct store_txn *);
void intake_artifact_data(struct intake *, const struct ipc_params *);
void intake_artifact_end(struct intake *, const struct ipc_params *);

/* Of an artifact; false: the run was aborted. */
bool intake_label_is_valid(struct intake *, const struct ipc_params *);

/* Messages about items. */
void intake_total(struct intake *, const struct ipc_params *);
void intake_collect(struct intake *, const struct ipc_params *);
void intake_item_data(struct intake *, const struct ipc_params *);
void intake_item_end(struct intake *, const struct ipc_params *);

#endif
