/*
 * How a run ended, in supervisord: from its items or what its worker counts,
 * what the worker said last and how it was lost.
 */
#include <string.h>

#include "common/clock.h"
#include "json/tape.h"
#include "storage/store.h"
#include "supervisord/intake.h"
#include "supervisord/registry.h"
#include "supervisord/sup.h"
#include "supervisord/task.h"
#include "supervisord/verdict.h"

/* A result that counts {total, succeeded} itself is judged by that. */
static void
facts_of_summary(struct task *t, struct outcome_facts *f)
{
	struct json_doc *doc = NULL;
	struct json_val summary;
	const void *text;
	int64_t total, good;
	size_t len = 0;

	text = t->intake == NULL ? NULL : intake_result(t->intake, &len);
	if (text == NULL ||
	    !json_parse(
		text, len, NULL, JSON_BORROW | JSON_DUP_ERROR, &doc, NULL))
		return;
	summary = json_obj_get(json_root(doc), "summary");
	if (json_get_int64(json_obj_get(summary, "total"), &total) &&
	    json_get_int64(json_obj_get(summary, "succeeded"), &good) &&
	    total >= 1 && total <= UINT32_MAX && good >= 0 && good <= total) {
		f->counted = true;
		f->total = (uint32_t)total;
		f->succeeded = (uint32_t)good;
		f->failed = (uint32_t)(total - good);
	}
	json_doc_free(&doc);
}

void
verdict_reach(
    struct task *t, const struct items *items, struct outcome *ret_outcome)
{
	const struct items_cause *common = items_commonest(items);
	const struct template *template =
	    registry_find(t->sup->registry, t->rec.template_id);
	static const struct run_end none;
	bool started = t->rec.started_ms != 0;
	int64_t since = started ? t->rec.started_ms : t->rec.created_ms;
	struct outcome_facts facts = { .intent = t->rec.intent,
		.end = intake_end(t->intake),
		.lost = t->lost,
		.lost_text = t->lost_text,
		.limit_ms = t->rec.limit_ms,
		.passed_ms = clock_stamp_ms() - since,
		.acted = t->rec.acted,
		.counted = items->by_items,
		.total = t->rec.total,
		.succeeded = items->succeeded,
		.failed = items->failed };

	if (common != NULL) {
		facts.common = common->code;
		facts.common_n = common->n;
		facts.common_text = common->message;
	}
	/* Its worker may have ended well before a write of it failed. */
	if (t->abort != ERR_NONE && (facts.end->given || t->lost == ERR_NONE)) {
		facts.end = &none;
		facts.lost = t->abort;
		facts.lost_text = t->abort_text;
	}
	if (template != NULL) {
		facts.partial_ok = template->partial_ok;
		facts.threshold = template->threshold;
	}
	if (facts.partial_ok && !facts.counted)
		facts_of_summary(t, &facts);
	outcome_decide(
	    &facts, started, &t->steps, clock_mono_ms(), ret_outcome);
	t->rec.status = ret_outcome->status;
	strlcpy(t->rec.error_code, err_name(ret_outcome->code),
	    sizeof(t->rec.error_code));
	t->rec.done =
	    items->by_items ? items->succeeded + items->failed : t->rec.done;
}
