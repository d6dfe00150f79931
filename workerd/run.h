/*
 * run: the one run of a worker: what supervisord said about it, the template's
 * program, and what is known about steps and items so far. The functions that
 * templates call are in ctx.c, items.c and tab.c.
 */
#ifndef WORKERD_RUN_H
#define WORKERD_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

#include "common/buf.h"
#include "ipc/msg.h"
#include "model/errors.h"
#include "model/limits.h"
#include "workerd/report.h"
#include "workerd/sched.h"
#include "workerd/vm.h"

struct browser;
struct outbox;
struct page;
struct redact;
struct secrets;
struct tab;

#define RUN_MAX_STEPS 16 /* open at the same time */

/* The template's program is over; nothing of it runs any more. */
typedef void run_ended_fn(void *ctx);

struct run_step {
	char name[IPC_ID_MAX + 1];
	int64_t started_ms;
};

struct run_item {
	bool done;
	uint8_t digest[REPORT_DIGEST_BYTES];
};

/* Coroutines that wait for the same; 0: unused. */
struct run_waiters {
	uint64_t ops[SCHED_MAX_TASKS];
};

/* Whether supervisord knows that the run changes something. */
enum run_effect {
	EFFECT_NONE,
	EFFECT_TOLD,
	EFFECT_STORED
};

struct run {
	unsigned int magic;
	struct outbox *out;
	struct browser *browser; /* set when it answered */
	struct page *spare;      /* an open tab that nobody uses yet, or NULL */
	run_ended_fn *ended;
	void *ctx;
	struct vm *vm;
	struct sched *sched;

	char id[IPC_ID_MAX + 1];
	char session_id[IPC_ID_MAX + 1];
	char template_id[IPC_ID_MAX + 1];
	char trace_id[33];
	char resources[17];
	char trust[17];
	bool keep; /* its session, and a tab of it, outlives it */
	int attempt;
	int max_tabs;
	size_t memory_bytes; /* for the template's program */
	int64_t limit_ms;
	struct buf inputs;
	struct redact *redact;   /* of these: */
	struct secrets *secrets; /* NULL: it has none */
	bool secrets_complete;   /* also when it has none */
	bool inputs_complete;
	bool journal_complete;

	struct run_item items[LIMIT_ITEMS];
	int items_done;
	int warnings;
	unsigned artifact_slots; /* a bit per slot in use */
	struct run_step steps[RUN_MAX_STEPS];
	int nsteps;
	char failed_step[IPC_ID_MAX + 1];
	struct run_waiters draining;
	enum run_effect effect;
	struct run_waiters acting;
	struct tab *tabs;

	bool over;
	struct report_end end;
	char end_code[IPC_ID_MAX + 1];
	char end_message[1024];
	char end_cause[IPC_ID_MAX + 1];
};

/* outbox is borrowed for the run's life. NULL when memory ran out. */
struct run *run_new(struct outbox *, run_ended_fn *, void *ctx);
/* The browser is to be freed right after: its callbacks would find no run. */
void run_free(struct run **);

/* The messages that describe the run. False: why says what is wrong. */
bool run_begin(struct run *, const struct ipc_params *, const char **ret_why);
bool run_input(struct run *, const struct ipc_params *, const char **ret_why);
bool run_journal(struct run *, const struct ipc_params *, const char **ret_why);
/*
 * Starts the template, with a browser that answers and (may be NULL) a tab to
 * begin with, which it takes.
 */
void run_go(struct run *, struct browser *, struct page *spare);
/* Ends the template by an error it cannot pass by. */
void run_stop(struct run *, enum err_code, const char *message);
/* Ends the run at once, whatever the template does. */
void run_abort(struct run *, enum err_code, const char *message);
/* The outbox is not busy any more. */
void run_drained(struct run *);
/* What supervisord was told of the first effect is stored. */
bool run_effect_stored(struct run *, const char **ret_why);
/*
 * Sends run.end, with the open steps closed before it; after ended(). False
 * when it could not be queued.
 */
bool run_report_end(struct run *);

/* ---- for the functions that templates call; all in protected mode ---- */

struct run *run_of(lua_State *);
/* Raises {code, cause, message, retryable}. */
int run_raise(lua_State *, enum err_code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Raises unless the message could be queued. */
void run_sent(lua_State *, bool sent);
/* Waits until the outbox is not busy any more. */
int run_wait_drained(lua_State *, struct run *, sched_resume_fn *);
/*
 * Calls act, which does what may change something outside of the browser: at
 * once, or when supervisord has stored that the run does such things.
 */
int
run_act(lua_State *, struct run *, const char *action, sched_resume_fn *act);
/*
 * A string field of the table at index, kept alive by the table. Raises when
 * it is absent and absent is NULL, is no string or longer than max bytes.
 */
const char *run_field(lua_State *, int index, const char *name, size_t max,
    const char *absent, size_t *ret_len);
/* The fields mime and name of an artifact; raises unless they may be so. */
void run_field_label(lua_State *, int index);
int run_field_int(
    lua_State *, int index, const char *name, int min, int max, int absent);

/* Each adds its functions to the table on top of the stack. */
void ctx_open(lua_State *);
void items_open(lua_State *);
void tab_open(lua_State *);
void tab_free_all(struct run *);

#endif
