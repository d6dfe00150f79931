/*
 * ctl: what the commands of browsertaskctl share: options, the connection, and
 * how things are said to people.
 */
#ifndef CTL_CTL_H
#define CTL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/client.h"
#include "json/tape.h"
#include "json/writer.h"

enum ctl_exit {
	CTL_OK = 0,
	CTL_FAILED = 1, /* the run failed or was canceled; a check did */
	CTL_USAGE = 2,
	CTL_NO_SERVICE = 3, /* not there, or lost */
	CTL_REFUSED = 4,    /* an error was answered; nothing of that id */
	CTL_PARTIAL = 5,    /* the run succeeded in part */
	CTL_INTERRUPTED = 130
};

#define OPTION(id, ...) OPT_##id,
enum ctl_option {
#include "ctl/options.def"
	OPT__MAX
};
#undef OPTION

struct ctl {
	const char *opt[OPT__MAX]; /* NULL: not given; "" for flags */
	char **args;               /* after the command's name */
	int nargs;
	bool out_tty, err_tty;
	bool color;   /* on stdout */
	bool unicode; /* the terminal shows UTF-8 */
	int columns;  /* of the terminal; 0 when stdout is none */
	struct client *client;
};

struct ctl_answer {
	struct client_answer bytes;
	struct json_doc *doc;
	struct json_val root;
};

/*
 * "browsertaskctl: message" and "hint: message" on stderr, in lines that fit
 * where it is a terminal. errno stays.
 */
void ctl_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ctl_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Whether a hint was given yet. */
bool ctl_hinted(void);

/* Connects when there is no connection yet; says why not. */
enum ctl_exit ctl_connect(struct ctl *);
/*
 * Connects to the administrators' socket: the one beside that which answered,
 * unless that one is it. The service says which is which.
 */
enum ctl_exit ctl_connect_admin(struct ctl *);
/*
 * Connects if need be, calls and parses. An error answer is told and gives
 * CTL_REFUSED. *ret_answer is filled, to be freed, on CTL_OK only.
 */
enum ctl_exit ctl_call(struct ctl *, const struct ipc_params *, int timeout_ms,
    struct ctl_answer *ret_answer);
void ctl_answer_free(struct ctl_answer *);
/* The answer laid out for people, or as it came when that fails. */
void ctl_print_json(struct json_val);
/* What was written to the buffer, finished here, likewise. */
void ctl_print_written(struct json_writer *, const struct buf *);

/* Number options; true with *ret_value untouched when it was not given. */
bool ctl_number(const struct ctl *, enum ctl_option, int64_t min, int64_t max,
    int64_t *ret_value);
/* "90", "500ms", "30s", "5m", "1h" as milliseconds. */
bool ctl_duration(const char *text, int64_t *ret_ms);

/*
 * A moment in the past: a duration ("2h" ago; units as above and d), "14:30"
 * today, "2026-11-21", "2026-11-21 14:30", with seconds if wanted, in local
 * time.
 */
bool ctl_moment(const char *text, int64_t now_ms, int64_t *ret_ms);

/* Such an option as a field, if it was given; false after saying what is wrong. */
bool ctl_set_moment(const struct ctl *, enum ctl_option, int64_t now_ms,
    enum msg_key, struct ipc_params *);

/* A run, as the exit status of a command that waited for it. */
enum ctl_exit ctl_exit_of(struct json_val run);

/* Progress until the run has ended, then its result. */
enum ctl_exit watch_run(struct ctl *, const char *run_id);
/* Until it has ended, and no more than that. */
enum ctl_exit watch_end(struct ctl *, const char *run_id);
/* A moment, before something is tried again. */
void watch_pause(void);
/* What the service tells of itself. */
enum ctl_exit profile_get(struct ctl *, struct ctl_answer *ret_answer);
/* A finished run's result, as a table where it has items. */
enum ctl_exit result_show(struct ctl *, struct json_val run);
/* The newest run's id for "last", anything else as it is. */
enum ctl_exit
run_id_of(struct ctl *, const char *arg, char ret_id[IPC_ID_MAX + 1]);
/* The run as it is now. */
enum ctl_exit
run_get(struct ctl *, const char *run_id, struct ctl_answer *ret_answer);
/* Artifacts of a run. */
enum ctl_exit
artifact_list(struct ctl *, const char *run_id, struct ctl_answer *ret_answer);
/* The templates as the service lists them. */
enum ctl_exit template_list(struct ctl *, struct ctl_answer *ret_answer);
/* "label      value" for people; nothing when there is no value. */
void show_line(const char *label, struct json_val);
void show_text(const char *label, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

enum ctl_exit cmd_submit(struct ctl *);
enum ctl_exit cmd_wait(struct ctl *);
enum ctl_exit cmd_status(struct ctl *);
enum ctl_exit cmd_runs(struct ctl *);
enum ctl_exit cmd_sessions(struct ctl *);
enum ctl_exit cmd_show(struct ctl *);
enum ctl_exit cmd_events(struct ctl *);
enum ctl_exit cmd_cancel(struct ctl *);
enum ctl_exit cmd_result(struct ctl *);
enum ctl_exit cmd_artifact(struct ctl *);
enum ctl_exit cmd_artifacts(struct ctl *);
enum ctl_exit cmd_template(struct ctl *);
enum ctl_exit cmd_templates(struct ctl *);
enum ctl_exit cmd_profile(struct ctl *);
enum ctl_exit cmd_drain(struct ctl *);
enum ctl_exit cmd_restart(struct ctl *);
enum ctl_exit cmd_resume(struct ctl *);
enum ctl_exit cmd_audit(struct ctl *);
enum ctl_exit cmd_fsck(struct ctl *);
enum ctl_exit cmd_backup(struct ctl *);
enum ctl_exit cmd_restore(struct ctl *);
enum ctl_exit cmd_secret(struct ctl *);
enum ctl_exit cmd_doctor(struct ctl *);
enum ctl_exit cmd_mcp_config(struct ctl *);
enum ctl_exit cmd_completion(struct ctl *);
enum ctl_exit cmd_version(struct ctl *);
enum ctl_exit cmd_help(struct ctl *);

#endif
