/*
 * launch: the launch protocol, spoken over SOCK_SEQPACKET socketpairs between
 * supervisord and the launcher and between the launcher and a cell.
 *
 * One packet is one struct launch_msg of fixed size, with descriptors passed
 * by SCM_RIGHTS where launch.def says so. Both ends are built together
 * and run on one machine, so fields are in host order. The protocol is strict:
 * whatever is not exactly right means that the link is broken, and the
 * receiver closes it.
 *
 * launch.def also says who sends what to whom; browsertask-launch(7) says
 * what each message is.
 *
 * To every SPAWN belongs exactly one REAPED, sent when nothing of the cell is
 * left. READY comes before it unless the start failed. cell_id is chosen by
 * supervisord and never used twice in its life, nor while the cell lives, which
 * may be longer; on links of cells, and for messages that are not about a cell,
 * it is 0.
 *
 * A cell ends with its worker. One with SPAWN_KEEP outlives its workers as long
 * as its browser lives: supervisord is told WORKER_EXITED when a worker is
 * gone, and may then order the next one with WORKER; WORKER_READY hands it the
 * other end of that worker's socket. KILL_WORKER ends the worker alone. A kept
 * cell without worker ends with its browser.
 *
 * A cell may use so much and no more: SPAWN says how much. LIMIT tells, once and
 * before REAPED, that it wanted more; it ends then, whatever is kept. USAGE
 * tells now and then what its worker and its browser used.
 *
 * A named profile is one directory, used by one cell at a time. FORGET removes
 * it, once no cell uses it any more. PURGE removes all that no KNOWN since the
 * start of supervisord or the last PURGE has named.
 *
 * SECRET hands the launcher what a run's worker alone may read; SECRET_GIVE has
 * it fed to the worker of a cell, SECRET_DROP lets go of it. Before SECRET_GIVE
 * each SECRET_REF adds a stored secret of that name; SECRET_MISSING is the answer
 * to SECRET_GIVE when there was none, and nothing is fed then.
 *
 * LISTENER is the one way out of a cell's network namespace, made in there; the
 * launcher keeps it and hands it to egressd as EGRESS_LISTENER, again when
 * egressd was started anew, until EGRESS_GONE says that the cell is no more.
 * EGRESS gives supervisord its end of a socket pair towards egressd after each
 * start of either, EGRESS_LINK the other end to egressd; EGRESS_DOWN says that
 * egressd does not keep running, until there is a new EGRESS.
 *
 * INSPECT has the store read by a process of its own, which is supervisord's
 * program and talks to the client from then on; INSPECTED tells its end. There
 * is one at a time.
 *
 * PROTECTION tells what the launcher found of one protection, after each start
 * of supervisord, once for each. PING asks supervisord or egressd for a
 * PONG; one that does not answer for long is killed. supervisord sends PONG by
 * itself, too, when the audit log has a new last row, which it carries.
 *
 * When supervisord ends and was not to, cells that are up live on. The next one
 * is told of each by ADOPT, with what was last known of it and the descriptors
 * its predecessor had; what happened to the cell in between, WORKER_EXITED,
 * BROWSER_EXITED or LIMIT, follows its ADOPT. ADOPT stands for SPAWN and READY:
 * one REAPED belongs to it. A cell that was reaped in between is not offered.
 * SECRET_KEPT names the runs whose secrets are still there. ADOPT_END says how
 * many ADOPT there were, none at a first start, and whether what an earlier
 * INSPECT has begun goes on; before these three comes PROTECTION only.
 * supervisord answers each ADOPT with ADOPTED or KILL within LAUNCH_ADOPT_MS of
 * its start, or twice hangMs, else the cell is killed. Before its last start,
 * after which all is given up when it ends as soon as those before, the cells
 * are ended: there is no ADOPT, and no run that was running goes on or is begun
 * again. NAME says for which run the worker of a cell now works, since that was
 * not known at its start.
 *
 * RESTART asks supervisord to end with the status LAUNCH_EXIT_RESTART, once what
 * it has acknowledged is written: it is started again at once, and cells live
 * on. It may end so by itself, too.
 */
#ifndef LAUNCH_LAUNCH_H
#define LAUNCH_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/secretname.h"
#include "common/ulid.h"

