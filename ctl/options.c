/*
 * Options on the command line: only those of the command count, so that they
 * may be shortened as far as these differ. Runs in browsertaskctl.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "common/panic.h"
#include "ctl/commands.h"

#define LONG_FIRST 256 /* behind all letters */

/* A set of options as getopt_long() wants it. */
struct wanted {
	struct option longs[OPT__MAX + 1];
	char letters[2 * OPT__MAX + 2];
};

static void
wanted_make(struct wanted *w, uint64_t set)
{
	size_t n = 0, letter = 0;

	memset(w, 0, sizeof(*w));
	w->letters[letter++] = ':'; /* it says nothing itself */
	for (int i = 0; i < OPT__MAX; i++) {
		const struct option_row *o = option_row((enum ctl_option)i);

		if ((set & UINT64_C(1) << i) == 0)
			continue;
		w->longs[n].name = o->name;
		w->longs[n].has_arg = o->value != NULL;
		w->longs[n++].val = LONG_FIRST + i;
		if (o->letter != 0)
			w->letters[letter++] = (char)o->letter;
		if (o->letter != 0 && o->value != NULL)
			w->letters[letter++] = ':';
	}
}

/* The row of what getopt_long() gave; OPT__MAX: none. */
static int
row_of(int opt)
{
	int i = 0;

	while (i < OPT__MAX && opt != LONG_FIRST + i &&
	    opt != option_row((enum ctl_option)i)->letter)
		i++;
	return i;
}

const char *
options_command(int argc, char **argv)
{
	char **copy = calloc((size_t)argc + 1, sizeof(*copy));
	const char *name = NULL;
	struct wanted w;

	if (copy == NULL)
		return NULL;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	wanted_make(&w, UINT64_MAX);
	while (getopt_long(argc, copy, w.letters, w.longs, NULL) != -1)
		;
	if (optind < argc)
		name = copy[optind];
	free(copy);
	return name;
}

/* opt is what getopt_long() gave, arg what it looked at. */
static void
tell_bad(const struct command *c, uint64_t set, int opt, const char *arg)
{
	int row = row_of(optopt);

	if (optopt == 0) {
		option_tell_unknown(c, set, arg);
	} else if (row == OPT__MAX) {
		ctl_error("there is no option -%c", optopt);
	} else if (opt == ':') {
		ctl_error("--%s needs a value",
		    option_row((enum ctl_option)row)->name);
	} else if (optopt >= LONG_FIRST) {
		ctl_error("--%s takes no value",
		    option_row((enum ctl_option)row)->name);
	} else {
		ASSERT(c != NULL); /* else any may be meant */
		ctl_error("%s does not take -%c", c->name, optopt);
	}
}

bool
options_parse(struct ctl *ctl, const struct command *c, int argc, char **argv)
{
	uint64_t set = c == NULL ? UINT64_MAX : c->options | COMMON_OPTIONS;
	struct wanted w;
	int opt, row;

	wanted_make(&w, set);
	optind = 0; /* anew */
	while (
	    (opt = getopt_long(argc, argv, w.letters, w.longs, NULL)) != -1) {
		if (opt == '?' || opt == ':') {
			tell_bad(c, set, opt, argv[optind - 1]);
			return false;
		}
		row = row_of(opt);
		ASSERT(row < OPT__MAX);
		ctl->opt[row] = optarg != NULL ? optarg : "";
	}
	ctl->args = argv + optind + (optind < argc);
	ctl->nargs = argc - optind - (optind < argc);
	return true;
}
