/* spawn: makes one cell. */
#ifndef LAUNCHER_SPAWN_H
#define LAUNCHER_SPAWN_H

#include "launcher/dirs.h"
#include "launcher/cgroups.h"
#include "launcher/programs.h"
#include "model/protections.h"

/* What every spawn needs of the instance; borrowed. */
struct spawn_env {
	const struct dirs *dirs;
	const struct programs *programs;
	struct cgroups *groups; /* of the cells */
	const char *conf;       /* configuration file; "": none */
	bool system;
	bool own_cgroups; /* the system has namespaces of control groups */
	uid_t uid_base;   /* system mode: block of uids */
	int self_pidfd;   /* of the launcher */
	uint32_t waived;  /* bits of protections that are off and waived */
};

bool spawn_waives(const struct spawn_env *, enum protection);

#define SPAWN_STAGE_BYTES 64

/* What became of an empty compartment. */
struct spawn_probe {
	int error; /* an errno value, and at what */
	char stage[SPAWN_STAGE_BYTES];
	bool cloned;       /* it came as far as its first process */
	int sandbox_error; /* of what the browser does for its sandbox */
};

/*
 * Makes an empty compartment and lets it end, to learn at the start what the
 * system refuses.
 */
void spawn_probe(const struct spawn_env *, struct spawn_probe *ret_probe);
/* Whether a process in new namespaces can be made: 0, or an errno value. */
int spawn_probe_namespace(const struct spawn_env *, uint64_t flag);

#define SPAWN_ENVIRONMENT_MAX 16

/*
 * A short environment, which ends with NULL; the rest of the launcher's is
 * nobody's business. The texts are static.
 */
void spawn_environment(char *ret_env[SPAWN_ENVIRONMENT_MAX]);

struct spawned {
	pid_t pid;
	int pidfd;
	int sock; /* launcher's end of the link with the cell, non-blocking */
	int ipc;  /* supervisord's end of the link with the worker */
	int log;  /* read end of the cell's log pipe */
	enum launch_browser browser;
	struct cgroup group;
};

/*
 * Starts the cell; it says UP or FAILED on sock. On failure returns an errno
 * value and *ret_stage, and nothing is left.
 */
int
spawn_cell(const struct spawn_env *, uint32_t id, const struct launch_spawn *,
    struct spawned *ret_cell, const char **ret_stage);
/*
 * Has the kept cell on sock start another worker. 0 and supervisord's end of
 * the link with that worker, or an errno value.
 */
int spawn_worker(int sock, int *ret_ipc);

#endif
