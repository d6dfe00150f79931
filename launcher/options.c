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
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdio.h"
#include "common/log.h"
#include "config.h"
#include "launcher/conf.h"
#include "launcher/groups.h"
#include "launcher/options.h"

enum {
	OPT_READY_FD = 256
};

static const char usage_text[] =
    "usage: browsertaskd [-hnV] [-B browser] [-f file] [-o name=value]\n"
    "                    [-P libexecdir] [-r rundir] [-s statedir]\n"
    "                    [--ready-fd n]\n"
    "\n"
    "Runs browser tasks; stays in the foreground, logs to standard error.\n"
    "Started by root it uses uids of its own, else user namespaces.\n"
    "\n"
    "  -B browser     Chromium program, instead of the installed one\n"
    "  -f file        configuration file\n"
    "  -n             check the configuration file, print what it changes, exit\n"
    "  -o name=value  a setting, over that of the file; may be repeated\n"
    "  -P libexecdir  directory of the other programs\n"
    "  -r rundir      directory of the sockets\n"
    "  -s statedir    directory of runs, artifacts and profiles\n"
    "  --ready-fd n   write a newline to this descriptor when serving\n"
    "  -V             print the version\n"
    "  -h             print this text and the settings\n"
    "\n"
    "exit status: 0 stopped as told, 1 supervisord ends again and again,\n"
    "  64 wrong usage, 69 a program is missing, 71 the system refuses\n"
    "  something, 73 a directory cannot be used,\n"
    "  75 taken by another instance, 78 mistake in the configuration file\n";

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
	char text[SETTINGS_VALUE_BYTES];
	struct settings defaults;

	fputs(usage_text, stdout);
	puts("\nsettings (name, default, lowest to highest, unit):");
	settings_default(&defaults);
	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		settings_format(&defaults, i, text);
		printf("  %-20s %s", row->name, text);
		if (row->type == SETTING_TEXT)
			printf("(none)  (%s, at most %lld bytes)", row->unit,
			    (long long)row->highest);
		else if (row->type == SETTING_INT)
			printf("  (%lld to %lld %s)", (long long)row->lowest,
			    (long long)row->highest, row->unit);
		printf("\n      %s\n", row->help);
	}
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

	if (o->again)
		return true;
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
	char error[SETTINGS_ERROR_BYTES];

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
	case 'f':
		o->conf_needed = true;
		return options_copy(o->conf, "-f", value, ret_exit);
	case 'n':
		o->check_only = true;
		return true;
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

/*
 * Programs that are started with a small environment have no XDG_RUNTIME_DIR;
 * all of one user have to come to the same place.
 */
