/*
 * doctor: what browsertaskctl finds out about the machine and the service.
 * Each check says what it saw and, unless all is well, what to do.
 */
#ifndef CTL_DOCTOR_H
#define CTL_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "ctl/ctl.h"
#include "model/settings.h"

#define DOCTOR_ROWS_MAX  64
#define DOCTOR_NAME_SIZE 16
#define DOCTOR_TEXT_SIZE 400

enum doctor_level {
	DOCTOR_OK,
	DOCTOR_WARN, /* works, but not as well as it could */
	DOCTOR_FAIL, /* runs cannot be executed, or not safely */
	DOCTOR__MAX
};

struct doctor_row {
	enum doctor_level level;
	char name[DOCTOR_NAME_SIZE];
	char text[DOCTOR_TEXT_SIZE];
	char advice[DOCTOR_TEXT_SIZE]; /* "" for DOCTOR_OK */
};

struct doctor {
	struct ctl *ctl;
	struct settings settings;  /* those that hold, as far as is known */
	bool system;               /* as root: looks at a system service */
	bool running;              /* the service answered */
	struct ctl_answer profile; /* only when it runs */
	long pid;                  /* of supervisord, 0: unknown */
	char state_dir[PATH_MAX], run_dir[PATH_MAX];
	char daemon[PATH_MAX]; /* see doctor_daemon() */
	struct doctor_row rows[DOCTOR_ROWS_MAX];
	size_t nrows;
};

/* Adds a row; advice NULL or "": none. */
void doctor_say(struct doctor *, enum doctor_level, const char *name,
    const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* The checks, in the order they are told. */
void doctor_service(struct doctor *);
void doctor_protections(struct doctor *);
void doctor_programs(struct doctor *);
void doctor_config(struct doctor *);
void doctor_shares(struct doctor *);
void doctor_browser(struct doctor *);
void doctor_kernel(struct doctor *);
void doctor_namespaces(struct doctor *);
void doctor_uids(struct doctor *);
void doctor_dirs(struct doctor *);
void doctor_audit(struct doctor *);
void doctor_disk(struct doctor *);
void doctor_limits(struct doctor *);
void doctor_memory(struct doctor *);
void doctor_cgroup(struct doctor *);

/* The uid and gid of the ordinary user that root becomes to try things. */
#define DOCTOR_NOBODY   65534
#define DOCTOR_ARGS_MAX 8

/* The path of browsertaskd, whether it is there or not. */
const char *doctor_daemon(struct doctor *);
bool doctor_is_program(const char *path);
/*
 * Runs a program with empty input, as an ordinary user or as the caller (then
 * with the caller's HOME and XDG_CONFIG_HOME), and waits at most timeout_ms for
 * its end. args are at most DOCTOR_ARGS_MAX and a
 * NULL. Gives what it prints, of the caller's
 * on standard error, too, and its wait status. 0, or an errno value.
 */
int doctor_run(const char *path, const char *const *args, bool ordinary,
    int timeout_ms, char *ret_text, size_t size, int *ret_status);
/*
 * Tries unshare(2) with the flags in a process of its own, as an ordinary user
 * or as the caller. 0, or an errno value.
 */
int doctor_unshare(int flags, bool ordinary);
/* The first line of a small file; false when it cannot be read. */
bool doctor_read(const char *path, char *ret_line, size_t size);

#endif