/*
 * The statuses supervisord ends with when its state directory cannot be used,
 * or the system allows it too little: another start would find the same; and
 * the one that asks for another start, at once.
 */
#define LAUNCH_EXIT_SYSTEM   71
#define LAUNCH_EXIT_STORE    74
#define LAUNCH_EXIT_RESTART  75

#define LAUNCH_MAGIC         0x6274736bU
#define LAUNCH_VERSION       7U
#define LAUNCH_MAX_FDS       2
#define LAUNCH_PROFILE_BYTES 64
#define LAUNCH_PATH_BYTES    128
#define LAUNCH_STAGE_BYTES   32
#define LAUNCH_NAME_BYTES    32
#define LAUNCH_VALUE_BYTES   1024
#define LAUNCH_REASON_BYTES  256
#define LAUNCH_WORKER_SLOTS  24
#define LAUNCH_BROWSER_SLOTS 32
#define LAUNCH_SETTLE_MS     5000
#define LAUNCH_SECRETS_MAX   256   /* runs whose secrets are kept at a time */
#define LAUNCH_SECRETS_TOLD  64    /* of those, in one SECRET_KEPT */
#define LAUNCH_ADOPT_MS      10000 /* at least, and twice hangMs */

/*
 * Order of the descriptors of READY and ADOPT; WORKER_READY has the first only.
 */
enum {
	LAUNCH_FD_IPC,
	LAUNCH_FD_LOG
};

enum launch_type {
	LAUNCH__NONE,
#define LAUNCH(name, links, fds, check, text) LAUNCH_##name,
#include "launch/launch.def"
#undef LAUNCH
	LAUNCH__MAX
};

/* Who sends to whom: decides which types a receiver accepts. */
enum launch_link {
	LAUNCH_FROM_SUPERVISORD,
	LAUNCH_TO_SUPERVISORD,
	LAUNCH_TO_CELL,
	LAUNCH_FROM_CELL,
	LAUNCH_TO_EGRESSD,
	LAUNCH_FROM_EGRESSD,
	LAUNCH_LINK__MAX
};

enum launch_flag {
	SPAWN_BROWSER = 1 << 0,       /* worker with a browser, else alone */
	SPAWN_DESCRIBE = 1 << 1,      /* the worker is workerd --describe */
	SPAWN_TEXT_ONLY = 1 << 2,     /* do not load images and fonts */
	SPAWN_FULL_CHROMIUM = 1 << 3, /* not chromium-headless-shell */
	SPAWN_KEEP = 1 << 4,          /* outlives its worker; needs a browser */
	SPAWN__ALL = (1 << 5) - 1
};

enum launch_browser {
	LAUNCH_BROWSER_NONE,
	LAUNCH_BROWSER_SHELL, /* chromium-headless-shell */
	LAUNCH_BROWSER_FULL,  /* chromium */
	LAUNCH_BROWSER__MAX
};

enum launch_cause {
	LAUNCH_WORKER_ENDED,  /* status is the worker's */
	LAUNCH_KILLED,        /* the launcher was told to, or is stopping */
	LAUNCH_CELL_DIED,     /* status is the cell's */
	LAUNCH_SPAWN_FAILED,  /* never became READY: error and stage say why */
	LAUNCH_BROWSER_ENDED, /* a kept cell's, without worker; its status */
	LAUNCH_CAUSE__MAX
};

/* What one cell may use, all of its processes together. */
struct launch_limits {
	uint64_t memory;    /* bytes, with those of files in memory */
	uint64_t profile;   /* bytes of the profile */
	uint64_t cpu_ms;    /* of each of its workers and the browser; 0: any */
	uint32_t processes; /* each thread counted */
	uint32_t pad;
};

enum launch_over {
	LAUNCH_OVER_MEMORY,
	LAUNCH_OVER_PROCESSES,
	LAUNCH_OVER_CPU,
	LAUNCH_OVER_PROFILE,
	LAUNCH_OVER__MAX
};

/* Lowest values that a browser starts with. */
#define LAUNCH_MEMORY_LEAST    (UINT64_C(256) << 20)
#define LAUNCH_PROFILE_LEAST   (UINT64_C(8) << 20)
#define LAUNCH_PROCESSES_LEAST 128

