/*
 * Commands by their names and abbreviations, and the help made from the
 * tables. Runs in browsertaskctl.
 */
#include <stdio.h>
#include <string.h>

#include "common/panic.h"
#include "ctl/commands.h"
#include "ctl/text.h"

#define HELP_COLUMNS   79
#define HELP_LEFT      4
#define OPTION_COLUMNS 26
#define NAMES_BYTES    256
#define NAMES_MAX      64

#define COMMAND(name, run, least, most, options, args, help) \
	{ name, run, least, most, options, args, help },
static const struct command commands[] = {
#include "ctl/commands.def"
};
#undef COMMAND
#define NCOMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct option_row option_rows[] = {
#define OPTION(id, letter, name, value, help) { letter, name, value, help },
#include "ctl/options.def"
#undef OPTION
};

static const char exit_help[] =
    "Exit status:\n"
    "  0    done; a run that was waited for succeeded\n"
    "  1    the run failed or was canceled; a template or the machine has\n"
    "       faults; a file could not be written\n"
    "  2    wrong usage\n"
    "  3    the service is not there or went away\n"
    "  4    the service refused, or there is nothing of that id\n"
    "  5    the run succeeded in part (some items failed)\n"
    "  130  waiting was interrupted; the run goes on\n";

const struct command *
command_row(size_t i)
{
	return i < NCOMMANDS ? &commands[i] : NULL;
}

const struct option_row *
option_row(enum ctl_option option)
{
	return &option_rows[option];
}

/* "a, b or c" */
static void
join_names(const char *const *names, size_t n, char ret[NAMES_BYTES])
{
	ret[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		strlcat(ret,
		    i == 0           ? ""
			: i + 1 == n ? " or "
				     : ", ",
		    NAMES_BYTES);
		strlcat(ret, names[i], NAMES_BYTES);
	}
}

/*
 * Of n names: the one that is text or alone begins with it. -1 when it is none,
 * with those that begin with it in ret_which.
 */
static int
find_name(const char *const *names, size_t n, const char *text,
    char ret_which[NAMES_BYTES])
{
	const char *found[NAMES_MAX];
	size_t len = strlen(text), count = 0;
	int last = -1;

	ret_which[0] = '\0';
	for (size_t i = 0; i < n && len > 0; i++) {
		if (strncmp(names[i], text, len) != 0)
			continue;
		if (names[i][len] == '\0')
			return (int)i;
		ASSERT(count < NAMES_MAX);
		found[count++] = names[i];
		last = (int)i;
	}
	if (count == 1)
		return last;
	join_names(found, count, ret_which);
	return -1;
}

const struct command *
command_find(const char *name)
{
	const char *names[NCOMMANDS];
	char which[NAMES_BYTES];
	int i;

	for (size_t n = 0; n < NCOMMANDS; n++)
		names[n] = commands[n].name;
	i = find_name(names, NCOMMANDS, name, which);
	if (i >= 0)
		return &commands[i];
	if (which[0] != '\0')
		ctl_error("%s is short for %s", name, which);
	else
		ctl_error("there is no command \"%s\"", name);
	return NULL;
}

int
command_word(const char *command, const char *text, const char *const *words)
{
	char which[NAMES_BYTES];
	size_t n = 0;
	int i;

	while (words[n] != NULL)
		n++;
	i = find_name(words, n, text, which);
	if (i >= 0)
		return i;
	join_names(words, n, which);
	ctl_error("%s: \"%s\" is not %s", command, text, which);
	ctl_hint("browsertaskctl %s --help shows what is accepted", command);
	return -1;
}

void
option_tell_unknown(const struct command *c, uint64_t set, const char *arg)
{
	const char *names[OPT__MAX];
	char text[NAMES_BYTES], which[NAMES_BYTES];
	size_t n = 0;

	strlcpy(text, arg + strspn(arg, "-"), sizeof(text));
	text[strcspn(text, "=")] = '\0';
	for (int i = 0; i < OPT__MAX; i++) {
		if (c != NULL && strcmp(option_rows[i].name, text) == 0) {
			ctl_error("%s does not take --%s", c->name, text);
			return;
		}
		if ((set & UINT64_C(1) << i) != 0)
			names[n++] = option_rows[i].name;
	}
	(void)find_name(names, n, text, which);
	if (which[0] != '\0')
		ctl_error("--%s is short for %s", text, which);
	else
		ctl_error("there is no option --%s", text);
}

static void
print_options(uint64_t set)
{
	char left[64];
	size_t at;

	for (size_t i = 0; i < OPT__MAX; i++) {
		const struct option_row *o = &option_rows[i];

		if ((set & UINT64_C(1) << i) == 0)
			continue;
		snprintf(left, sizeof(left), "%c%c%c --%s%s%s",
		    o->letter != 0 ? '-' : ' ',
		    o->letter != 0 ? o->letter : ' ',
		    o->letter != 0 ? ',' : ' ', o->name,
		    o->value != NULL ? " " : "",
		    o->value != NULL ? o->value : "");
		at = (size_t)printf("  %-*s ", OPTION_COLUMNS, left);
		text_wrap(stdout, o->help, HELP_COLUMNS, at, at);
	}
}

void
help_print(const struct command *c)
{
	if (c != NULL) {
		char usage[256];

		snprintf(usage, sizeof(usage),
		    "usage: browsertaskctl %s [options] %s", c->name, c->args);
		text_wrap(stdout, usage, HELP_COLUMNS, 0, HELP_LEFT);
		printf("\n%s\n\nOptions:\n", c->help);
		print_options(c->options | COMMON_OPTIONS);
		return;
	}
	printf("usage: browsertaskctl [options] COMMAND [arguments]\n\n"
	       "Commands, which may be abbreviated:\n");
	for (size_t i = 0; i < NCOMMANDS; i++)
		printf("  %-11s %s\n", commands[i].name, commands[i].help);
	printf("\nRUN is a run's id, or \"last\" for the newest run.\n"
	       "\nCommon options:\n");
	print_options(COMMON_OPTIONS);
	printf("\nThe socket is $BROWSERTASK_SOCKET, else the system's, else "
	       "the user's.\n\n%s",
	    exit_help);
}

enum ctl_exit
cmd_help(struct ctl *ctl)
{
	const struct command *c = NULL;

	if (ctl->nargs > 0 && (c = command_find(ctl->args[0])) == NULL)
		return CTL_USAGE;
	help_print(c);
	return CTL_OK;
}
