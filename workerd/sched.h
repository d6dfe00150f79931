/*
 * sched: the coroutines of one run. A task is a Lua thread that waits for at
 * most one operation; operations have numbers, and whoever completes one finds
 * its task by number, so that a late answer to a task that is gone finds
 * nothing instead of freed memory.
 *
 * Everything that makes Lua values out of results runs inside the resumed
 * thread, hence in protected mode and inside the limits of the vm.
 */
#ifndef WORKERD_SCHED_H
#define WORKERD_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include <lua.h>

#include "model/errors.h"

struct sched;
struct vm;

#define SCHED_MAX_TASKS 64

/*
 * Makes the results of an operation, in the thread that waited for it; arg is
 * what sched_complete() was given. Returns the number of values pushed, raises,
 * or waits again.
 */
typedef int sched_resume_fn(lua_State *, void *arg);

/*
 * The main task has ended. L is its thread: with ok the nres values on its top
 * are the results, else (unless the vm was killed) the error value is on top.
 */
typedef void sched_done_fn(lua_State *L, bool ok, int nres, void *ctx);

struct sched *sched_new(struct vm *, sched_done_fn *, void *ctx);
void sched_free(struct sched **);

/*
 * Pops a function and nargs arguments above it from L (protected mode) and
 * makes a task of them. The first task is the main one. Raises when there are
 * too many.
 */
void sched_spawn(struct sched *, lua_State *L, int nargs);
/* Waits until all tasks spawned by this one have ended; raises the first
 * error of any, and drops the others then. */
int sched_join(struct sched *, lua_State *L);
/* Runs tasks that can run; called after spawning the main one. */
void sched_run(struct sched *);

/* A number for a new operation, never 0. */
uint64_t sched_op(struct sched *);
/*
 * Raises unless L is a task that may wait now: a coroutine of the template's
 * own may not, and neither may anybody once the run is stopped.
 */
void sched_check(struct sched *, lua_State *L);
/* Yields until op completes: "return sched_wait(...)". Raises as above. */
int sched_wait(struct sched *, lua_State *L, uint64_t op, sched_resume_fn *);
/*
 * Resumes the task that waits for op, at once; false when there is none. Only
 * from the event loop. arg is borrowed for the call.
 */
bool sched_complete(struct sched *, uint64_t op, void *arg);
/* Resumes every task with an error, and so every later wait. */
void sched_stop(struct sched *, enum err_code, const char *message);
/* ERR_NONE unless stopped; ret_message is borrowed. */
enum err_code sched_stop_reason(const struct sched *, const char **ret_message);

/* Pushes {code, cause?, message, retryable}. */
void sched_push_error(lua_State *, enum err_code, const char *message);

#endif