struct launch_spawn {
	struct ulid session;
	uint16_t worker_slot;  /* < LAUNCH_WORKER_SLOTS */
	uint16_t browser_slot; /* < LAUNCH_BROWSER_SLOTS */
	uint32_t flags;
	/* Name of a kept profile, [A-Za-z0-9_-]+; "" is a fresh one. */
	char profile[LAUNCH_PROFILE_BYTES];
	char name[LAUNCH_NAME_BYTES]; /* of the run, for log lines; or "" */
	struct launch_limits limits;
};

struct launch_ready {
	uint32_t browser; /* enum launch_browser */
};

/*
 * What the cell read in its /proc: number of renderers and the weakest value
 * of each protection over all of them (all zero when there is no renderer).
 * Children that are still starting are given LAUNCH_SETTLE_MS to confine
 * themselves before the cell answers.
 */
struct launch_sandbox {
	uint16_t renderers;
	uint8_t seccomp_mode; /* 2 is a filter */
	uint8_t ns_depth;     /* PID namespaces below the cell's own */
	uint8_t no_new_privs;
	/* Of its other children, which have no namespaces of their own. */
	uint8_t gpus;        /* GPU processes */
	uint8_t utilities;   /* all that are none of the above, nor zygotes */
	uint8_t others_mode; /* weakest seccomp_mode of these; 2: of none */
};

/* Chromium's zygote has a PID namespace, and each renderer one below it. */
#define LAUNCH_NS_DEPTH 2

struct launch_exited {
	int32_t status; /* as of waitpid */
};

struct launch_reaped {
	int32_t status;
	uint32_t cause; /* enum launch_cause */
	int32_t error;  /* errno value of SPAWN_FAILED, else 0 */
	char stage[LAUNCH_STAGE_BYTES];
};

/* Bytes, threads or milliseconds, as in launch_limits. */
struct launch_breach {
	uint32_t which; /* enum launch_over */
	uint32_t pad;
	uint64_t limit; /* what was allowed */
	uint64_t value; /* what was seen last */
};

/* The most that was seen since the worker began; of time all of it. */
struct launch_usage {
	uint64_t memory;
	uint64_t cpu_ms;
	uint32_t processes;
	uint32_t pad;
};

/* The next worker of a kept cell, or what the one it has is called from now. */
struct launch_worker {
	char name[LAUNCH_NAME_BYTES]; /* of its run, for log lines; or "" */
};

/* A cell whose supervisord has ended, as far as it is known. */
struct launch_adopt {
	struct launch_spawn spawn; /* as ordered; name: its worker's, or "" */
	uint32_t browser;          /* enum launch_browser */
	uint32_t has_worker; /* 0: none since before; its socket is /dev/null */
	struct launch_sandbox sandbox; /* as told last; renderers 0: never */
	struct launch_usage usage;     /* as told last */
};

/* What came of the last order to start the service anew. */
enum launch_renewal {
	LAUNCH_RENEWAL_NONE,    /* there was none */
	LAUNCH_RENEWAL_TAKEN,   /* by the program on the disk */
	LAUNCH_RENEWAL_REFUSED, /* that one cannot: the old one goes on */
	LAUNCH_RENEWAL__MAX
};

struct launch_adopt_end {
	uint32_t count;     /* of ADOPT */
	uint32_t inspected; /* 1: the store is being read, INSPECTED follows */
	uint32_t renewal;   /* enum launch_renewal */
	uint32_t last;      /* 1: start; no run goes on that was running */
};

struct launch_kept {
	uint32_t count; /* <= LAUNCH_SECRETS_TOLD, > 0 */
	uint32_t pad;
	struct ulid runs[LAUNCH_SECRETS_TOLD];
};

struct launch_profile {
	char name[LAUNCH_PROFILE_BYTES]; /* as in SPAWN, never "" */
};

struct launch_secret {
	struct ulid run;
};

/* A stored secret, as a run of this uid may use it. */
struct launch_secret_ref {
	struct ulid run;
	uint32_t uid;
	char name[SECRETNAME_BYTES];
};

struct launch_missing {
	int32_t error; /* why it cannot be used: ENOENT, EPERM, EFBIG, ... */
	char name[SECRETNAME_BYTES];
};

struct launch_failed {
	int32_t error;
	char stage[LAUNCH_STAGE_BYTES];
};

