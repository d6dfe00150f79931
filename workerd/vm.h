/*
 * vm: one confined Lua state. Template programs are not trusted with the
 * process they run in: no files, no processes, no code loading, no debug
 * interface, memory and instructions limited over all coroutines together.
 *
 * Passing a limit kills the state: the error cannot be caught by pcall,
 * xpcall, coroutine.resume, coroutine.wrap or a message handler, and no Lua
 * code of the state runs again.
 */
#ifndef WORKERD_VM_H
#define WORKERD_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lua.h>

struct vm;

struct vm_limits {
	size_t memory_bytes;
	uint64_t steps;       /* Lua instructions (and work charged as such) */
	uint64_t slice_steps; /* the same between two yields to the loop */
};

enum vm_killed {
	VM_ALIVE,
	VM_KILLED_STEPS,
	VM_KILLED_MEMORY,
	VM_KILLED__MAX
};

enum vm_status {
	VM_DONE,
	VM_YIELDED,
	VM_FAILED,
	VM__MAX
};

/* A state with the confined libraries; NULL when memory ran out. */
struct vm *vm_new(const struct vm_limits *);
void vm_free(struct vm **);
/* The main thread. Only for protected calls (vm_protect). */
lua_State *vm_main(struct vm *);
struct vm *vm_of(lua_State *);

/*
 * Calls fn(L) with arg as a light userdata at index 1 in protected mode on
 * the main thread. False: the message is put in errbuf.
 */
bool vm_protect(
    struct vm *, lua_CFunction fn, void *arg, char *errbuf, size_t errsize);
/*
 * Runs thread co until it yields or ends, as one slice. After VM_FAILED the
 * error value is on top of its stack, unless vm_killed says otherwise.
 */
enum vm_status vm_resume(struct vm *, lua_State *co, int nargs, int *ret_nres);

/* Why the state is dead; VM_ALIVE while it is not. */
enum vm_killed vm_killed(const struct vm *);
const char *vm_killed_text(enum vm_killed);
/* Changes what one slice may use; a stopped run gets less. */
void vm_set_slice_steps(struct vm *, uint64_t steps);
/* Counts n more steps; raises the uncatchable error past the limit. */
void vm_charge(lua_State *, uint64_t n);
/* After a protected call: does not return when the state was killed in it. */
void vm_check(lua_State *, int status);

/* Compiles text (never bytecode) and leaves the function on the stack. */
int vm_load_text(lua_State *, const char *name, const char *text, size_t len);

/* Opens the confined libraries; called by vm_new in protected mode. */
void vm_open_base(lua_State *);
void vm_open_coroutine(lua_State *);
void vm_open_table(lua_State *);
void vm_open_string(lua_State *);

#endif
