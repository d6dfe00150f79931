/*
 * Submissions, in supervisord. What can be refused is refused before anything
 * is written. The key is looked up and reserved in the very transaction that
 * creates the run, and the answer follows its commit; so there is one run per
 * key, whatever crashes when.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/crashpoint.h"
#include "common/log.h"
#include "storage/idem.h"
#include "storage/session.h"
#include "storage/store.h"
#include "supervisord/auditlog.h"
#include "supervisord/change.h"
#include "supervisord/client.h"
#include "supervisord/options.h"
#include "supervisord/inputs.h"
#include "supervisord/link.h"
#include "supervisord/registry.h"
#include "supervisord/session.h"
#include "supervisord/share.h"
#include "supervisord/submit.h"
#include "supervisord/submit_answer.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/turn.h"

#define SUBMIT_ROWS 2 /* of the audit log: this, and the run's end */

/* The guard's own refusals. */
enum {
	GUARD_KNOWN = STORE__MAX, /* the key stands for a run */
	GUARD_REFUSED,            /* no room for a new run */
	GUARD_SHARE,              /* no room for a new run of this user's */
	GUARD_NO_SESSION          /* none of that id for this user */
};

/* One submission between its check and its answer. */
struct submission {
	struct watch *watch; /* who asked; NULL when they went away */
	struct sup *sup;
	struct task *task; /* what is committed is begun without memory */
	const struct template *template;
	struct options options;
	struct run_record rec;
	char name[ID_CHARS + 1];
	struct refusal refusal; /* of a new run; a known key is answered */
	uint8_t params[32];
	char label[STORE_LABEL_CHARS + 1]; /* of the client */
	bool lent;                         /* it shall run in: */
	struct ulid session;               /* its own, or this one */
	struct json_doc *option_doc;
	struct inputs inputs;
	/* Set by the guard. */
	struct ulid known;
	enum idem_match match;
	bool no_wait; /* answered at once, also in mode sync */
};

static void
submission_free(struct submission **submission)
{
	struct submission *s = *submission;

	if (s == NULL)
		return;
	task_free(&s->task);
	json_doc_free(&s->option_doc);
	options_clear(&s->options);
	if (s->inputs.secrets_fd != -1)
		s->sup->secrets--;
	inputs_clear(&s->inputs);
	free(s);
	*submission = NULL;
}

/* Checks. */

static bool
check_template(
    struct submission *s, enum trust_level trust, const struct ipc_params *p)
{
	const char *id = ipc_str(p, F_TEMPLATE_ID);
	const char *version = ipc_str(p, F_TEMPLATE_VERSION);
	struct refusal *r = &s->refusal;

	s->template = registry_find(s->sup->registry, id);
	if (s->template == NULL)
		return refuse(r, ERR_TEMPLATE_NOT_FOUND,
		    "there is no template \"%s\"", id);
	if (version != NULL && strcmp(version, s->template->version) != 0)
		return refuse(r, ERR_TEMPLATE_VERSION_UNSUPPORTED,
		    "template %s is served in version %s, not %s", id,
		    s->template->version, version);
	s->rec.trust = trust;
	if (!s->template->trust[trust])
		return refuse(r, ERR_TRUST_LEVEL_NOT_ALLOWED,
		    "template %s does not allow the trust level %s", id,
		    trust_level_name(trust));
	s->lent = ipc_has(p, F_SESSION_ID);
	if (s->lent &&
	    !id_parse("sess_", ipc_str(p, F_SESSION_ID), &s->session))
		return refuse(r, ERR_SESSION_NOT_FOUND,
		    "sessionId is not of the form sess_ and 26 characters");
	return true;
}

static bool
check_options(struct submission *s, const struct ipc_params *p)
{
	size_t len;
	const void *json = ipc_bin(p, F_OPTIONS, &len);

	if (json != NULL &&
	    !document_read(json, len, LIMIT_OPTIONS_BYTES, "options", 0,
		&s->option_doc, &s->refusal))
		return false;
	return options_read(json_root(s->option_doc), &s->options, &s->refusal);
}

/* Runs of users wait in the order of arrival, but for what is urgent less. */
static bool
check_priority(struct submission *s, const struct client *client)
{
	if (s->options.priority <= PRIORITY_NORMAL ||
	    client_may_command(client) || s->sup->settings.userPriorities)
		return true;
	return refuse(&s->refusal, ERR_NOT_PERMITTED,
	    "/options/priority: \"%s\" is for administrators (the setting"
	    " userPriorities): use \"normal\" or \"low\"",
	    run_priority_name(s->options.priority));
}

