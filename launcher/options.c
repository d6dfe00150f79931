/*
 * options: reads the launcher's command line. Runs in the launcher at its
 * start, before anything is opened; the only place that looks at environment
 * variables for directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fdio.h"
#include "config.h"
#include "launcher/options.h"

enum {
	OPT_READY_FD = 256
};

static const char usage_text[] =
    "usage: browsertaskd [-hV] [-B browser] [-o name=value] [-P libexecdir]\n"
    "                    [-r rundir] [-s statedir] [--ready-fd n]\n"
    "\n"
    "Runs browser tasks; stays in the foreground, logs to standard error.\n"
    "Started by root it uses uids of its own, else user namespaces.\n"
    "\n"
    "  -B browser     Chromium program, instead of the installed one\n"
    "  -o name=value  a setting; may be repeated\n"
    "  -P libexecdir  directory of the other programs\n"
    "  -r rundir      directory of the sockets\n"
    "  -s statedir    directory of runs, artifacts and profiles\n"
    "  --ready-fd n   write a newline to this descriptor when serving\n"
    "  -V             print the version\n"
    "  -h             print this text and the settings\n"
    "\n"
    "exit status: 0 stopped as told, 1 supervisord ends again and again,\n"
    "  64 wrong usage, 69 a program is missing, 71 the system refuses\n"
    "  something, 73 a directory cannot be used, 75 taken by another "
    "instance\n";

static bool __attribute__((format(printf, 2, 3)))
options_bad(int *ret_exit, const char *fmt, ...)
{
	va_list ap;

	fputs("browsertaskd: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\nTry browsertaskd -h.\n", stderr);
	*ret_exit = EXIT_BAD_USAGE;
	return false;
}

static bool
options_done(int *ret_exit)
{
	*ret_exit = EXIT_STOPPED;
	return false;
}

static void
options_help(void)
{
	const struct setting_info *row;

	fputs(usage_text, stdout);
	puts("\nsettings (name, default, lowest to highest, unit):");
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++)
		printf("  %-20s %lld  (%lld to %lld %s)\n      %s\n", row->name,
		    (long long)row->def, (long long)row->lowest,
		    (long long)row->highest, row->unit, row->help);
}

static bool
options_copy(
    char dst[PATH_MAX], const char *what, const char *value, int *ret_exit)
{
	if (*value == '\0')
		return options_bad(ret_exit, "%s is empty", what);
	if (strlcpy(dst, value, PATH_MAX) >= PATH_MAX)
		return options_bad(ret_exit, "%s is too long", what);
	return true;
}

static bool
options_ready_fd(struct options *o, const char *value, int *ret_exit)
{
	const char *wrong;
	int fd = (int)strtonum(value, 0, 1023, &wrong);

	if (wrong != NULL)
		return options_bad(
		    ret_exit, "--ready-fd %s: number is %s", value, wrong);
	if (fcntl(fd, F_GETFD) == -1)
		return options_bad(ret_exit, "--ready-fd %d is not open", fd);
	fd_set_cloexec(fd, 1);
	o->ready_fd = fd;
	return true;
}

static bool
options_assign(struct options *o, const char *assignment, int *ret_exit)
{
	char error[256];

	if (o->nassignments == OPTIONS_ASSIGNMENTS_MAX)
		return options_bad(
		    ret_exit, "more than %d settings", OPTIONS_ASSIGNMENTS_MAX);
	if (!settings_assign(&o->settings, assignment, error, sizeof(error)))
		return options_bad(ret_exit, "-o %s: %s", assignment, error);
	o->assignments[o->nassignments++] = assignment;
	return true;
}

static bool
options_take(struct options *o, int opt, const char *value, int *ret_exit)
{
	switch (opt) {
	case 'B':
		return options_copy(o->browser, "-B", value, ret_exit);
	case 'P':
		return options_copy(o->libexec_dir, "-P", value, ret_exit);
	case 'o':
		return options_assign(o, value, ret_exit);
	case 'r':
		return options_copy(o->run_dir, "-r", value, ret_exit);
	case 's':
		return options_copy(o->state_dir, "-s", value, ret_exit);
	case OPT_READY_FD:
		return options_ready_fd(o, value, ret_exit);
	case 'V':
		puts("browsertaskd " PACKAGE_VERSION);
		return options_done(ret_exit);
	case 'h':
		options_help();
		return options_done(ret_exit);
	default:
		*ret_exit = EXIT_BAD_USAGE;
		return false;
	}
}

/* An absolute path in the environment, else NULL. */
static const char *
env_dir(const char *name)
{
	const char *v = getenv(name);

	return v != NULL && v[0] == '/' ? v : NULL;
}

static bool
options_default_state(struct options *o, int *ret_exit)
{
	const char *base;
	int n;

	if (o->system)
		n = snprintf(o->state_dir, PATH_MAX, "%s/lib/browsertask",
		    LOCALSTATEDIR);
	else if ((base = env_dir("XDG_STATE_HOME")) != NULL)
		n = snprintf(o->state_dir, PATH_MAX, "%s/browsertask", base);
	else if ((base = env_dir("HOME")) != NULL)
		n = snprintf(o->state_dir, PATH_MAX,
		    "%s/.local/state/browsertask", base);
	else
		return options_bad(ret_exit,
		    "HOME is not set: name a state directory with -s");
	if (n < 0 || n >= PATH_MAX)
		return options_bad(ret_exit, "state directory: too long");
	return true;
}

static bool
options_default_run(struct options *o, int *ret_exit)
{
	const char *base;
	int n;

	if (o->system)
		n = snprintf(
		    o->run_dir, PATH_MAX, "%s/browsertask", RUNSTATEDIR);
	else if ((base = env_dir("XDG_RUNTIME_DIR")) != NULL)
		n = snprintf(o->run_dir, PATH_MAX, "%s/browsertask", base);
	else
		n = snprintf(o->run_dir, PATH_MAX, "/tmp/browsertask-%u",
		    (unsigned int)geteuid());
	if (n < 0 || n >= PATH_MAX)
		return options_bad(ret_exit, "socket directory: too long");
	return true;
}

static bool
options_check(struct options *o, int *ret_exit)
{
	const struct settings *s = &o->settings;

	if (s->uidBase + s->uidBlocks * 64 > 4294967295LL)
		return options_bad(ret_exit,
		    "uidBase and uidBlocks reach beyond the highest uid");
	if (o->state_dir[0] == '\0' && !options_default_state(o, ret_exit))
		return false;
	if (o->run_dir[0] == '\0' && !options_default_run(o, ret_exit))
		return false;
	return true;
}

bool
options_parse(struct options *o, int argc, char *const *argv, int *ret_exit)
{
	static const struct option longs[] = {
		{ "ready-fd", required_argument, NULL, OPT_READY_FD },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int opt;

	memset(o, 0, sizeof(*o));
	o->ready_fd = -1;
	o->system = geteuid() == 0;
	settings_default(&o->settings);
	strlcpy(o->libexec_dir, PKGLIBEXECDIR, sizeof(o->libexec_dir));
	while (
	    (opt = getopt_long(argc, argv, "B:P:Vho:r:s:", longs, NULL)) != -1)
		if (!options_take(o, opt, optarg, ret_exit))
			return false;
	if (optind != argc)
		return options_bad(
		    ret_exit, "\"%s\" is one argument too many", argv[optind]);
	return options_check(o, ret_exit);
}
