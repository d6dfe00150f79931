/*
 * side: the process that checks, copies or makes a store, at the other end of a
 * connection: of the service, or started here where none runs.
 */
#ifndef CTL_SIDE_H
#define CTL_SIDE_H

#include <limits.h>
#include <sys/types.h>

#include "ctl/ctl.h"

struct side {
	struct ctl *ctl;
	struct client *client; /* NULL: none yet */
	int sock; /* of a process started here, until then; or -1 */
	bool own; /* started here */
	pid_t pid;
	int lock; /* of the state directory, or -1 */
	/* What came. */
	bool heard; /* anything, of late */
	void (*on_note)(void *arg, const struct ipc_params *);
	void *arg;
	struct json_doc *done; /* record of store.done */
	char *done_text;
	char bar[96]; /* drawn on the terminal now */
};

/* Where the state directory of a service of the caller would be. */
bool side_state_default(char ret_dir[PATH_MAX]);
/* The one that was named, or that. */
bool side_state_dir(const struct ctl *, char ret_dir[PATH_MAX]);
/*
 * Asks the service; with --state-dir takes that one's lock and starts a process
 * in the mode, "check" or "backup". Notes but progress and the last go to
 * on_note, from now on. Says what is wrong.
 */
enum ctl_exit
side_open(struct side *, struct ctl *, enum msg_id request, const char *mode,
    void (*on_note)(void *, const struct ipc_params *), void *arg);
/* Starts a process in that mode; flag may be NULL. */
enum ctl_exit side_start(struct side *, struct ctl *, const char *mode,
    const char *dir, const char *flag);
/* Sends a note to a process started here; false when it is gone. */
bool side_send(struct side *, const struct ipc_params *);
/*
 * Reads until the last note. *ret_record is what it has; CTL_FAILED after
 * saying so when it tells of an error, the connection ended before it or nothing
 * comes for long.
 */
enum ctl_exit side_run(struct side *, struct json_val *ret_record);
/* The id of what a fault is about, to be freed; NULL: it has none. */
char *side_fault_id(struct json_val fault);
/* Says what is wrong with it or, without an id, with its place in the store. */
void side_tell_fault(struct side *, struct json_val fault, const char *before);
/* One line on a terminal; NULL takes it away. */
void side_bar(struct side *, const char *what, int64_t done, int64_t total);
void side_close(struct side *);

#endif
