/*
 * vm: the Lua state of one run and what bounds it. Runs in workerd only.
 *
 * Limits are kept here alone: the allocator counts bytes, a count hook that
 * every coroutine inherits counts instructions, and both feed one budget. It
 * must never call into Lua outside protected mode: an error there would end
 * the process instead of the run.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "common/panic.h"
#include "workerd/vm.h"

#define VM_MAGIC      0x764d4c75u
#define HOOK_STEPS    1000
#define BYTES_A_STEP  64 /* what allocating costs in steps */
#define HOOKS_A_CLOCK 8
#define SLICE_CPU_MS  2000 /* backstop for slow single instructions */

struct vm {
	unsigned int magic;
	lua_State *L;
	struct vm_limits limits;
	size_t bytes;
	uint64_t steps;
	uint64_t slice_end;
	int64_t slice_cpu_end; /* 0: not looked at yet in this slice */
	unsigned hooks;
	bool in_slice;
	enum vm_killed killed;
};

static int64_t
cpu_ms(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0)
		return 0;
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void *
limited_alloc(void *ud, void *ptr, size_t old_size, size_t new_size)
{
	struct vm *vm = ud;
	size_t old = ptr == NULL ? 0 : old_size;
	void *p;

	if (new_size == 0) {
		vm->bytes -= old;
		free(ptr);
		return NULL;
	}
	/* Lua does not expect shrinking to fail, so only growth is refused. */
	if (new_size > old) {
		size_t more = new_size - old;

		if (more > vm->limits.memory_bytes - vm->bytes)
			return NULL;
		vm->steps += more / BYTES_A_STEP;
	}
	p = realloc(ptr, new_size);
	if (p == NULL)
		return NULL;
	vm->bytes = vm->bytes - old + new_size;
	return p;
}

static bool
over_budget(struct vm *vm)
{
	if (vm->steps > vm->limits.steps)
		return true;
	return vm->in_slice && vm->steps > vm->slice_end;
}

/* Reading the clock is a system call, so most slices never do. */
static bool
over_time(struct vm *vm)
{
	int64_t now;

	if (!vm->in_slice || ++vm->hooks % HOOKS_A_CLOCK != 0)
		return false;
	now = cpu_ms();
	if (vm->slice_cpu_end == 0)
		vm->slice_cpu_end = now + SLICE_CPU_MS;
	return now > vm->slice_cpu_end;
}

static void
check_budget(lua_State *L, struct vm *vm)
{
	if (vm->killed == VM_ALIVE && over_budget(vm))
		vm->killed = VM_KILLED_STEPS;
	if (vm->killed != VM_ALIVE)
		luaL_error(L, "%s", vm_killed_text(vm->killed));
}

static void
count_hook(lua_State *L, lua_Debug *ar)
{
	struct vm *vm = vm_of(L);

	(void)ar;
	vm->steps += HOOK_STEPS;
	if (over_time(vm) && vm->killed == VM_ALIVE)
		vm->killed = VM_KILLED_STEPS;
	check_budget(L, vm);
}

struct vm *
vm_of(lua_State *L)
{
	struct vm *vm;

	memcpy(&vm, lua_getextraspace(L), sizeof(vm));
	MAGIC_CHECK(vm, VM_MAGIC);
	return vm;
}

void
vm_charge(lua_State *L, uint64_t n)
{
	struct vm *vm = vm_of(L);

	vm->steps =
	    n > UINT64_MAX / 2 - vm->steps ? UINT64_MAX / 2 : vm->steps + n;
	check_budget(L, vm);
}

void
vm_check(lua_State *L, int status)
{
	struct vm *vm = vm_of(L);

	if (status == LUA_ERRMEM && vm->killed == VM_ALIVE)
		vm->killed = VM_KILLED_MEMORY;
	if (vm->killed != VM_ALIVE)
		luaL_error(L, "%s", vm_killed_text(vm->killed));
}

static int
open_all(lua_State *L)
{
	vm_open_base(L);
	vm_open_coroutine(L);
	vm_open_table(L);
	vm_open_string(L);
	luaL_requiref(L, "math", luaopen_math, 1);
	luaL_requiref(L, "utf8", luaopen_utf8, 1);
	lua_pop(L, 2);
	return 0;
}

