/*
 * browsertaskctl: people's and scripts' way to the service, over its socket.
 * Runs as the caller; touches nothing but that socket, its standard streams
 * and the files named on its command line.
 */
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
run_command(struct ctl *ctl, const struct command *c)
{
	enum ctl_exit rc;

	if (ctl->nargs < c->least || ctl->nargs > c->most) {
		ctl_error("%s: %s", c->name,
		    ctl->nargs < c->least ? "an argument is missing"
					  : "too many arguments");
		return bad_usage(c);
	}
	rc = c->run(ctl);
	return rc == CTL_USAGE && !ctl_hinted() ? bad_usage(c) : rc;
}

/* Options that are commands of their own come before those. */
static enum ctl_exit
run(struct ctl *ctl, int argc, char **argv)
{
	const char *name = options_command(argc, argv);
	const struct command *c = name == NULL ? NULL : command_find(name);

	if (name != NULL && c == NULL)
		return bad_usage(NULL);
	if (!options_parse(ctl, c, argc, argv))
		return bad_usage(c);
	if (ctl->opt[OPT_VERSION] != NULL) {
		printf("browsertaskctl %s\n", PACKAGE_VERSION);
		return CTL_OK;
	}
	if (ctl->opt[OPT_HELP] != NULL) {
		help_print(c);
		return CTL_OK;
	}
	if (c == NULL) {
		ctl_error("which command?");
		return bad_usage(NULL);
	}
	return run_command(ctl, c);
}

int
main(int argc, char **argv)
{
	struct ctl ctl = { 0 };
	enum ctl_exit rc;

	if (fd_open_standard() != 0) {
		perror("browsertaskctl: /dev/null");
		return CTL_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	look_at_terminal(&ctl);
	rc = run(&ctl, argc, argv);
	client_free(&ctl.client);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		ctl_error("standard output could not be written");
		return rc == CTL_OK ? CTL_FAILED : rc;
	}
	return rc;
}
