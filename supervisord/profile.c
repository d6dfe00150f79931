/*
 * profile.get: what this supervisord allows and what it does now.
 */
#include "config.h"

#include <unistd.h>

#include "common/clock.h"
#include "storage/artifact.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/client.h"
#include "supervisord/profile.h"
#include "supervisord/registry.h"
#include "supervisord/reply.h"
#include "supervisord/session.h"
#include "supervisord/spares.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"

static void
profile_contract(
    const struct settings *s, enum trust_level trust, struct json_writer *w)
{
	json_put_int64(w, "maxConcurrentRuns", s->maxConcurrentRuns);
	json_put_int64(w, "maxUrls", LIMIT_ITEMS);
	json_put_int64(w, "maxTabsPerSession", s->maxTabsPerSession);
	json_put_int64(w, "syncTimeoutMs", s->syncTimeoutMs);
	json_put_int64(w, "asyncTimeoutMs", s->asyncTimeoutMs);
	json_put_int64(w, "artifactMaxChunkSize", LIMIT_ARTIFACT_CHUNK_BYTES);
	json_put_int64(w, "artifactTtlMs", s->artifactTtlMs);
	json_put_int64(w, "runTtlMs", s->runTtlMs);
	json_put_int64(w, "tombstoneTtlMs", s->tombstoneTtlMs);
	json_put_int64(w, "artifactMaxBytes", s->artifactMaxBytes);
	json_put_int64(w, "sessionTtlMs", s->sessionTtlMs);
	json_write_key(w, "supportedModes");
	json_write_begin_array(w);
	json_write_str(w, "sync");
	json_write_str(w, "async");
	json_write_str(w, "auto");
	json_write_end_array(w);
	json_put_str(w, "trustLevel", trust_level_name(trust));
	json_put_bool(w, "isRemote", trust == TRUST_REMOTE);
}

/* What others do is not told to those who may not see it. */
static void
profile_load(struct sup *sup, struct client *client, struct json_writer *w)
{
	size_t active = tasks_active(sup->tasks);
	size_t queued = tasks_queued(sup->tasks);

	if (!client_reads_all(client))
		tasks_count(
		    sup->tasks, (uint32_t)client_uid(client), &active, &queued);
	json_put_int64(w, "activeRuns", (int64_t)active);
	json_put_int64(w, "queuedRuns", (int64_t)queued);
}

static void
profile_totals(struct sup *sup, struct client *client, struct json_writer *w)
{
	struct run_filter f = { .by_status = true,
		.uid = (uint32_t)client_uid(client) };
	struct store_txn *txn;
	uint64_t total, held = 0;

	f.by_uid = !client_reads_all(client);
	json_write_key(w, "runs");
	json_write_begin_object(w);
	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		for (int i = 0; i < RUN__MAX; i++) {
			f.status = (enum run_status)i;
			if (run_total(txn, &f, &total) == STORE_OK)
				json_put_int64(w, run_status_name(f.status),
				    (int64_t)total);
		}
		artifact_total(txn, &held);
		store_read_end(sup->store);
	}
	json_write_end_object(w);
	if (client_may_command(client))
		json_put_int64(w, "artifactBytes", (int64_t)held);
}

struct session_count {
	enum trust_level trust; /* of the client */
	int64_t n;
};

static bool
count_session(
    const struct ulid *id, const struct session_record *rec, int err, void *arg)
{
	struct session_count *c = arg;

	c->n += rec == NULL || session_record_for(rec, c->trust);
	return true;
}

/* How many the client may see. */
static void
profile_sessions(struct sup *sup, struct client *client, struct json_writer *w)
{
	struct session_count count = { .trust = client_trust(client) };
	struct store_txn *txn;

	if (store_read_begin(sup->store, &txn) == STORE_OK) {
		session_list(txn, !client_sees_all(client),
		    (uint32_t)client_uid(client), NULL, count_session, &count);
		store_read_end(sup->store);
	}
	json_put_int64(w, "sessions", count.n);
}

