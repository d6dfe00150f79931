/*
 * outcome: what a run came to, decided from its intent, its worker's last word
 * and its items. Pure.
 */
#ifndef SUPERVISORD_OUTCOME_H
#define SUPERVISORD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "json/writer.h"
#include "model/errors.h"
#include "model/run.h"
#include "storage/run.h"
#include "supervisord/steps.h"

#define OUTCOME_TEXT_CHARS 512

/* The worker's run.end. */
struct run_end {
	bool given;
	bool ok;
	enum err_code code;
	char message[OUTCOME_TEXT_CHARS + 1];
	char failed_step[STEP_NAME_CHARS + 1];
	char cause[STEP_CODE_CHARS + 1];
};

struct outcome {
	enum run_status status;
	enum err_code code; /* ERR_NONE when there is a result */
	char message[OUTCOME_TEXT_CHARS + 1];
	char failed_step[STEP_NAME_CHARS + 1];
	char step_code[STEP_CODE_CHARS + 1];
	char cause[STEP_CODE_CHARS + 1];
	bool retryable;  /* the same run may come to another end */
	bool look_first; /* it would, but for what may be done twice */
};

struct outcome_facts {
	enum run_intent intent;
	const struct run_end *end;
	enum err_code lost; /* why the worker ended without run.end */
	const char *lost_text;
	int64_t limit_ms;  /* of the run */
	int64_t passed_ms; /* since its start, or in the queue */
	bool acted;        /* it may have changed something */
	bool counted;      /* the result is made of parts that may fail */
	bool partial_ok;
	double threshold;
	uint32_t total, succeeded, failed; /* parts */
	/* Why most of those that failed did; ERR_NONE: not known. */
	enum err_code common;
	uint32_t common_n;
	const char *common_text;
};

/* Some items failed: are those that did not too few for a partial success? */
bool outcome_too_few(
    uint32_t total, uint32_t succeeded, bool partial_ok, double threshold);
/*
 * Decides, and closes the steps accordingly: one in flight fails with the
 * run's code, a run that ends between two has the one before once more, and one
 * without any step gets one ("queue" if !started).
 */
void outcome_decide(const struct outcome_facts *, bool started, struct steps *,
    int64_t now_mono_ms, struct outcome *ret);
/* The control plane's error object (MCP contract v1 section 5). */
void outcome_write_error(const struct outcome *, struct json_writer *);

#endif