static bool
check_inputs(struct submission *s, const struct ipc_params *p)
{
	size_t len;
	const void *json = ipc_bin(p, F_INPUTS, &len);

	return inputs_read(
	    &s->inputs, s->template, json, len, &s->options, &s->refusal);
}

static bool
seal_inputs(struct submission *s)
{
	if (!inputs_seal(&s->inputs, s->template, &s->refusal))
		return false;
	if (s->inputs.secrets_fd != -1)
		s->sup->secrets++;
	return true;
}

/* Has its user room for this much more? Then the run has it until it ends. */
static bool
check_share(struct submission *s, enum share_kind kind, uint64_t n)
{
	const struct settings *set = &s->sup->settings;
	struct task *t = s->task;

	if (n == 0 || share_has_room(t->share, set, kind, n)) {
		task_hold(t, kind, n);
		return true;
	}
	s->refusal.code = ERR_USER_LIMIT;
	share_refusal(t->share, set, kind, n, s->refusal.message);
	return false;
}

/* What stands against a new run just now, though the submission is right. */
static void
check_room(struct submission *s)
{
	struct sup *sup = s->sup;

	if (sup->stopping)
		refuse(&s->refusal, ERR_SHUTTING_DOWN,
		    "the service is being stopped");
	else if (tasks_places_taken(sup->tasks) >=
	    (size_t)sup->settings.maxQueuedRuns)
		refuse(&s->refusal, ERR_QUEUE_FULL,
		    "%lld runs are waiting already",
		    (long long)sup->settings.maxQueuedRuns);
	else if (s->inputs.secrets_fd != -1 &&
	    sup->secrets > LAUNCH_SECRETS_MAX)
		refuse(&s->refusal, ERR_QUEUE_FULL,
		    "%d runs with secrets are live already",
		    LAUNCH_SECRETS_MAX);
	else if (!check_share(s, SHARE_SECRETS, s->inputs.secrets_fd != -1) ||
	    !check_share(s, SHARE_INPUT_BYTES, s->inputs.text.len))
		return;
	else if (!store_space_ok(sup->store, STORE_MIN_FREE_PERCENT,
		     (uint64_t)sup->settings.minFreeBytes, NULL))
		refuse(&s->refusal, ERR_STORAGE_FULL,
		    "too little disk space is free");
}

/* The record. */

static void
make_identity(struct submission *s, uid_t uid)
{
	char domain[16];
	const char *parts[] = { domain, s->template->id, s->options.key, NULL };

	if (s->options.key[0] == '\0')
		return;
	if (s->sup->settings.shareRuns && s->rec.trust == TRUST_LOCAL)
		strlcpy(domain, "shared", sizeof(domain));
	else
		snprintf(domain, sizeof(domain), "%u", (unsigned)uid);
	idem_identity(IDEM_MCP, parts, s->rec.identity);
	s->rec.has_identity = true;
}

/* Another run is in the session it wants. */
static bool
submit_must_wait(const struct submission *s)
{
	struct session_view view = { 0 };

	if (s->lent)
		session_look(s->sup, &s->session, &view);
	return view.busy || view.waiting > 0;
}

static bool
make_record(struct submission *s, uid_t uid)
{
	struct tasks *tasks = s->sup->tasks;
	struct run_record *rec = &s->rec;
	const struct template *t = s->template;
	int64_t now = clock_stamp_ms();
	bool full = submit_must_wait(s) || s->sup->drained_ms != 0 ||
	    tasks_places_taken(tasks) > 0 || tasks_full(tasks, (uint32_t)uid);

	rec->id = ulid_new(now);
	rec->session = s->lent ? s->session : ulid_new(now);
	rec->owns_session = !s->lent;
	rec->uid = (uint32_t)uid;
	strlcpy(rec->template_id, t->id, sizeof(rec->template_id));
	strlcpy(
	    rec->template_version, t->version, sizeof(rec->template_version));
	rec->status = RUN_QUEUED;
	rec->mode =
	    options_mode(&s->options, t, json_root(s->inputs.doc), full);
	rec->priority = s->options.priority;
	rec->attempt = 1;
	rec->created_ms = ulid_time_ms(&rec->id);
	rec->updated_ms = rec->created_ms;
	rec->limit_ms =
	    options_limit(&s->options, t, &s->sup->settings, rec->mode);
	if (strcmp(s->label, SESSION_ALL_LABELS) != 0)
		strlcpy(rec->owner, s->label, sizeof(rec->owner));
	rec->share_session = s->options.share_session;
	strlcpy(rec->facts_snapshot_id, s->options.facts_snapshot_id,
	    sizeof(rec->facts_snapshot_id));
	if (s->options.trace_id[0] == '\0')
		options_trace_make(s->options.trace_id);
	strlcpy(rec->trace_id, s->options.trace_id, sizeof(rec->trace_id));
	make_identity(s, uid);
	return inputs_digest(&s->inputs, &s->options,
	    s->lent ? &s->session : NULL, s->sup->store, s->params,
	    &s->refusal);
}