static void
profile_settings(const struct settings *s, struct json_writer *w)
{
	const struct setting_info *row;
	char value[SETTINGS_VALUE_BYTES];

	json_write_key(w, "settings");
	json_write_begin_object(w);
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		if (row->type != SETTING_TEXT) {
			json_put_int64(w, row->name, settings_value(s, i));
		} else if (!row->private) {
			settings_format(s, i, value);
			json_put_str(w, row->name, value);
		}
	json_write_end_object(w);
}

static void
profile_browser(const struct sup *sup, struct json_writer *w)
{
	const struct launch_sandbox *s = &sup->browser.sandbox;

	json_write_key(w, "browser");
	if (sup->browser.seen_ms == 0) {
		json_write_null(w);
		return;
	}
	json_write_begin_object(w);
	json_put_str(w, "product", sup->browser.product);
	json_put_bool(w, "confined", sup->browser.confined);
	json_put_int64(w, "seenAt", sup->browser.seen_ms);
	json_put_int64(w, "renderers", s->renderers);
	json_put_int64(w, "gpus", s->gpus);
	json_put_int64(w, "utilities", s->utilities);
	json_write_end_object(w);
}

static void
profile_drain(const struct sup *sup, struct json_writer *w)
{
	json_put_bool(w, "draining", sup->drained_ms != 0);
	if (sup->drained_ms != 0)
		json_put_int64(w, "drainedAt", sup->drained_ms);
	else
		json_put_null(w, "drainedAt");
}

/* What came of them when the service was last told to start anew. */
static void
profile_programs(const struct sup *sup, struct json_writer *w)
{
	if (sup->renewal == LAUNCH_RENEWAL_NONE)
		json_put_null(w, "programs");
	else
		json_put_str(w, "programs",
		    sup->renewal == LAUNCH_RENEWAL_TAKEN ? "replaced"
							 : "refused");
}

void
profile_get(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct sup *sup = client_sup(client);
	struct store_stats stats = store_stats(sup->store);
	struct store_space space = { 0, 0 };
	struct json_writer w;
	struct buf b;

	store_space_ok(sup->store, 0, 0, &space);
	buf_init(&b, 65536);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	profile_contract(&sup->settings, client_trust(client), &w);
	json_put_str(&w, "version", PACKAGE_VERSION);
	json_put_int64(&w, "epoch", store_epoch(sup->store));
	json_put_int64(&w, "uptimeMs", clock_mono_ms() - sup->started_mono_ms);
	json_put_int64(&w, "pid", getpid());
	json_put_int64(&w, "launcherPid", sup->launcher_pid);
	json_put_int64(&w, "templates", (int64_t)registry_count(sup->registry));
	profile_load(sup, client, &w);
	json_put_int64(&w, "warmCells", (int64_t)spares_ready(sup));
	json_put_int64(&w, "maxQueuedRuns", sup->settings.maxQueuedRuns);
	profile_sessions(sup, client, &w);
	profile_totals(sup, client, &w);
	if (client_may_command(client)) {
		json_put_int64(
		    &w, "livingSessions", (int64_t)sessions_living(sup));
		json_put_int64(
		    &w, "clients", (int64_t)clients_count(sup->clients));
		json_put_int64(&w, "storeBytes", (int64_t)stats.disk_bytes);
	}
	json_put_int64(&w, "freeBytes", (int64_t)space.free_bytes);
	profile_drain(sup, &w);
	profile_browser(sup, &w);
	protected_write(sup, &w);
	profile_settings(&sup->settings, &w);
	json_write_key(&w, "shares");
	share_write(client_share(client), &sup->settings, &w);
	if (client_may_command(client)) {
		profile_programs(sup, &w);
		json_put_str(&w, "stateDir", sup->state_dir);
	}
	json_put_bool(&w, "admin", client_is_admin(client));
	json_write_end_object(&w);
	reply_json(client, seq, &w, &b);
}
