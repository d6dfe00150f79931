/*
 * Where a run may go, in supervisord: what egressd is told of it and what it
 * tells, which goes to the worker at once and, when it was refused, into the
 * run's events.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "json/writer.h"
#include "supervisord/change.h"
#include "supervisord/intake.h"
#include "supervisord/sup.h"
#include "supervisord/task_int.h"
#include "supervisord/worker.h"

#define REFUSALS_MAX 100 /* told as events */
#define UNNAMED_MAX  5   /* told as warnings */
#define CLASS        "class "

/* What depends on the class of an address is the trust level's matter. */
static enum egress_outcome
outcome_of(const struct egress_report *r)
{
	return r->outcome == EGRESS_REFUSED &&
		strncmp(r->rule, CLASS, strlen(CLASS)) == 0
	    ? EGRESS_TRUST
	    : r->outcome;
}

static void
tell_worker(struct task *t, const struct egress_report *r)
{
	enum egress_outcome outcome = outcome_of(r);
	struct ipc_params p;
	char text[512];

	snprintf(text, sizeof(text), "%s%s%s%s%s%s",
	    egress_outcome_text(outcome), r->rule[0] == '\0' ? "" : ": ",
	    r->rule, r->address == NULL ? "" : " (",
	    r->address == NULL ? "" : r->address,
	    r->address == NULL ? "" : ")");
	ipc_params_init(&p, MSG_W_RUN_EGRESS);
	ipc_set_str(&p, F_HOST, r->host);
	ipc_set_int(&p, F_PORT, r->port);
	ipc_set_str(&p, F_OUTCOME, egress_outcome_name(outcome));
	ipc_set_str(&p, F_TEXT, text);
	worker_send(t->worker, &p);
}

static bool
refusal_written(struct sup *sup, struct change *c, int err)
{
	if (err != STORE_OK)
		log_err("a refusal was not stored: %s", store_strerror(err));
	return false;
}

static void
note_refusal(struct task *t, const struct egress_report *r)
{
	struct json_writer w;
	struct change *c;
	struct buf b;

	if (t->refusals >= REFUSALS_MAX)
		return;
	if (++t->refusals == REFUSALS_MAX)
		task_trace(t, "no more refusals are told");
	c = change_new(t->sup, &t->rec, CHANGE_KEEP);
	if (c == NULL)
		return;
	buf_init(&b, EVENT_DOC_BYTES);
	json_writer_init(&w, &b);
	json_write_begin_object(&w);
	json_put_str(&w, "host", r->host);
	json_put_int64(&w, "port", r->port);
	json_put_str(&w, "address", r->address);
	json_put_str(&w, "rule",
	    r->rule[0] == '\0' ? egress_outcome_name(r->outcome) : r->rule);
	json_write_end_object(&w);
	change_event(c, EVENT_EGRESS_REFUSED, &b);
	change_audit(c, t->rec.uid, AUDIT_EGRESS_REFUSE, "%.100s:%u, %s",
	    r->host, (unsigned)r->port,
	    r->rule[0] == '\0' ? egress_outcome_name(r->outcome) : r->rule);
	change_commit_later(c, refusal_written, NULL);
}

/*
 * A page may look well without what it was refused, and lack just the data that
 * the run is for.
 */
static void
warn_unnamed(struct task *t, const struct egress_report *r)
{
	char text[LINES_CHARS + 1];

	if (outcome_of(r) != EGRESS_TRUST ||
	    strstr(r->rule, "permits it") == NULL)
		return;
	snprintf(text, sizeof(text),
	    "pages asked for %s in vain: %s; only if all pages of the run are "
	    "trusted with it",
	    r->host, r->rule);
	for (size_t i = 0; i < t->warnings.count; i++)
		if (strcmp(t->warnings.list[i], text) == 0)
			return;
	if (t->unnamed++ < UNNAMED_MAX)
		lines_add(&t->warnings, text);
}

static void
on_report(void *ctx, const struct egress_report *r)
{
	struct task *t = ctx;

	if (t->stage != TASK_RUNNING || t->worker == NULL)
		return;
	tell_worker(t, r);
	warn_unnamed(t, r);
	if (r->outcome == EGRESS_REFUSED || r->outcome == EGRESS_LIMIT)
		note_refusal(t, r);
}

static void
on_bound(void *ctx)
{
	struct task *t = ctx;

	t->bound = true;
	task_try_begin(t);
}

static void
on_failed(void *ctx, const char *why)
{
	task_abort(ctx, ERR_EGRESS_UNAVAILABLE, why);
}

static void
on_sums(void *ctx, const struct egress_sums *sums)
{
	struct task *t = ctx;

	t->network = *sums;
	task_trace(t,
	    "network: %lld connections, %lld bytes in, %lld out, %lld refused",
	    (long long)sums->connections, (long long)sums->bytes_in,
	    (long long)sums->bytes_out, (long long)sums->refused);
}

bool
task_egress_bind(struct task *t)
{
	static const struct egress_ops ops = { .on_bound = on_bound,
		.on_failed = on_failed,
		.on_report = on_report,
		.on_sums = on_sums };
	const struct settings *s = &t->sup->settings;
	const struct egress_rules rules = {
		.trust = t->public_only ? TRUST_REMOTE : t->rec.trust,
		.kept = t->kept == NULL ? "" : t->kept,
		.named = t->named == NULL ? "" : t->named,
		.allowed = t->allowed == NULL ? "" : t->allowed,
		.forbidden = t->forbidden == NULL ? "" : t->forbidden,
		.max_connections = s->maxRunConnections,
		.max_bytes = s->maxRunBytes
	};

	egress_release(&t->egress);
	t->bound = false;
	t->egress = egress_bind(
	    t->sup->egress, worker_cell(t->worker), t->name, &rules, &ops, t);
	return t->egress != NULL;
}

void
task_egress_unbind(struct task *t)
{
	if (t->egress != NULL)
		egress_unbind(t->egress);
}
