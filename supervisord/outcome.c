/*
 * The verdict over a run, in supervisord, taken once when its processes are
 * gone. An intent (cancel, timeout) that was persisted comes before all else.
 */
#include <stdio.h>
#include <string.h>

#include "supervisord/outcome.h"

#define HINT_BYTES 1024
#define LOOK_FIRST                                                          \
	"The run had begun to click, type or send: look at the site first " \
	"for what it did, so that nothing is done twice. "

static void
outcome_fail(struct outcome *o, enum err_code code, const char *message)
{
	o->status = code == ERR_RUN_CANCELED ? RUN_CANCELED : RUN_FAILED;
	o->code = code;
	strlcpy(o->message, message, sizeof(o->message));
}

bool
outcome_too_few(
    uint32_t total, uint32_t succeeded, bool partial_ok, double threshold)
{
	double share = total == 0 ? 0 : (double)succeeded / total;

	return !partial_ok || succeeded == 0 || share < threshold;
}

static void
outcome_of_items(const struct outcome_facts *f, struct outcome *o)
{
	size_t len;

	if (f->failed == 0 && f->succeeded >= f->total)
		return;
	if (!outcome_too_few(
		f->total, f->succeeded, f->partial_ok, f->threshold)) {
		o->status = RUN_PARTIAL_SUCCESS;
		return;
	}
	outcome_fail(o, ERR_BELOW_THRESHOLD, "");
	snprintf(o->message, sizeof(o->message),
	    "%u of %u items succeeded, too few", f->succeeded, f->total);
	if (f->common == ERR_NONE)
		return;
	len = strlen(o->message);
	snprintf(o->message + len, sizeof(o->message) - len,
	    "; %u of them failed with %s: %s", f->common_n, err_name(f->common),
	    f->common_text);
}

/* A retry helps only if it helps against what is at the bottom of it. */
static bool
outcome_may_retry(const struct outcome_facts *f, const struct outcome *o)
{
	enum err_code cause = err_by_name(o->cause);

	if (o->code == ERR_BELOW_THRESHOLD && f->common != ERR_NONE)
		return err_retryable(f->common);
	return err_retryable(o->code) &&
	    (cause == ERR_NONE || err_retryable(cause));
}

static void
outcome_of_end(const struct outcome_facts *f, struct outcome *o)
{
	const struct run_end *end = f->end;

	if (end->ok) {
		o->status = RUN_SUCCEEDED;
		if (f->counted)
			outcome_of_items(f, o);
		return;
	}
	outcome_fail(o, end->code == ERR_NONE ? ERR_EXECUTION_ERROR : end->code,
	    end->message[0] == '\0' ? "the run failed" : end->message);
	strlcpy(o->failed_step, end->failed_step, sizeof(o->failed_step));
	strlcpy(o->cause, end->cause, sizeof(o->cause));
}

static void
outcome_of_facts(const struct outcome_facts *f, struct outcome *o)
{
	switch (f->intent) {
	case INTENT_CANCEL:
		outcome_fail(o, ERR_RUN_CANCELED, "canceled on request");
		return;
	case INTENT_TIMEOUT:
		outcome_fail(o, ERR_RUN_TIMEOUT, "");
		snprintf(o->message, sizeof(o->message),
		    "the run took longer than its limit of %lld ms",
		    (long long)f->limit_ms);
		return;
	default:
		break;
	}
	if (f->end->given)
		outcome_of_end(f, o);
	else
		outcome_fail(o, f->lost == ERR_NONE ? ERR_WORKER_LOST : f->lost,
		    f->lost_text);
}

static void
step_blame(struct step *step, const char *code)
{
	step->ok = false;
	strlcpy(step->error_code, code, sizeof(step->error_code));
}

/*
 * One for a run that ends while none is in flight and none has failed: that
 * which was begun last, once more, for the time since. It stays as it ended.
 */
static void
outcome_add_step(const struct outcome_facts *f, bool started,
    struct steps *steps, int64_t now_mono_ms, const char *code)
{
	struct step *last = steps_last(steps);
	char name[STEP_NAME_CHARS + 1];
	int64_t ms = 0;

	if (last == NULL) {
		steps_end(steps, started ? "start" : "queue", false,
		    f->passed_ms, code, NULL, 0);
		return;
	}
	/* A step of an earlier supervisord has no beginning on this clock. */
	if (last->start_ms != 0)
		ms = now_mono_ms - last->start_ms - last->duration_ms;
	strlcpy(name, last->name, sizeof(name));
	if (!steps_end(steps, name, false, ms, code, NULL, 0))
		step_blame(last, code);
}

/* Names the step at fault, which a failed run always has. */
static void
outcome_blame(const struct outcome_facts *f, bool started, struct steps *steps,
    int64_t now_mono_ms, struct outcome *o)
{
	const struct step *failed;
	struct step *last;
	const char *code = err_name(o->code);

	steps_close(steps, code, now_mono_ms);
	last = steps_last(steps);
	/* Unless a step was seen to fail already, and said so in the log. */
	if (o->code == ERR_BELOW_THRESHOLD && last != NULL &&
	    steps_failed(steps) == NULL)
		step_blame(last, code);
	if (steps_failed(steps) == NULL)
		outcome_add_step(f, started, steps, now_mono_ms, code);
	failed = steps_failed(steps);
	if (o->failed_step[0] == '\0')
		strlcpy(o->failed_step, failed != NULL ? failed->name : "start",
		    sizeof(o->failed_step));
	strlcpy(o->step_code, failed != NULL ? failed->error_code : code,
	    sizeof(o->step_code));
	if (o->cause[0] == '\0')
		strlcpy(o->cause, code, sizeof(o->cause));
}

void
outcome_decide(const struct outcome_facts *f, bool started, struct steps *steps,
    int64_t now_mono_ms, struct outcome *ret)
{
	struct outcome o;

	memset(&o, 0, sizeof(o));
	outcome_of_facts(f, &o);
	if (o.code != ERR_NONE) {
		outcome_blame(f, started, steps, now_mono_ms, &o);
		o.retryable = outcome_may_retry(f, &o) && !f->acted;
		o.look_first = outcome_may_retry(f, &o) && f->acted;
	} else
		steps_close(steps, NULL, now_mono_ms);
	*ret = o;
}

void
outcome_write_error(const struct outcome *o, struct json_writer *w)
{
	char hint[HINT_BYTES];

	snprintf(hint, sizeof(hint), "%s%s", o->look_first ? LOOK_FIRST : "",
	    err_hint(o->code));
	json_write_begin_object(w);
	json_put_str(w, "errorCode", err_mcp_name(o->code));
	json_put_str(w, "message", o->message);
	json_put_str(w, "recoverHint", hint);
	json_put_bool(w, "retryable", o->retryable);
	json_write_key(w, "details");
	json_write_begin_object(w);
	json_put_str(w, "failedStep", o->failed_step);
	json_put_str(w, "stepErrorCode", o->step_code);
	json_put_str(w, "cause", o->cause);
	json_write_end_object(w);
	json_write_end_object(w);
}