static bool
options_own_run_dir(char *ret, size_t size)
{
	struct stat st;

	snprintf(ret, size, "/run/user/%u", (unsigned int)geteuid());
	return lstat(ret, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == geteuid();
}

/*
 * Anybody may have made that directory before; then it is one beside the state,
 * where nobody else can make any.
 */
static int
options_tmp_run(char *ret, size_t size)
{
	struct stat st;
	const char *base;
	int n;

	n = snprintf(ret, size, "/tmp/browsertask-%u", (unsigned int)geteuid());
	if (lstat(ret, &st) == -1 ||
	    (S_ISDIR(st.st_mode) && st.st_uid == geteuid()))
		return n;
	if ((base = env_dir("XDG_STATE_HOME")) != NULL)
		return snprintf(ret, size, "%s/browsertask-run", base);
	if ((base = env_dir("HOME")) != NULL)
		return snprintf(
		    ret, size, "%s/.local/state/browsertask-run", base);
	return n;
}

static bool
options_default_run(struct options *o, int *ret_exit)
{
	char own[64];
	const char *base;
	int n;

	if (o->system)
		n = snprintf(
		    o->run_dir, PATH_MAX, "%s/browsertask", RUNSTATEDIR);
	else if ((base = env_dir("XDG_RUNTIME_DIR")) != NULL)
		n = snprintf(o->run_dir, PATH_MAX, "%s/browsertask", base);
	else if (options_own_run_dir(own, sizeof(own)))
		n = snprintf(o->run_dir, PATH_MAX, "%s/browsertask", own);
	else
		n = options_tmp_run(o->run_dir, PATH_MAX);
	if (n < 0 || n >= PATH_MAX)
		return options_bad(ret_exit, "socket directory: too long");
	return true;
}

static bool
options_default_conf(struct options *o, int *ret_exit)
{
	const char *base;
	int n = 0;

	if (o->system)
		n = snprintf(o->conf, PATH_MAX,
		    "%s/browsertask/browsertaskd.conf", SYSCONFDIR);
	else if ((base = env_dir("XDG_CONFIG_HOME")) != NULL)
		n = snprintf(o->conf, PATH_MAX,
		    "%s/browsertask/browsertaskd.conf", base);
	else if ((base = env_dir("HOME")) != NULL)
		n = snprintf(o->conf, PATH_MAX,
		    "%s/.config/browsertask/browsertaskd.conf", base);
	if (n < 0 || n >= PATH_MAX)
		return options_bad(ret_exit, "configuration file: too long");
	return true;
}

static bool
options_default_paths(struct options *o, int *ret_exit)
{
	return (o->conf[0] != '\0' || options_default_conf(o, ret_exit)) &&
	    (o->check_only ||
		((o->state_dir[0] != '\0' ||
		     options_default_state(o, ret_exit)) &&
		    (o->run_dir[0] != '\0' ||
			options_default_run(o, ret_exit))));
}

/* "file: text" or "file:line: text"; always false. */
static bool
conf_why(const struct options *o, int line, const char *text, char *ret_why,
    size_t size)
{
	if (o->conf[0] == '\0')
		snprintf(ret_why, size, "%s", text);
	else if (line > 0)
		snprintf(ret_why, size, "%s:%d: %s", o->conf, line, text);
	else
		snprintf(ret_why, size, "%s: %s", o->conf, text);
	return false;
}

bool
options_settings(const struct options *o, struct settings *ret_settings,
    bool *ret_has_file, char *ret_why, size_t size)
{
	enum conf_status status = CONF_ABSENT;
	struct conf_lines lines = { { 0 } };
	struct conf_error error = { 0, "" };
	struct settings s;
	size_t row;

	settings_default(&s);
	if (o->conf[0] != '\0')
		status = conf_read(o->conf, &s, &lines, &error);
	if (status == CONF_BAD || (status == CONF_ABSENT && o->conf_needed))
		return conf_why(o, error.line, error.text, ret_why, size);
	for (int i = 0; i < o->nassignments; i++)
		if (!settings_assign(&s, o->assignments[i], ret_why, size))
			return false;
	if (!settings_check(&s, &row, error.text, sizeof(error.text)) ||
	    !groups_resolve(&s, &row, error.text, sizeof(error.text)))
		return conf_why(o, lines.at[row], error.text, ret_why, size);
	*ret_settings = s;
	*ret_has_file = status == CONF_GOOD;
	return true;
}

/* Those that are not as by default. */
static void
options_print_changed(const struct settings *s)
{
	char line[SETTINGS_LINE_BYTES];
	const struct setting_info *row;

	for (size_t i = 0; (row = settings_row(i)) != NULL; i++) {
		if (settings_is_default(s, i))
			continue;
		settings_format_line(s, i, line);
		if (row->private)
			printf("# %s is set and not shown\n", row->name);
		else
			puts(line);
	}
}

/* What is wrong is said to a person at -n, else to the log. */
static bool
options_configure(struct options *o, int *ret_exit)
{
	char why[PATH_MAX + SETTINGS_ERROR_BYTES + 16];
	bool has_file;

	if (!options_settings(o, &o->settings, &has_file, why, sizeof(why))) {
		if (o->check_only)
			fprintf(stderr, "browsertaskd: %s\n", why);
		else
			log_err("%s", why);
		*ret_exit = EXIT_BAD_CONF;
		return false;
	}
	o->conf_needed = o->conf_needed || has_file;
	if (!o->check_only)
		return true;
	if (o->conf[0] == '\0')
		puts("no configuration file: the defaults hold");
	else if (has_file)
		printf("%s: good\n", o->conf);
	else
		printf("%s: there is none: the defaults hold\n", o->conf);
	options_print_changed(&o->settings);
	return options_done(ret_exit);
}

bool
options_parse(
    struct options *o, int argc, char *const *argv, bool again, int *ret_exit)
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
	o->again = again;
	o->system = geteuid() == 0;
	settings_default(&o->settings);
	strlcpy(o->libexec_dir, PKGLIBEXECDIR, sizeof(o->libexec_dir));
	while ((opt = getopt_long(
		    argc, argv, "B:P:Vf:hno:r:s:", longs, NULL)) != -1)
		if (!options_take(o, opt, optarg, ret_exit))
			return false;
	if (optind != argc)
		return options_bad(
		    ret_exit, "\"%s\" is one argument too many", argv[optind]);
	return options_default_paths(o, ret_exit) &&
	    options_configure(o, ret_exit);
}
