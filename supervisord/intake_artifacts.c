/*
 * Artifacts of a run that are not made of items, as supervisord takes them in:
 * bytes to a file as they come, then one write with the row and its event.
 */
#include <string.h>

#include "common/clock.h"
#include "model/limits.h"
#include "model/mime.h"
#include "storage/artifact.h"
#include "storage/store.h"
#include "supervisord/change.h"
#include "supervisord/intake_int.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

#define ARTIFACT_BYTES_MAX (UINT64_C(256) << 20)

static bool
count_one(
    const struct ulid *id, const struct artifact_row *row, int err, void *arg)
{
	struct intake *in = arg;

	in->artifacts++;
	if (err == STORE_OK)
		in->artifact_bytes += row->size;
	return true;
}

void
intake_count_artifacts(struct intake *in, struct store_txn *txn)
{
	artifact_list(txn, &in->task->rec.id, count_one, in);
}

/* False: the run ends, for its artifacts are too many or too much. */
static bool
take_bytes(struct intake *in, int slot, size_t len)
{
	const char *why = NULL;

	in->slot_bytes[slot] += len;
	in->artifact_bytes += len;
	if (in->artifact_bytes > LIMIT_RUN_ARTIFACT_BYTES)
		why = "the artifacts of the run hold more than 256 MiB: store "
		      "less, or split the run";
	else if (in->slots[slot] == NULL &&
	    in->artifacts >= LIMIT_RUN_ARTIFACTS)
		why = "the run has 1000 artifacts: store fewer, or split the "
		      "run";
	if (why != NULL)
		task_abort(in->task, ERR_TEMPLATE_LIMIT, why);
	return why == NULL;
}

void
intake_artifact_data(struct intake *in, const struct ipc_params *p)
{
	int n = (int)ipc_int(p, F_SLOT, 0);
	struct artifact_writer **slot = &in->slots[n];
	enum store_err err = STORE_OK;
	struct ulid id;
	size_t len;
	const void *data = ipc_bin(p, F_DATA, &len);

	if (!take_bytes(in, n, len))
		return;
	if (*slot == NULL) {
		in->slot_firsts[n] = in->number;
		id = ulid_new(clock_stamp_ms());
		err = artifact_writer_new(
		    in->task->sup->store, &id, ARTIFACT_BYTES_MAX, slot);
	}
	if (err == STORE_OK)
		err = artifact_writer_append(*slot, data, len);
	if (err != STORE_OK)
		intake_store_failed(in, err);
}

bool
intake_label_is_valid(struct intake *in, const struct ipc_params *p)
{
	if (mime_is_valid(ipc_str(p, F_MIME)) &&
	    artifact_name_is_valid(ipc_str(p, F_NAME)))
		return true;
	task_abort(in->task, ERR_WORKER_PROTOCOL,
	    "an artifact with a name or media type that none has");
	return false;
}

void
intake_artifact_end(struct intake *in, const struct ipc_params *p)
{
	int n = (int)ipc_int(p, F_SLOT, 0);
	struct artifact_writer **slot = &in->slots[n];
	uint64_t bytes = in->slot_bytes[n];
	enum artifact_kind kind;
	enum store_err err;
	struct change *c;

	in->slot_firsts[n] = in->slot_bytes[n] = 0;
	if (intake_is_repeated(in)) {
		/* Its row was counted. */
		in->artifact_bytes -= bytes;
		artifact_writer_free(slot);
		return;
	}
	if (*slot == NULL ||
	    !artifact_kind_by_name(ipc_str(p, F_KIND), &kind)) {
		task_abort(in->task, ERR_WORKER_PROTOCOL,
		    "an artifact without bytes or of no known kind");
		return;
	}
	if (!intake_label_is_valid(in, p) || (c = intake_change(in)) == NULL)
		return;
	in->artifacts++;
	err = change_artifact(
	    c, kind, ipc_str(p, F_MIME), ipc_str(p, F_NAME), slot);
	if (err == STORE_OK) {
		change_commit(c, intake_written, NULL);
		return;
	}
	change_free(&c);
	intake_store_failed(in, err);
}