struct vm *
vm_new(const struct vm_limits *limits)
{
	struct vm *vm;

	vm = calloc(1, sizeof(*vm));
	if (vm == NULL)
		return NULL;
	vm->magic = VM_MAGIC;
	vm->limits = *limits;
	vm->L = lua_newstate(limited_alloc, vm);
	if (vm->L == NULL) {
		vm_free(&vm);
		return NULL;
	}
	memcpy(lua_getextraspace(vm->L), &vm, sizeof(vm));
	lua_sethook(vm->L, count_hook, LUA_MASKCOUNT, HOOK_STEPS);
	if (!vm_protect(vm, open_all, NULL, NULL, 0)) {
		vm_free(&vm);
		return NULL;
	}
	return vm;
}

void
vm_free(struct vm **vmp)
{
	struct vm *vm = *vmp;

	if (vm == NULL)
		return;
	MAGIC_CHECK(vm, VM_MAGIC);
	if (vm->L != NULL)
		lua_close(vm->L);
	vm->magic = 0;
	free(vm);
	*vmp = NULL;
}

lua_State *
vm_main(struct vm *vm)
{
	return vm->L;
}

static void
copy_error(lua_State *L, int status, char *errbuf, size_t errsize)
{
	const char *text = NULL;

	/* Only a string is read: converting anything else could raise. */
	if (status == LUA_ERRMEM)
		text = "out of memory";
	else if (lua_type(L, -1) == LUA_TSTRING)
		text = lua_tostring(L, -1);
	if (errsize > 0)
		strlcpy(errbuf, text == NULL ? "error" : text, errsize);
}

static void
slice_begin(struct vm *vm)
{
	vm->slice_end = vm->steps + vm->limits.slice_steps;
	vm->slice_cpu_end = 0;
	vm->in_slice = true;
}

bool
vm_protect(
    struct vm *vm, lua_CFunction fn, void *arg, char *errbuf, size_t errsize)
{
	bool outer = !vm->in_slice;
	int status;

	MAGIC_CHECK(vm, VM_MAGIC);
	if (outer)
		slice_begin(vm);
	lua_pushcfunction(vm->L, fn);
	lua_pushlightuserdata(vm->L, arg);
	status = lua_pcall(vm->L, 1, 0, 0);
	if (outer)
		vm->in_slice = false;
	if (status == LUA_OK)
		return true;
	if (status == LUA_ERRMEM && vm->killed == VM_ALIVE)
		vm->killed = VM_KILLED_MEMORY;
	copy_error(vm->L, status, errbuf, errsize);
	lua_pop(vm->L, 1);
	return false;
}

enum vm_status
vm_resume(struct vm *vm, lua_State *co, int nargs, int *ret_nres)
{
	bool outer = !vm->in_slice;
	int status;

	MAGIC_CHECK(vm, VM_MAGIC);
	*ret_nres = 0;
	if (vm->killed != VM_ALIVE)
		return VM_FAILED;
	if (outer)
		slice_begin(vm);
	status = lua_resume(co, NULL, nargs, ret_nres);
	if (outer)
		vm->in_slice = false;
	if (status == LUA_ERRMEM && vm->killed == VM_ALIVE)
		vm->killed = VM_KILLED_MEMORY;
	if (vm->killed != VM_ALIVE)
		return VM_FAILED;
	if (status == LUA_YIELD)
		return VM_YIELDED;
	return status == LUA_OK ? VM_DONE : VM_FAILED;
}

void
vm_set_slice_steps(struct vm *vm, uint64_t steps)
{
	vm->limits.slice_steps = steps;
}

enum vm_killed
vm_killed(const struct vm *vm)
{
	return vm->killed;
}

const char *
vm_killed_text(enum vm_killed killed)
{
	switch (killed) {
	case VM_KILLED_STEPS:
		return "the template used up its instructions";
	case VM_KILLED_MEMORY:
		return "the template used up its memory";
	case VM_ALIVE:
	case VM_KILLED__MAX:
		break;
	}
	return "alive";
}

int
vm_load_text(lua_State *L, const char *name, const char *text, size_t len)
{
	return luaL_loadbufferx(L, text, len, name, "t");
}
