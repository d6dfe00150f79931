/*
 * The messages that start a run in its worker, sent by supervisord: what is
 * larger than a packet goes in chunks.
 */
#include <string.h>

#include "launch/launch.h"
#include "model/limits.h"
#include "storage/journal.h"
#include "storage/store.h"
#include "supervisord/begin.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker.h"

#define JOURNAL_ENTRY_BYTES 12 /* index, digest */

static bool
send_begin(struct task *t)
{
	char session[IPC_ID_MAX + 1];
	struct ipc_params p;

	id_format("sess_", &t->rec.session, session);
	ipc_params_init(&p, MSG_W_RUN_BEGIN);
	ipc_set_str(&p, F_RUN_ID, t->name);
	ipc_set_str(&p, F_SESSION_ID, session);
	ipc_set_int(&p, F_ATTEMPT, t->rec.attempt);
	ipc_set_str(&p, F_TEMPLATE_ID, t->rec.template_id);
	ipc_set_int(&p, F_LIMIT_MS, task_left_ms(t));
	ipc_set_str(&p, F_TRACE_ID, t->rec.trace_id);
	ipc_set_str(&p, F_RESOURCES, t->text_only ? "text" : "all");
	ipc_set_int(&p, F_MAX_TABS, t->sup->settings.maxTabsPerSession);
	ipc_set_int(&p, F_MEMORY_BYTES, t->sup->settings.templateMemoryBytes);
	ipc_set_bool(&p, F_KEEP, false);
	ipc_set_bool(&p, F_TAKEOVER, false);
	ipc_set_bool(&p, F_STATE, false);
	ipc_set_bool(&p, F_SECRETS, t->secrets);
	ipc_set_str(&p, F_TRUST, trust_level_name(t->rec.trust));
	return worker_send(t->worker, &p);
}

static bool
send_inputs(struct task *t, const uint8_t *bytes, size_t len)
{
	struct ipc_params p;
	size_t n, at = 0;

	do {
		n = len - at < LIMIT_CHUNK_BYTES ? len - at : LIMIT_CHUNK_BYTES;
		ipc_params_init(&p, MSG_W_RUN_INPUT);
		ipc_set_bin(&p, F_DATA, bytes + at, n);
		at += n;
		ipc_set_bool(&p, F_LAST, at == len);
		if (!worker_send(t->worker, &p))
			return false;
	} while (at < len);
	return true;
}

struct journal_packer {
	struct task *task;
	uint8_t bytes[LIMIT_CHUNK_BYTES / JOURNAL_ENTRY_BYTES *
	    JOURNAL_ENTRY_BYTES];
	size_t len;
};

static bool
journal_flush(struct journal_packer *j, bool last)
{
	struct ipc_params p;

	ipc_params_init(&p, MSG_W_RUN_JOURNAL);
	ipc_set_bin(&p, F_ENTRIES, j->bytes, j->len);
	ipc_set_bool(&p, F_LAST, last);
	j->len = 0;
	return worker_send(j->task->worker, &p);
}

static bool
journal_pack(uint32_t index, const struct journal_row *row, int err, void *arg)
{
	struct journal_packer *j = arg;
	uint8_t *at = j->bytes + j->len;

	if (err != STORE_OK)
		return true;
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(index >> (24 - 8 * i));
	memcpy(at + 4, row->digest, sizeof(row->digest));
	j->len += JOURNAL_ENTRY_BYTES;
	return j->len < sizeof(j->bytes) || journal_flush(j, false);
}

static bool
send_documents(struct task *t, struct store_txn *txn)
{
	struct journal_packer journal = { .task = t };
	const uint8_t *bytes;
	size_t len;

	if (run_doc_get(txn, &t->rec.id, RUN_DOC_INPUTS, &bytes, &len) !=
		STORE_OK ||
	    !send_inputs(t, bytes, len))
		return false;
	if (journal_list(txn, &t->rec.id, journal_pack, &journal) != STORE_OK)
		return false;
	return journal_flush(&journal, true);
}

bool
begin_run(struct task *t)
{
	struct store *store = t->sup->store;
	struct store_txn *txn;
	struct ipc_params p;
	bool good;

	if (!send_begin(t) || store_read_begin(store, &txn) != STORE_OK)
		return false;
	good = send_documents(t, txn);
	store_read_end(store);
	if (!good)
		return false;
	if (t->secrets)
		worker_give_secrets(t->worker, &t->rec.id);
	worker_set_running(t->worker);
	ipc_params_init(&p, MSG_W_RUN_GO);
	return worker_send(t->worker, &p);
}
