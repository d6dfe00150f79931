/*
 * The messages that start a run in its worker, sent by supervisord: what is
 * larger than a packet goes in chunks.
 */
#include <string.h>

#include "common/crashpoint.h"
#include "common/log.h"
#include "launch/launch.h"
#include "model/limits.h"
#include "storage/journal.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/begin.h"
#include "supervisord/secrets.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/worker.h"

#define JOURNAL_ENTRY_BYTES 12 /* index, digest */

static bool
send_begin(struct task *t, bool state, bool secrets)
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
	ipc_set_bool(&p, F_KEEP, t->keep);
	ipc_set_bool(&p, F_TAKEOVER, worker_is_takeover(t->worker));
	ipc_set_bool(&p, F_STATE, state);
	ipc_set_bool(&p, F_SECRETS, secrets);
	ipc_set_str(&p, F_TRUST, trust_level_name(t->rec.trust));
	return worker_send(t->worker, &p);
}

/*
 * What the session's sites keep, as the run before left it; empty when there is
 * nothing. A browser that lives knows it, but the worker's next export does not
 * know the origins that only earlier runs visited. A state that cannot be read,
 * or is not what was written, is told and done without: most of it is in the
 * profile, too.
 */
static void
read_state(struct task *t, struct buf *ret)
{
	enum store_err err;

	if (!t->keep)
		return;
	err = session_state_read(t->sup->store, &t->rec.session, ret);
	if (err == STORE_OK || err == STORE_NOT_FOUND)
		return;
	log_err("%s: the state of its session cannot be read: %s", t->name,
	    store_strerror(err));
	lines_addf(&t->warnings,
	    "the session's cookies and storage could not be restored: %s",
	    store_strerror(err));
}

/* A document in chunks, the last one marked. */
static bool
send_chunks(struct task *t, enum msg_id msg, const uint8_t *bytes, size_t len)
{
	struct ipc_params p;
	size_t n, at = 0;

	do {
		n = len - at < LIMIT_CHUNK_BYTES ? len - at : LIMIT_CHUNK_BYTES;
		ipc_params_init(&p, msg);
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
	    !send_chunks(t, MSG_W_RUN_INPUT, bytes, len))
		return false;
	if (journal_list(txn, &t->rec.id, journal_pack, &journal) != STORE_OK)
		return false;
	return journal_flush(&journal, true);
}

/* The session's state, the inputs and what was finished before. */
static bool
send_all(struct task *t, bool secrets)
{
	struct store *store = t->sup->store;
	struct store_txn *txn;
	struct buf state;
	bool good;

	buf_init_secret(&state, STATE_FILE_BYTES);
	read_state(t, &state);
	good = send_begin(t, state.len > 0, secrets) &&
	    (state.len == 0 ||
		send_chunks(t, MSG_W_RUN_STATE, state.data, state.len));
	buf_clear(&state);
	if (!good || store_read_begin(store, &txn) != STORE_OK)
		return false;
	good = send_documents(t, txn);
	store_read_end(store);
	return good;
}

bool
begin_run(struct task *t)
{
	struct ipc_params p;
	struct buf names; /* of stored secrets */
	bool good, secrets;

	buf_init(&names, LIMIT_INPUT_BYTES);
	good = secrets_names(t->sup, &t->rec, &names);
	secrets = t->secrets || names.len > 0;
	good = good && send_all(t, secrets);
	if (good && secrets)
		worker_give_secrets(t->worker, &t->rec, &names);
	buf_clear(&names);
	if (!good)
		return false;
	worker_set_running(t->worker);
	CRASH_POINT(begin_sent);
	ipc_params_init(&p, MSG_W_RUN_GO);
	good = worker_send(t->worker, &p);
	CRASH_POINT(go_sent);
	return good;
}
