/*
 * confine: what a program gives up before it reads a byte of a stranger:
 * system calls (seccomp), paths (Landlock), limits. Everything here is for the
 * calling process and all that it starts later, and cannot be taken back.
 *
 * Order of use: open what must be open, confine_paths(), confine_limits(),
 * confine_filter() last. All return 0 or an errno value.
 */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- system calls ---- */

enum confine_answer {
	CONFINE_KILL, /* the whole process, by SIGSYS */
	CONFINE_ALLOW,
	CONFINE_REFUSE, /* EACCES: for what libraries try and do without */
	CONFINE_ABSENT, /* ENOSYS: as if the kernel had no such call */
	CONFINE_ANSWER__MAX
};

enum confine_test {
	CONFINE_ANY,   /* no condition */
	CONFINE_BITS,  /* (argument & mask) == value */
	CONFINE_LEAST, /* argument >= value, all 64 bits of it */
	CONFINE_SELF,  /* the argument is the pid of this process */
};

/* A condition on the argument arg (from 0) of a call. */
struct confine_when {
	enum confine_test test;
	unsigned int arg;
	uint64_t mask, value;
};

#define CONFINE_WHENS 3

/*
 * A row of a table. Its conditions hold together, each for another argument;
 * rows for the same call are alternatives. confine/rows.h has short words to
 * write rows with.
 */
struct confine_call {
	const char *name;
	enum confine_answer answer;
	struct confine_when when[CONFINE_WHENS];
};

struct confine_table {
	const struct confine_call *calls;
	size_t n;
	enum confine_answer otherwise; /* CONFINE_KILL, or CONFINE_ALLOW for a
					  table of what is forbidden */
};

/*
 * Holds all threads of the process to the table, sets no_new_privs, and kills
 * what calls the kernel through another architecture's door (x32 included).
 * Calls that this architecture has not are passed over. Builds for sanitizers
 * and coverage have no filter (confine_absence()) and only no_new_privs is set.
 * EINVAL: a row names no call, or is wrong in itself.
 *
 * A build with --enable-filter-debug says on standard error which call was
 * killed, and ends with status 128 + SIGSYS.
 */
int confine_filter(const struct confine_table *);
/*
 * From here on calls above that number are as if the kernel had none: what is
 * newer than a table of forbidden calls is not in it. Sets no_new_privs.
 */
int confine_newest(unsigned int newest);
/*
 * From here on a filter that cannot be loaded is none, and no error; what was
 * started before is not told.
 */
void confine_filter_waive(void);
/* Whether a process whose end wait(2) tells of was ended by its filter. */
bool confine_was_broken(int status);
/* Why this build gives up nothing, for the log; NULL: it does. */
const char *confine_absence(void);

/* ---- paths ---- */

enum {
	CONFINE_MAY_READ = 1 << 0,
	CONFINE_MAY_WRITE = 1 << 1, /* make, remove and rename as well */
};

/* A file, or a directory with all below it. */
struct confine_path {
	const char *path;
	unsigned int may;
};

/* Leaves connecting by TCP to the filter. Listening never is. */
#define CONFINE_TCP_CONNECT (1U << 0)

/*
 * From here on only these paths can be opened (what is open stays open), and
 * as far as the kernel knows how: no TCP, no abstract sockets and no signals to
 * processes outside. Paths that do not exist are passed over.
 * *ret_abi is the Landlock version that was used. EOPNOTSUPP, with nothing
 * changed: this kernel has none, or one that cannot move files.
 */
int confine_paths(
    const struct confine_path *, size_t n, unsigned int flags, int *ret_abi);

/*
 * Keeps the process, and what it starts, from tracing processes outside and
 * from mounting anything, in whatever namespace; as far as the kernel knows
 * how, from sending them signals and from abstract sockets too. Files stay as
 * they are. Results as of confine_paths().
 */
int confine_apart(int *ret_abi);

/* The version of Landlock that this kernel has and this uses; 0: none. */
int confine_paths_version(void);

/* ---- limits ---- */

enum {
	CONFINE_NO_PROCESSES = 1 << 0,   /* nor threads */
	CONFINE_NO_GROWTH = 1 << 1,      /* no byte into a regular file */
	CONFINE_NO_DESCRIPTORS = 1 << 2, /* none beyond those open now */
};

/* Never a core file, never traced by its own uid; and zero for the others. */
int confine_limits(unsigned int zero);

#endif