/* Has its user as many runs waiting as one may have? */
static int
guard_share(struct store_txn *txn, const struct submission *s)
{
	struct run_filter own = { .by_uid = true,
		.uid = s->rec.uid,
		.by_status = true,
		.status = RUN_QUEUED };
	uint64_t waiting;
	int err;

	if (share_is_free(s->rec.uid))
		return STORE_OK;
	if ((err = run_total(txn, &own, &waiting)) != STORE_OK)
		return err;
	return waiting < (uint64_t)s->sup->settings.maxQueuedRunsPerUid
	    ? STORE_OK
	    : GUARD_SHARE;
}

/* In the transaction: the key decides before a new run does. */
static int
submit_guard(struct store_txn *txn, struct change *c)
{
	struct submission *s = c->arg;
	struct idem_row row = {
		.uid = s->rec.uid, .run = s->rec.id, .with_run = true
	};
	struct idem_row old;
	struct run_record rec;
	int64_t now = clock_stamp_ms();
	int err = STORE_NOT_FOUND;

	if (s->rec.has_identity)
		err = idem_get(txn, s->rec.identity, now, &old);
	if (err == STORE_OK && run_get(txn, &old.run, &rec) == STORE_OK &&
	    !run_record_expired(&rec, now)) {
		s->known = old.run;
		s->match = idem_compare(s->sup->store, &old, s->params);
		return GUARD_KNOWN;
	}
	if (err != STORE_OK && err != STORE_NOT_FOUND)
		return err;
	if (s->refusal.code != ERR_NONE)
		return GUARD_REFUSED;
	if ((err = guard_share(txn, s)) != STORE_OK)
		return err;
	if (s->lent)
		err = session_take(
		    txn, &s->session, s->rec.uid, s->rec.trust, s->label, now);
	if (s->lent && err != STORE_OK)
		return err == STORE_NOT_FOUND ? GUARD_NO_SESSION : err;
	memcpy(row.params, s->params, sizeof(row.params));
	return s->rec.has_identity
	    ? idem_reserve(txn, s->rec.identity, now, &row)
	    : STORE_OK;
}

/* Answers. */

static void
answer(struct submission *s, const struct ulid *run, bool known)
{
	struct watch *w = s->watch;

	if (w == NULL)
		return;
	w->run = *run;
	w->mode = s->rec.mode;
	w->deduplicated = known;
	w->match = known ? s->match : IDEM_SAME;
	submit_answer(s->sup, w, known ? NULL : &s->rec, s->no_wait);
}

static void
submit_reject(struct submission *s, enum err_code code, const char *message)
{
	submit_tell_refusal(s->sup, s->watch == NULL ? NULL : s->watch->client,
	    s->rec.uid, code, s->template);
	if (s->watch == NULL)
		return;
	reply_error(s->watch->client, s->watch->seq, code, NULL, message);
	watch_free(&s->watch);
}

static void
enter_task(struct submission *s)
{
	struct task *t = s->task;

	s->task = NULL;
	task_enter(t);
	if (s->inputs.secrets_fd == -1)
		return;
	t->secrets = true;
	link_secret(s->sup->link, &t->rec.id, &s->inputs.secrets_fd);
}

