/*
 * tables: prints the tables of the manual in mdoc, made from those of the code.
 * man/tables.pl puts them into the pages; lint/covered.t holds them to it. With
 * --sample: the sample of the configuration file. Runs at build time only.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "model/egress.h"
#include "man/tables.h"
#include "model/audit.h"
#include "model/errors.h"
#include "model/faults.h"
#include "model/protections.h"
#include "model/run.h"
#include "model/settings.h"

#define LINE_COLUMNS 78

/* What a line of text must not begin with, or have in it. */
static void
put_word(const char *word, size_t len)
{
	if (len > 0 && (word[0] == '.' || word[0] == '\''))
		fputs("\\&", stdout);
	for (size_t i = 0; i < len; i++)
		if (word[i] == '\\')
			fputs("\\e", stdout);
		else
			putchar(word[i]);
}

static bool
ends_sentence(const char *word, size_t len)
{
	return len > 0 && strchr(".?!", word[len - 1]) != NULL;
}

/* Text in lines of a decent length, a sentence on a line of its own. */
void
put_text(const char *text)
{
	size_t column = 0, len;

	for (; *text != '\0'; text += len + strspn(text + len, " ")) {
		len = strcspn(text, " ");
		if (column > 0 && column + 1 + len > LINE_COLUMNS) {
			putchar('\n');
			column = 0;
		}
		if (column > 0)
			putchar(' ');
		put_word(text, len);
		column += len + 1;
		if (ends_sentence(text, len) && text[len] != '\0') {
			putchar('\n');
			column = 0;
		}
	}
	putchar('\n');
}

static void
print_settings(void)
{
	const struct setting_info *s;
	char def[SETTINGS_VALUE_BYTES];
	struct settings defaults;

	settings_default(&defaults);
	puts(".Bl -tag -width Ds");
	for (size_t i = 0; (s = settings_row(i)) != NULL; i++) {
		settings_format(&defaults, i, def);
		printf(".It Sy %s Pq %s", s->name, setting_type_name(s->type));
		if (s->type == SETTING_INT)
			printf(" from %" PRId64 " to %" PRId64 ", %s",
			    s->lowest, s->highest, s->unit);
		if (s->type == SETTING_TEXT)
			printf(" (%s), at most %" PRId64 " bytes", s->unit,
			    s->highest);
		printf("; default %s%s\n",
		    s->type == SETTING_TEXT ? "none" : def,
		    s->taken == SETTING_START ? "; taken at the start" : "");
		put_text(s->help);
	}
	puts(".El");
}

static void
print_errors(void)
{
	puts(".Bl -tag -width Ds");
	for (int i = ERR_NONE + 1; i < ERR__MAX; i++) {
		enum err_code code = (enum err_code)i;

		printf(".It Sy %s", err_name(code));
		if (strcmp(err_name(code), err_mcp_name(code)) != 0)
			printf(" Pq %s%s", err_mcp_name(code),
			    err_retryable(code) ? ", retryable" : "");
		else if (err_retryable(code))
			printf(" Pq retryable");
		putchar('\n');
		put_text(err_hint(code));
	}
	puts(".El");
}

static void
print_faults(void)
{
	puts(".Bl -tag -width Ds -compact");
	for (enum fault f = 0; f < FAULT__MAX; f++) {
		printf(".It Sy %s Pq %s\n", fault_name(f), fault_what(f));
		put_text(fault_advice(f));
	}
	puts(".El");
}

static void
print_states(void)
{
	bool first;

	puts(".Bl -column \"partial_success\" \"terminal\" \"running\"");
	puts(".It Sy Status Ta Sy Terminal Ta Sy May become");
	for (int i = 0; i < RUN__MAX; i++) {
		enum run_status from = (enum run_status)i;

		printf(".It %s Ta %s Ta", run_status_name(from),
		    run_status_terminal(from) ? "yes" : "no");
		first = true;
		for (int j = 0; j < RUN__MAX; j++) {
			if (!run_status_may_follow(from, (enum run_status)j))
				continue;
			printf("%s %s", first ? "" : " ,",
			    run_status_name((enum run_status)j));
			first = false;
		}
		puts(first ? " \\(em" : "");
	}
	puts(".El");
}

static void
print_events(void)
{
	puts(".Bl -column \"approval_required\" \"state event\"");
	puts(".It Sy Type Ta Sy Kept in a full log");
	for (int i = 0; i < EVENT__MAX; i++)
		printf(".It %s Ta %s\n", event_name((enum event_kind)i),
		    event_is_state((enum event_kind)i) ? "yes" : "no");
	puts(".El");
}

static void
print_actions(void)
{
	puts(".Bl -tag -width protection.waive -compact");
	for (enum audit_action i = 0; i < AUDIT__MAX; i++)
		printf(".It Sy %s\n%s\n", audit_action_name(i),
		    audit_action_what(i));
	puts(".El");
}

static void
print_protections(void)
{
	for (int i = 0; i < PROTECTION__MAX; i++) {
		enum protection p = (enum protection)i;

		printf(".It Sy %s Pq %s\n", protection_name(p),
		    protection_need_name(protection_need(p)));
		put_text(protection_what(p));
		fputs("To mend it:\n", stdout);
		put_text(protection_fix(p));
		puts(".");
	}
}