struct launch_start {
	struct ulid session; /* for the process title */
	uint32_t flags;
	uint32_t browser;     /* enum launch_browser */
	uint32_t change_ids;  /* 0: user mode, all run as the caller */
	uint32_t cell_uid;    /* uid and gid of the cell itself */
	uint32_t worker_uid;  /* uid and gid of the worker */
	uint32_t browser_uid; /* uid and gid of the browser */
	char profile_dir[LAUNCH_PATH_BYTES];
	struct launch_limits limits;
	uint32_t grouped;   /* 1: a control group bounds memory and processes */
	uint32_t waived;    /* bits of enum protection: it does without them */
	uint32_t in_memory; /* 1: the profile is a file system of its own */
	uint32_t pad;
};

/* A setting that was changed while the service runs. */
struct launch_setting {
	char name[LAUNCH_NAME_BYTES];
	char value[LAUNCH_VALUE_BYTES];
};

enum launch_inspection {
	LAUNCH_INSPECT_CHECK,  /* looks at all of it */
	LAUNCH_INSPECT_BACKUP, /* copies all of it */
	LAUNCH_INSPECT__MAX
};

struct launch_inspect {
	uint32_t what; /* enum launch_inspection */
};

/* With PONG: the last row of the audit log that is stored; 0: not known yet. */
struct launch_row_told {
	uint64_t row;
	uint8_t hash[32];
};

/* What there is of a protection, of model/protections.h. */
struct launch_protection {
	uint32_t which;  /* enum protection */
	uint32_t state;  /* enum protection_state */
	uint32_t waived; /* 1: it is named in the setting waive */
	uint32_t pad;
	char reason[LAUNCH_REASON_BYTES]; /* or what there is to say; or "" */
};

struct launch_msg {
	uint32_t magic;
	uint32_t version;
	uint32_t type;
	uint32_t cell_id;
	union {
		struct launch_spawn spawn;
		struct launch_ready ready;
		struct launch_sandbox sandbox;
		struct launch_exited exited;
		struct launch_reaped reaped;
		struct launch_failed failed;
		struct launch_start start;
		struct launch_setting setting;
		struct launch_worker worker;
		struct launch_profile profile;
		struct launch_secret secret;
		struct launch_secret_ref ref;
		struct launch_missing missing;
		struct launch_breach breach;
		struct launch_usage usage;
		struct launch_protection protection;
		struct launch_inspect inspect;
		struct launch_adopt adopt;
		struct launch_adopt_end adopt_end;
		struct launch_kept kept;
		struct launch_row_told told;
		uint8_t room[1056];
	} u;
};

/* Zeroes the message and fills in its head. */
void launch_msg_init(struct launch_msg *, enum launch_type, uint32_t cell_id);
/*
 * Whether there are renderers and all are confined: no new privileges, a PID
 * namespace of the browser's own below the cell's and, unless the kernel has
 * none and that is waived, a filter of system calls, which all other children
 * have, too.
 */
bool launch_sandbox_is_tight(const struct launch_sandbox *, bool filters);
/*
 * Sends one message; fds has as many entries as its type carries (NULL for
 * none), they stay open. The message must be valid, else it is our own bug.
 * Returns 0 or an errno value (EAGAIN on a full non-blocking socket).
 */
int launch_send(
    int sock, enum launch_link, const struct launch_msg *, const int *fds);
/* How many descriptors a message of that type carries. */
int launch_type_fds(enum launch_type);
/*
 * Receives one message that the link allows, all of its fields checked, its
 * strings terminated. ret_fds (may be NULL on links without descriptors) gets
 * the type's descriptors, close-on-exec, owned by the caller; the rest is -1.
 * All are -1 when this process can open no more.
 * Returns 0, EAGAIN (nothing there), EPIPE (end of file), EPROTO (not a valid
 * message), or another errno value of recvmsg. After anything but 0 and EAGAIN
 * the link is to be closed. Nothing is kept or changed on failure.
 */
int launch_recv(int sock, enum launch_link, struct launch_msg *ret_msg,
    int ret_fds[LAUNCH_MAX_FDS]);
const char *launch_type_name(enum launch_type);
/* Whether messages of that type go over that link. */
bool launch_type_passes(enum launch_type, enum launch_link);
/* What the message says, for the manual. */
const char *launch_type_text(enum launch_type);
const char *launch_cause_name(enum launch_cause);

#endif
