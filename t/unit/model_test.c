/* Unit tests of model/: the tables hold together and are what users read. */
#include <stdlib.h>

#include "model/errors.h"
#include "model/run.h"
#include "model/settings.h"
#include "t/unit/tap.h"

static void
test_errors(void)
{
	int mcp = 0;
	bool closed = true, hints = true, found = true;

	for (int i = ERR_NONE + 1; i < ERR__MAX; i++) {
		enum err_code code = (enum err_code)i;
		enum err_code shown = err_by_name(err_mcp_name(code));
		size_t len = strlen(err_hint(code));

		mcp += strcmp(err_name(code), err_mcp_name(code)) == 0;
		closed = closed && shown != ERR_NONE &&
		    strcmp(err_name(shown), err_mcp_name(shown)) == 0;
		hints = hints && len > 10 && err_hint(code)[len - 1] == '.';
		found = found && err_by_name(err_name(code)) == code;
	}
	is_int(mcp, 16, "exactly sixteen codes are shown under their own name");
	ok(closed, "every other one is shown as one of the sixteen");
	ok(hints, "every one has a sentence of advice");
	ok(found, "every one is found by its name");
	is_int(err_by_name("NO_SUCH"), ERR_NONE, "an unknown name is none");
	is_str(err_mcp_name(ERR_QUEUE_FULL), "EXECUTION_ERROR", "QUEUE_FULL");
	is_str(err_gw_name(ERR_QUEUE_FULL), "SESSION_BUSY", "on the gateway");
}

static void
test_states(void)
{
	enum run_status s;
	bool ends = true;

	for (int from = 0; from < RUN__MAX; from++)
		for (int to = 0; to < RUN__MAX; to++)
			if (run_status_terminal((enum run_status)from))
				ends = ends &&
				    !run_status_may_follow(
					(enum run_status)from,
					(enum run_status)to);
	ok(ends, "nothing follows a terminal state");
	ok(run_status_may_follow(RUN_QUEUED, RUN_RUNNING), "queued, running");
	ok(!run_status_may_follow(RUN_QUEUED, RUN_SUCCEEDED),
	    "a run does not succeed without running");
	ok(run_status_by_name("partial_success", &s) &&
		s == RUN_PARTIAL_SUCCESS,
	    "state by name");
	ok(!run_status_by_name("done", &s), "unknown state refused");
	is_int(RUN__MAX, 6, "six states, frozen");
}

static void
test_settings(void)
{
	struct settings s;
	char error[200];

	settings_default(&s);
	is_int(s.maxConcurrentRuns, 5, "default of the contract");
	is_int(s.runTtlMs, 1800000, "run records live 30 minutes");
	ok(settings_assign(&s, "runTtlMs=5000", error, sizeof(error)) &&
		s.runTtlMs == 5000,
	    "set by name=value");
	ok(!settings_assign(&s, "runTtlMs=1", error, sizeof(error)) &&
		s.runTtlMs == 5000,
	    "out of range changes nothing");
	is_str(error,
	    "runTtlMs: \"1\" is too small: write a number from 1000 to"
	    " 31536000000 (ms)",
	    "and says the range");
	ok(!settings_set(&s, "runTtl", "1", error, sizeof(error)), "unknown");
	is_str(error, "unknown setting \"runTtl\": did you mean runTtlMs?",
	    "is named, and what is like it");
	ok(!settings_assign(&s, "debug", error, sizeof(error)), "no value");
	ok(!settings_assign(&s, "debug=1x", error, sizeof(error)), "trailing");
	ok(!settings_assign(&s, "pingMs= 500", error, sizeof(error)), "blank");
	ok(settings_assign(&s, "debug=yes", error, sizeof(error)) &&
		s.debug == 1,
	    "a switch");
	for (size_t i = 0; settings_row(i) != NULL; i++) {
		const struct setting_info *row = settings_row(i);

		ok(row->def >= row->lowest && row->def <= row->highest,
		    "%s: default within its range", row->name);
	}
}

static void
test_settings_rows(void)
{
	char text[SETTINGS_VALUE_BYTES], error[200];
	const struct setting_info *row;
	struct settings s, other;
	bool back = true;

	settings_default(&s);
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		settings_default(&other);
		settings_format(&s, i, text);
		back = back &&
		    settings_set(
			&other, row->name, text, error, sizeof(error)) &&
		    settings_value(&other, i) == row->def &&
		    settings_index(row->name) == (int)i;
	}
	ok(back, "each default can be written and read");
	other.maxClients = 7;
	settings_copy(&s, &other, (size_t)settings_index("maxClients"));
	is_int(s.maxClients, 7, "one is copied");
	ok(settings_index("none") == -1 && settings_row(SETTINGS_COUNT) == NULL,
	    "there are no more");
	ok(settings_nearest("") == NULL && settings_nearest("listen") == NULL,
	    "nothing is like that");
	is_str(settings_nearest("clientquebyte"), "clientQueueBytes",
	    "letters left out");
}

static void
test_settings_check(void)
{
	struct settings s;
	char error[200];
	size_t row = 0;

	settings_default(&s);
	ok(settings_check(&s, &row, error, sizeof(error)), "defaults agree");
	s.uidBase = 4294901760;
	s.uidBlocks = 1024;
	ok(!settings_check(&s, &row, error, sizeof(error)), "too many uids");
	is_str(error,
	    "uidBlocks: 1024 blocks from uid 4294901760 on reach beyond the"
	    " highest uid: write at most 1023",
	    "told with a number that is good");
	is_str(settings_row(row)->name, "uidBlocks", "and the setting");
	s.uidBlocks = 1023;
	ok(settings_check(&s, &row, error, sizeof(error)), "which it is");
}

int
main(void)
{
	test_errors();
	test_settings_rows();
	test_settings_check();
	test_states();
	test_settings();
	return done_testing();
}
