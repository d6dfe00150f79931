/*
 * session: sessions that outlive their runs: one run at a time in each, the
 * others wait; its browser lives on for a while; its end.
 */
#ifndef SUPERVISORD_SESSION_H
#define SUPERVISORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ulid.h"

struct session_use;
struct sessions;
struct sup;
struct task;

struct sessions *sessions_new(struct sup *);
/* When there are no tasks any more. */
void sessions_free(struct sessions **);
/* At start, before any cell: has profiles removed whose session is gone. */
void sessions_load(struct sup *);
/* The settings changed: fewer browsers may wait. */
void sessions_reload(struct sup *);
/* Living browsers, with a run or without. */
size_t sessions_living(const struct sup *);

/*
 * What session_join() needs for a run whose session outlives it. False: no
 * memory.
 */
bool session_prepare(struct task *);
/* A queued run that was prepared waits while another one uses the session. */
void session_join(struct task *);
/* It starts: the session is its own until session_leave(). */
void session_enter(struct task *);
/*
 * Its terminal state is committed. The session's browser lives on, if it does,
 * until it was idle for too long; one that the run made and did not keep ends.
 */
void session_leave(struct task *);
/* It goes back to the queue, or never began: others may use the session. */
void session_yield(struct task *);
/* Its browser lives from before, and no run has it. */
void session_rest(struct sup *, const struct ulid *);
/* The task is freed, whatever its state: nothing but the memory of it goes. */
void session_drop(struct task *);
struct session_view {
	bool living;    /* it has a browser */
	bool busy;      /* a run uses it */
	size_t waiting; /* runs that wait for it */
};
void session_look(struct sup *, const struct ulid *, struct session_view *ret);

/*
 * Its row is gone: its browser, state and profile follow. done (may be NULL) is
 * called when nothing of the browser is left, at once when none lives.
 */
void session_end(
    struct sup *, const struct ulid *, void (*done)(void *arg), void *arg);
/* That user has a new session: the one longest unused ends if need be. */
void session_bound(struct sup *, uint32_t uid, const struct ulid *made);
/*
 * Cancels the runs that use the session or wait for it; emptied is called when
 * there is none any more: at once, when there is none. actor: who wants it.
 */
void session_empty(struct sup *, const struct ulid *, int64_t actor,
    void (*emptied)(void *arg), void *arg);

/* What a client hears of one that it may not use, as of one that is not. */
#define SESSION_NONE                                                       \
	"no session of that id is kept for this client; one that another " \
	"client made has to be shared: browsertaskctl sessions share ID"

#endif
