/* options: the launcher's command line and the settings behind it. */
#ifndef LAUNCHER_OPTIONS_H
#define LAUNCHER_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "model/settings.h"

#define OPTIONS_ASSIGNMENTS_MAX 64

/* Exit codes of the launcher, as in sysexits.h where that has one. */
enum {
	EXIT_STOPPED = 0,     /* told to stop, or printed what was asked */
	EXIT_CRASHING = 1,    /* supervisord does not keep running */
	EXIT_BAD_USAGE = 64,  /* wrong command line */
	EXIT_NO_PROGRAM = 69, /* a program is missing */
	EXIT_SYSTEM = 71,     /* the system refuses something */
	EXIT_CANNOT_USE = 73, /* state or socket directory not usable */
	EXIT_OTHER_RUNS = 75, /* taken by another instance */
	EXIT_BAD_CONF = 78,   /* mistake in the configuration file */
};

struct options {
	char state_dir[PATH_MAX];
	char run_dir[PATH_MAX];
	char libexec_dir[PATH_MAX];
	char browser[PATH_MAX];   /* "": look for one */
	char conf[PATH_MAX];      /* configuration file; "": none */
	bool conf_needed;         /* it was named, or was there at the start */
	bool check_only;          /* -n */
	bool again;               /* --ready-fd was closed long ago */
	int ready_fd;             /* -1: none */
	bool system;              /* started by root */
	struct settings settings; /* those in effect */
	/* The -o arguments as given, borrowed from argv. */
	const char *assignments[OPTIONS_ASSIGNMENTS_MAX];
	int nassignments;
};

/*
 * Reads the command line and the configuration file and fills in defaults.
 * Returns true when the instance is to run; else everything has been said and
 * *ret_exit is the exit code. With again the process was started with this line
 * before: --ready-fd was done with then.
 */
bool options_parse(
    struct options *, int argc, char *const *argv, bool again, int *ret_exit);
/*
 * The settings as the file, read anew, and the command line now give them. On
 * failure ret_why tells the mistake, with file and line, and *ret_settings is
 * untouched.
 */
bool options_settings(const struct options *, struct settings *ret_settings,
    bool *ret_has_file, char *ret_why, size_t size);

#endif
