/*
 * browsertaskctl: people's and scripts' way to the service, over its socket.
 * Runs as the caller; touches nothing but that socket, its standard streams
 * and the files named on its command line.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/panic.h"
#include "config.h"
#include "ctl/commands.h"
#include "ctl/ctl.h"
#include "ctl/text.h"

static enum ctl_exit
bad_usage(const struct command *c)
{
	ctl_hint("browsertaskctl %s%s--help shows what is accepted",
	    c == NULL ? "" : c->name, c == NULL ? "" : " ");
	return CTL_USAGE;
}

/* Fills in options; false after telling what is wrong with them. */
static bool
parse_options(struct ctl *ctl, int argc, char **argv, uint64_t *ret_given)
{
	struct option longs[OPT__MAX + 1] = { 0 };
	char shorts[2 * OPT__MAX + 1];
	size_t n = 0, i;
	int opt;

	for (i = 0; i < OPT__MAX; i++) {
		const struct option_row *o = option_row((enum ctl_option)i);

		longs[i].name = o->name;
		longs[i].has_arg = o->value != NULL;
		longs[i].val = 256 + (int)i;
		if (o->letter != 0)
			shorts[n++] = (char)o->letter;
		if (o->letter != 0 && o->value != NULL)
			shorts[n++] = ':';
	}
	shorts[n] = '\0';
	while ((opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (opt == '?')
			return false;
		for (i = 0; i < OPT__MAX; i++)
			if (opt == option_row((enum ctl_option)i)->letter ||
			    opt == 256 + (int)i)
				break;
		ASSERT(i < OPT__MAX);
		*ret_given |= UINT64_C(1) << i;
		ctl->opt[i] = longs[i].has_arg ? optarg : "";
	}
	return true;
}

static void
look_at_terminal(struct ctl *ctl)
{
	const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");

	ctl->unicode = text_init();
	ctl->out_tty = isatty(STDOUT_FILENO) == 1;
	ctl->columns = (int)text_columns(STDOUT_FILENO);
	ctl->err_tty = isatty(STDERR_FILENO) == 1;
	ctl->color = ctl->out_tty && (plain == NULL || plain[0] == '\0') &&
	    (term == NULL || strcmp(term, "dumb") != 0);
}

static enum ctl_exit
run_command(struct ctl *ctl, const struct command *c, uint64_t given)
{
	uint64_t extra = given & ~(c->options | COMMON_OPTIONS);
	enum ctl_exit rc;

	if (extra != 0) {
		ctl_error("%s does not take --%s", c->name,
		    option_row((enum ctl_option)__builtin_ctz(extra))->name);
		return bad_usage(c);
	}
	if (ctl->nargs < c->least || ctl->nargs > c->most) {
		ctl_error("%s: %s", c->name,
		    ctl->nargs < c->least ? "an argument is missing"
					  : "too many arguments");
		return bad_usage(c);
	}
	rc = c->run(ctl);
	return rc == CTL_USAGE && !ctl_hinted() ? bad_usage(c) : rc;
}

int
main(int argc, char **argv)
{
	struct ctl ctl = { 0 };
	const struct command *c = NULL;
	uint64_t given = 0;
	enum ctl_exit rc;

	if (fd_open_standard() != 0) {
		perror("browsertaskctl: /dev/null");
		return CTL_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	look_at_terminal(&ctl);
	if (!parse_options(&ctl, argc, argv, &given))
		return bad_usage(NULL);
	if (ctl.opt[OPT_VERSION] != NULL) {
		printf("browsertaskctl %s\n", PACKAGE_VERSION);
		return CTL_OK;
	}
	if (optind < argc)
		c = command_find(argv[optind]);
	if (optind < argc && c == NULL)
		return bad_usage(NULL);
	if (ctl.opt[OPT_HELP] != NULL) {
		help_print(c);
		return CTL_OK;
	}
	if (c == NULL) {
		ctl_error("which command?");
		return bad_usage(NULL);
	}
	ctl.args = argv + optind + 1;
	ctl.nargs = argc - optind - 1;
	rc = run_command(&ctl, c, given);
	client_free(&ctl.client);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		ctl_error("standard output could not be written");
		return rc == CTL_OK ? CTL_FAILED : rc;
	}
	return rc;
}