static void
print_kinds(void)
{
	for (int i = 0; i < ARTIFACT__MAX; i++)
		printf(".Sy %s%s\n", artifact_kind_name((enum artifact_kind)i),
		    i + 1 == ARTIFACT__MAX       ? " ."
			: i + 2 == ARTIFACT__MAX ? "\nand"
						 : " ,");
}

static void
print_outcomes(void)
{
	puts(".Bl -tag -width unreachable -compact");
	for (int i = 0; i < EGRESS__MAX; i++)
		printf(".It Sy %s\n%s\n",
		    egress_outcome_name((enum egress_outcome)i),
		    egress_outcome_text((enum egress_outcome)i));
	puts(".El");
}

/* ---- browsertaskctl ---- */

#define OPTION(id, ...) OPT_##id,
enum ctl_option {
#include "ctl/options.def"
	OPT__MAX
};
#undef OPTION

static const struct {
	int letter;
	const char *name, *value, *help;
} options[] = {
#define OPTION(id, letter, name, value, help) { letter, name, value, help },
#include "ctl/options.def"
#undef OPTION
};

static void
print_option(int i)
{
	fputs(".It", stdout);
	if (options[i].letter != 0)
		printf(" Fl %c ,", options[i].letter);
	printf(" Fl -%s", options[i].name);
	if (options[i].value != NULL)
		printf(" Ar %s", options[i].value);
	putchar('\n');
	put_text(options[i].help);
}

static void
print_options(void)
{
	puts(".Bl -tag -width Ds");
	for (int i = 0; i < OPT__MAX; i++)
		print_option(i);
	puts(".El");
}

static void
print_commands(void)
{
#define BIT(id) (UINT64_C(1) << OPT_##id)
#define COMMAND(name, run, least, most, options, args, help) \
	{ name, options, args, help },
	static const struct {
		const char *name;
		uint64_t options;
		const char *args, *help;
	} commands[] = {
#include "ctl/commands.def"
	};
#undef COMMAND
#undef BIT

	puts(".Bl -tag -width Ds");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		printf(".It Ic %s%s%s\n", commands[i].name,
		    commands[i].args[0] == '\0' ? "" : " ", commands[i].args);
		put_text(commands[i].help);
		if (commands[i].options == 0)
			continue;
		puts(".Pp\nOptions:");
		for (unsigned o = 0, more; o < OPT__MAX; o++) {
			if ((commands[i].options & UINT64_C(1) << o) == 0)
				continue;
			more = commands[i].options >> o >> 1;
			printf(".Fl -%s %s\n", options[o].name,
			    more != 0 ? "," : ".");
		}
	}
	puts(".El");
}

/* ---- the sample of the configuration file ---- */

/* Text as comments in lines of a decent length. */
static void
put_comment(const char *text)
{
	size_t column = 0, len;

	for (; *text != '\0'; text += len + strspn(text + len, " ")) {
		len = strcspn(text, " ");
		if (column == 0 || column + 1 + len > LINE_COLUMNS) {
			printf("%s#", column == 0 ? "" : "\n");
			column = 1;
		}
		printf(" %.*s", (int)len, text);
		column += len + 1;
	}
	putchar('\n');
}

static void
print_sample(void)
{
	const struct setting_info *s;
	char line[SETTINGS_LINE_BYTES];
	struct settings defaults;

	puts("# Every setting of browsertaskd.conf(5), with its default.\n"
	     "# Check with browsertaskd -n, take over with browsertaskctl\n"
	     "# restart. Put texts in quotes: // and # begin a comment.");
	settings_default(&defaults);
	for (size_t i = 0; (s = settings_row(i)) != NULL; i++) {
		settings_format_line(&defaults, i, line);
		putchar('\n');
		put_comment(s->help);
		if (s->type == SETTING_INT)
			printf("# %" PRId64 " to %" PRId64 " %s", s->lowest,
			    s->highest, s->unit);
		else if (s->type == SETTING_TEXT)
			printf("# %s, at most %" PRId64 " bytes", s->unit,
			    s->highest);
		else
			printf("# %s", setting_type_name(s->type));
		puts(s->taken == SETTING_START ? "; taken at the start" : "");
		printf("#%s\n", line);
	}
}

/* ---- the list of tables ---- */

static const struct {
	const char *name;
	void (*print)(void);
} tables[] = { { "actions", print_actions }, { "commands", print_commands },
	{ "errors", print_errors }, { "events", print_events },
	{ "faults", print_faults }, { "hello", print_hello },
	{ "kinds", print_kinds }, { "launch-head", print_launch_head },
	{ "launch-messages", print_launch_messages },
	{ "messages-down", print_down },
	{ "messages-from-egressd", print_from_egressd },
	{ "messages-to-egressd", print_to_egressd },
	{ "outcomes", print_outcomes }, { "messages-in", print_in },
	{ "messages-out", print_out }, { "messages-up", print_up },
	{ "options", print_options }, { "protections", print_protections },
	{ "settings", print_settings }, { "states", print_states } };

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--sample") == 0) {
		print_sample();
		return 0;
	}
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (argc == 1)
			puts(tables[i].name);
		else if (argc == 2 && strcmp(argv[1], tables[i].name) == 0) {
			tables[i].print();
			return 0;
		}
	}
	if (argc == 1)
		return 0;
	fputs("usage: tables [table | --sample]\n", stderr);
	return 1;
}
