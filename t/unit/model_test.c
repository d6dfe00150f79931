/* Unit tests of model/: the tables hold together and are what users read. */
#include <stdlib.h>

#include "model/audit.h"
#include "model/errors.h"
#include "model/mime.h"
#include "model/protections.h"
#include "model/run.h"
#include "model/setting_checks.h"
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

/* What a worker chooses of an artifact, and what of that is shown to people. */
static void
test_labels(void)
{
	static const char *const names[] = { "a", "items.csv", "Table 2_a-b.gz",
		"_secret_.png", "0" };
	static const char *const no_names[] = { "", ".", "..", ".a", "-rf",
		"a/b", "../a", " a", "a\n", "a\033[1m", "\303\251", "a:b",
		"a\"b" };
	static const char *const mimes[] = { "text/csv", "image/svg+xml",
		"text/csv; charset=utf-8; header=present", "a/b;c=d",
		"application/vnd.x-y.z+json" };
	static const char *const no_mimes[] = { "", "text", "text/", "/csv",
		"text/csv;", "text/csv; charset",
		"text/csv; charset=", "text/c v", "text/csv\r\nX: y",
		"text/\033[1m", "text/csv/x", "text/csv; a=\"b\"",
		"text/csv " };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ok(artifact_name_is_valid(names[i]), "name: %s", names[i]);
	for (size_t i = 0; i < sizeof(no_names) / sizeof(no_names[0]); i++)
		ok(!artifact_name_is_valid(no_names[i]), "no name: %zu", i);
	for (size_t i = 0; i < sizeof(mimes) / sizeof(mimes[0]); i++)
		ok(mime_is_valid(mimes[i]), "media type: %s", mimes[i]);
	for (size_t i = 0; i < sizeof(no_mimes) / sizeof(no_mimes[0]); i++)
		ok(!mime_is_valid(no_mimes[i]), "no media type: %zu", i);
	ok(run_phase_is_templates("acting") &&
		run_phase_is_templates("retrying"),
	    "phases of templates");
	ok(!run_phase_is_templates("takeover") &&
		!run_phase_is_templates("waiting_user") &&
		!run_phase_is_templates("waiting_approval") &&
		!run_phase_is_templates(""),
	    "phases of the service alone, and none");
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

		if (row->type == SETTING_TEXT)
			continue;
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
		    settings_is_default(&other, i) &&
		    settings_equal(&s, &other, i) &&
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

/* What a text setting answers to a value; "good" when it takes it. */
static const char *
judge(const char *name, const char *value)
{
	static char error[SETTINGS_ERROR_BYTES];
	struct settings s, before;

	settings_default(&s);
	before = s;
	if (settings_set(&s, name, value, error, sizeof(error)))
		return "good";
	return memcmp(&s, &before, sizeof(s)) == 0 ? error : "changed";
}

static void
test_settings_text(void)
{
	char long_text[SETTINGS_VALUE_BYTES + 1], line[SETTINGS_LINE_BYTES];
	struct settings s;
	char error[200];
	size_t row = (size_t)settings_index("allowedDomains");

	is_str(judge("allowedDomains", ""), "good", "nothing");
	is_str(judge("allowedDomains", "a.example, *.b.example:443"), "good",
	    "two");
	is_str(judge("allowedDomains",
		   "b\xc3\xbc"
		   "cher.example"),
	    "allowedDomains: \"b\xc3\xbc"
	    "cher.example\" has characters that"
	    " are not printable ASCII: write names of other scripts as xn--...",
	    "names of other scripts");
	is_str(judge("forbiddenDomains", "a\"b"),
	    "forbiddenDomains: \"a\"b\" has a quote, backslash or dollar sign:"
	    " leave it out or write it as %xx",
	    "a quote");
	ok(strstr(judge("forbiddenDomains", "a.example/x"),
	       "is no list of patterns: \"a.example/x\": ") != NULL,
	    "a pattern that is none: %s",
	    judge("forbiddenDomains", "a.example/x"));
	memset(long_text, 'a', sizeof(long_text));
	long_text[SETTINGS_VALUE_BYTES] = '\0';
	ok(strstr(judge("resolver", long_text), "is longer than 1023 bytes") !=
		NULL,
	    "too long");
	settings_default(&s);
	settings_set(&s, "allowedDomains", "a.example", error, sizeof(error));
	settings_set(&s, "allowedDomains", "b.c", error, sizeof(error));
	settings_format_line(&s, row, line);
	is_str(line, "allowedDomains = \"b.c\"", "as a line of the file");
	ok(!settings_is_default(&s, row), "not as by default");
	settings_set(&s, "allowedDomains", "", error, sizeof(error));
	ok(settings_is_default(&s, row), "and again");
}

/* Lists have commas between their entries, and at least one. */
static void
test_settings_lists(void)
{
	static const char *const names[] = { "allowedDomains",
		"forbiddenDomains", "resolver", "waive" };
	static const char *const wrong[] = { " ", ",", " , ", "a,,b", "a, ,b",
		",a", "a,", "a, ", "exa mple", "landlock call-filters" };
	char want[160];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (size_t k = 0; k < sizeof(wrong) / sizeof(wrong[0]); k++) {
			snprintf(want, sizeof(want),
			    "%s: \"%s\" has an entry that is empty, or two"
			    " without a comma between: write one comma between"
			    " two entries",
			    names[i], wrong[k]);
			is_str(judge(names[i], wrong[k]), want, names[i]);
		}
	is_str(judge("waive", " landlock ,call-filters , no-core-dumps "),
	    "good", "blanks around commas");
	is_str(judge("allowedDomains", "  a.example,b.example:443  "), "good",
	    "and around all");
	is_str(judge("waive", "lndlock"),
	    "waive: \"lndlock\" has a name that is no protection's: write "
	    "ipc-namespace, uts-namespace, own-uids, call-filters,"
	    " landlock, control-groups, no-core-dumps",
	    "a message is told to its end");
	is_str(judge("forbiddenDomains", "a..b"),
	    "forbiddenDomains: \"a..b\" is no list of patterns: \"a..b\": "
	    "write a host like example.com, *.example.com, 192.0.2.1 or"
	    " [2001:db8::1], each with :PORT or without",
	    "as is this one");
}

static void
test_settings_addresses(void)
{
	static const char *const good[] = { "192.0.2.1", "192.0.2.1:5353",
		"[2001:db8::1]:53, 192.0.2.1", "2001:db8::1", "[::1]" };
	static const char *const bad[] = { "a.example", "192.0.2.1:0",
		"192.0.2.1:65536", "192.0.2.1:", "[192.0.2.1]", "[::1",
		"[::1]53", "::1:x", "1.1.1.1,2,3,4,5,6,7,8,9" };
	static const char *const proxies[] = { "http://127.0.0.1:3128",
		"socks5://u:p@proxy.example:1080",
		"http://u:a@b:c@[::1]:8080" };
	static const char *const no_proxies[] = { "https://a:1", "http://a",
		"http://a:1/", "http://user@a:1", "http://:1", "http://a b:1",
		"socks5://[::1:1" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		is_str(judge("resolver", good[i]), "good", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ok(strstr(judge("resolver", bad[i]),
		       "is no list of name servers: write up to 8") != NULL,
		    "%s is none", bad[i]);
	for (size_t i = 0; i < sizeof(proxies) / sizeof(proxies[0]); i++)
		is_str(judge("upstreamProxy", proxies[i]), "good", proxies[i]);
	for (size_t i = 0; i < sizeof(no_proxies) / sizeof(no_proxies[0]); i++)
		ok(strncmp(judge("upstreamProxy", no_proxies[i]),
		       "upstreamProxy: the value ", 25) == 0,
		    "%s is none: %s", no_proxies[i],
		    judge("upstreamProxy", no_proxies[i]));
	ok(settings_row((size_t)settings_index("upstreamProxy"))->private,
	    "a proxy is not shown");
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

static void
test_protections(void)
{
	for (int i = 0; i < PROTECTION__MAX; i++) {
		enum protection p = (enum protection)i;
		const char *name = protection_name(p);

		is_int(protection_find(name), i, name);
		ok(protection_what(p)[0] != '\0' &&
			protection_fix(p)[0] != '\0',
		    "says what it is, and what to do");
		ok(protection_need_name(protection_need(p))[0] != '\0',
		    "and how much it is needed");
		ok(!protection_is_waived("", p), "not waived by nothing");
		is_int(protection_is_waived(name, p), 1, "but by its name");
	}
	is_str(protection_state_name((enum protection_state)0), "off", "off");
	is_int(protection_find("none-such"), PROTECTION__MAX, "no other");
}

static void
test_audit_actions(void)
{
	enum audit_action found;

	for (int i = 0; i < AUDIT__MAX; i++) {
		enum audit_action a = (enum audit_action)i;

		ok(audit_action_by_name(audit_action_name(a), &found) &&
			found == a && audit_action_what(a)[0] != '\0',
		    "%s", audit_action_name(a));
	}
	ok(!audit_action_by_name("no.such", &found), "no other");
}

static void
test_setting_checks(void)
{
	char why[256];

	ok(setting_check_directory("/x", why, sizeof(why)), "a directory");
	ok(!setting_check_directory("x", why, sizeof(why)), "not from here");
	ok(setting_check_group("adm-1", why, sizeof(why)), "a group");
	ok(setting_check_group("27", why, sizeof(why)), "a number");
	ok(!setting_check_group("a b", why, sizeof(why)), "no group");
	ok(setting_check_protections("landlock", why, sizeof(why)), "a name");
	ok(!setting_check_protections("lndlock", why, sizeof(why)), "none");
}

int
main(void)
{
	test_protections();
	test_audit_actions();
	test_setting_checks();
	test_errors();
	test_settings_rows();
	test_settings_check();
	test_settings_text();
	test_settings_lists();
	test_settings_addresses();
	test_states();
	test_labels();
	test_settings();
	return done_testing();
}