static bool
submit_done(struct sup *sup, struct change *c, int err)
{
	struct submission *s = c->arg;

	tasks_release(sup->tasks);
	if (s->watch != NULL)
		s->watch->owner = NULL;
	if (err == STORE_OK) {
		CRASH_POINT(submit_written);
		log_info("%s: created for uid %u, %s, limit %lld ms", s->name,
		    s->rec.uid, s->rec.template_id, (long long)s->rec.limit_ms);
		auditlog_spend(s->task->share, SUBMIT_ROWS);
		enter_task(s);
		answer(s, &s->rec.id, false);
		CRASH_POINT(submit_answered);
		tasks_pump(sup->tasks);
	} else if (err == GUARD_KNOWN) {
		auditlog_tell_often(sup, s->rec.uid, AUDIT_RUN_REPEAT,
		    &s->known, "%s%s", s->rec.template_id,
		    idem_match_text(s->match));
		answer(s, &s->known, true);
	} else if (err == GUARD_REFUSED) {
		submit_reject(s, s->refusal.code, s->refusal.message);
	} else if (err == GUARD_SHARE) {
		refuse(&s->refusal, ERR_QUEUE_FULL,
		    "uid %u has %lld runs waiting already, as many as a user"
		    " may have (the setting maxQueuedRunsPerUid)",
		    s->rec.uid, (long long)sup->settings.maxQueuedRunsPerUid);
		submit_reject(s, s->refusal.code, s->refusal.message);
	} else if (err == GUARD_NO_SESSION) {
		submit_reject(s, ERR_SESSION_NOT_FOUND, SESSION_NONE);
	} else {
		submit_reject(s, reply_store_code(err), store_strerror(err));
	}
	submission_free(&s);
	return false;
}

static bool
submit_write(struct submission *s)
{
	struct change *c = change_new(s->sup, &s->rec, CHANGE_INSERT);
	struct json_writer w;
	struct buf data;
	const uint8_t *raw;
	size_t len;
	bool good;

	if (c == NULL)
		return false;
	buf_init(&data, EVENT_DOC_BYTES);
	json_writer_init(&w, &data);
	json_write_begin_object(&w);
	json_put_str(&w, "templateId", s->rec.template_id);
	json_put_str(&w, "mode", run_mode_name(s->rec.mode));
	json_write_end_object(&w);
	good = change_event(c, EVENT_RUN_CREATED, &data) &&
	    change_doc(c, RUN_DOC_INPUTS, &s->inputs.text);
	if (good && json_raw(json_root(s->option_doc), &raw, &len)) {
		buf_init(&data, LIMIT_OPTIONS_BYTES);
		good = buf_add(&data, raw, len) &&
		    change_doc(c, RUN_DOC_OPTIONS, &data);
		buf_clear(&data);
	}
	if (!good) {
		change_free(&c);
		return false;
	}
	change_audit(c, s->rec.uid, AUDIT_RUN_SUBMIT, "%s %s, %s, %s%s",
	    s->rec.template_id, s->rec.template_version,
	    run_mode_name(s->rec.mode), trust_level_name(s->rec.trust),
	    s->lent ? ", in a session" : "");
	/* Many wait for one commit: nothing is kept for it that is not used. */
	json_doc_free(&s->option_doc);
	json_doc_free(&s->inputs.doc);
	c->guard = submit_guard;
	tasks_reserve(s->sup->tasks);
	if (turn_gathers(s->sup->turn))
		change_commit_soon(c, submit_done, s);
	else
		change_commit(c, submit_done, s);
	return true;
}

void
submit_run(struct client *client, uint32_t seq, const struct ipc_params *p)
{
	struct submission *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		return;
	}
	s->sup = client_sup(client);
	s->no_wait = !ipc_bool(p, F_WAIT, true);
	strlcpy(s->label, client_label(client), sizeof(s->label));
	inputs_init(&s->inputs);
	if (!check_template(s, client_trust(client), p) ||
	    !check_options(s, p) || !check_priority(s, client) ||
	    !check_inputs(s, p) || !make_record(s, client_uid(client)) ||
	    !seal_inputs(s)) {
		submit_tell_refusal(s->sup, client, client_uid(client),
		    s->refusal.code, s->template);
		reply_error(
		    client, seq, s->refusal.code, NULL, s->refusal.message);
		submission_free(&s);
		return;
	}
	id_format("run_", &s->rec.id, s->name);
	s->watch = watch_new(WATCH_SYNC, client, NULL, &s->rec.id, seq);
	if (s->watch != NULL) {
		s->watch->owner = &s->watch;
		s->watch->max_bytes = (size_t)ipc_int(p, F_MAX_BYTES, 0);
	}
	s->task = task_prepare(s->sup, &s->rec);
	if (s->task != NULL)
		check_room(s);
	if (s->watch == NULL || s->task == NULL || !submit_write(s)) {
		watch_free(&s->watch);
		reply_error(client, seq, ERR_INTERNAL, NULL, "no memory");
		submission_free(&s);
	}
}
