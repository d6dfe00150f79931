/*
 * sched: tasks and the operations they wait for. Runs in workerd only. It must
 * never keep a pointer to anything of an operation but its number.
 */
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "common/panic.h"
#include "workerd/sched.h"
#include "workerd/vm.h"

#define SCHED_MAGIC 0x73634844u

enum task_state {
	TASK_READY,
	TASK_RUNNING,
	TASK_WAITING,
	TASK_FAILED
};

struct task {
	uint32_t id;
	uint32_t parent; /* 0: the main task */
	lua_State *L;
	int ref; /* keeps L */
	enum task_state state;
	int nargs; /* values for the first resume */
	bool started;
	bool joining;
	uint64_t op;
	sched_resume_fn *resume;
	void *arg;
};

struct sched {
	unsigned int magic;
	struct vm *vm;
	sched_done_fn *done;
	void *ctx;
	struct task *tasks[SCHED_MAX_TASKS];
	struct task *current;
	uint32_t last_task;
	uint64_t last_op;
	bool ended; /* the main task did: nothing is resumed any more */
	bool stopped;
	enum err_code stop_code;
	char stop_message[256];
};

struct sched *
sched_new(struct vm *vm, sched_done_fn *done, void *ctx)
{
	struct sched *s;

	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->magic = SCHED_MAGIC;
	s->vm = vm;
	s->done = done;
	s->ctx = ctx;
	return s;
}

static void
task_drop(struct sched *s, int slot)
{
	struct task *t = s->tasks[slot];

	s->tasks[slot] = NULL;
	luaL_unref(vm_main(s->vm), LUA_REGISTRYINDEX, t->ref);
	free(t);
}

void
sched_free(struct sched **sp)
{
	struct sched *s = *sp;

	if (s == NULL)
		return;
	MAGIC_CHECK(s, SCHED_MAGIC);
	for (int i = 0; i < SCHED_MAX_TASKS; i++)
		if (s->tasks[i] != NULL)
			task_drop(s, i);
	s->magic = 0;
	free(s);
	*sp = NULL;
}

void
sched_push_error(lua_State *L, enum err_code code, const char *message)
{
	const char *mcp = err_mcp_name(code);

	lua_createtable(L, 0, 4);
	lua_pushstring(L, mcp);
	lua_setfield(L, -2, "code");
	if (strcmp(mcp, err_name(code)) != 0) {
		lua_pushstring(L, err_name(code));
		lua_setfield(L, -2, "cause");
	}
	lua_pushstring(L, message);
	lua_setfield(L, -2, "message");
	lua_pushboolean(L, err_retryable(code));
	lua_setfield(L, -2, "retryable");
}

static int
raise_stop(struct sched *s, lua_State *L)
{
	sched_push_error(L, s->stop_code, s->stop_message);
	return lua_error(L);
}

/* ---- tasks ---- */

static int
free_slot(struct sched *s, lua_State *L)
{
	for (int i = 0; i < SCHED_MAX_TASKS; i++)
		if (s->tasks[i] == NULL)
			return i;
	return luaL_error(L, "more than %d coroutines", SCHED_MAX_TASKS);
}

void
sched_spawn(struct sched *s, lua_State *L, int nargs)
{
	int slot = free_slot(s, L);
	lua_State *co;
	struct task *t;
	int ref;

	luaL_checktype(L, -(nargs + 1), LUA_TFUNCTION);
	co = lua_newthread(L);
	ref = luaL_ref(L, LUA_REGISTRYINDEX);
	t = lua_checkstack(co, nargs + 1) ? calloc(1, sizeof(*t)) : NULL;
	if (t == NULL) {
		luaL_unref(L, LUA_REGISTRYINDEX, ref);
		luaL_error(L, "out of memory");
		return;
	}
	lua_xmove(L, co, nargs + 1);
	t->id = ++s->last_task;
	t->parent = s->current == NULL ? 0 : s->current->id;
	t->L = co;
	t->ref = ref;
	t->nargs = nargs;
	t->state = TASK_READY;
	s->tasks[slot] = t;
}

static int
task_slot(struct sched *s, uint32_t id)
{
	for (int i = 0; i < SCHED_MAX_TASKS; i++)
		if (s->tasks[i] != NULL && s->tasks[i]->id == id)
			return i;
	return -1;
}

/* A child ended or failed: its parent may have something to join. */
static void
wake_parent(struct sched *s, uint32_t parent)
{
	int slot = task_slot(s, parent);
	struct task *t;

	if (slot < 0)
		return;
	t = s->tasks[slot];
	if (t->state == TASK_WAITING && t->joining)
		t->state = TASK_READY;
}

static void
task_resume(struct sched *s, int slot)
{
	struct task *t = s->tasks[slot];
	uint32_t parent = t->parent;
	enum vm_status status;
	int nargs = t->started ? 0 : t->nargs;
	int nres;

	s->current = t;
	t->started = true;
	t->state = TASK_RUNNING;
	status = vm_resume(s->vm, t->L, nargs, &nres);
	s->current = NULL;
	if (status == VM_YIELDED && t->state != TASK_RUNNING) {
		lua_pop(t->L, nres);
		return;
	}
	if (status == VM_YIELDED) {
		/* coroutine.yield outside of the template's coroutines */
		status = VM_FAILED;
		lua_settop(t->L, 0);
		lua_pushnil(t->L);
	}
	if (parent == 0 || vm_killed(s->vm) != VM_ALIVE) {
		s->ended = true;
		s->done(t->L, status == VM_DONE, nres, s->ctx);
		return;
	}
	t->state = TASK_FAILED;
	if (status == VM_DONE)
		task_drop(s, slot);
	wake_parent(s, parent);
}

void
sched_run(struct sched *s)
{
	bool ran;

	MAGIC_CHECK(s, SCHED_MAGIC);
	ASSERT(s->current == NULL);
	do {
		ran = false;
		for (int i = 0; i < SCHED_MAX_TASKS; i++) {
			struct task *t = s->tasks[i];

			if (t == NULL || t->state != TASK_READY)
				continue;
			if (s->ended)
				return;
			task_resume(s, i);
			ran = true;
		}
	} while (ran);
}

/* ---- operations ---- */

uint64_t
sched_op(struct sched *s)
{
	return ++s->last_op;
}

void
sched_check(struct sched *s, lua_State *L)
{
	if (s->current == NULL || s->current->L != L)
		luaL_error(L, "ctx is not for use in a coroutine of your own");
	if (s->stopped)
		raise_stop(s, L);
}

static int
resumed(lua_State *L, int status, lua_KContext kctx)
{
	struct sched *s = (struct sched *)kctx;
	struct task *t = s->current;
	void *arg;

	(void)status;
	if (s->stopped)
		return raise_stop(s, L);
	t->op = 0;
	arg = t->arg;
	t->arg = NULL;
	return t->resume(L, arg);
}

int
sched_wait(struct sched *s, lua_State *L, uint64_t op, sched_resume_fn *resume)
{
	struct task *t = s->current;

	sched_check(s, L);
	if (!lua_isyieldable(L))
		return luaL_error(
		    L, "ctx may not be called from a sort or gsub callback");
	t->op = op;
	t->resume = resume;
	t->state = TASK_WAITING;
	return lua_yieldk(L, 0, (lua_KContext)s, resumed);
}

bool
sched_complete(struct sched *s, uint64_t op, void *arg)
{
	MAGIC_CHECK(s, SCHED_MAGIC);
	ASSERT(s->current == NULL);
	for (int i = 0; i < SCHED_MAX_TASKS && !s->ended; i++) {
		struct task *t = s->tasks[i];

		if (t == NULL || t->state != TASK_WAITING || t->op != op)
			continue;
		t->arg = arg;
		task_resume(s, i);
		sched_run(s);
		return true;
	}
	return false;
}

void
sched_stop(struct sched *s, enum err_code code, const char *message)
{
	MAGIC_CHECK(s, SCHED_MAGIC);
	if (s->stopped)
		return;
	s->stopped = true;
	s->stop_code = code;
	strlcpy(s->stop_message, message, sizeof(s->stop_message));
	for (int i = 0; i < SCHED_MAX_TASKS; i++)
		if (s->tasks[i] != NULL && s->tasks[i]->state == TASK_WAITING)
			s->tasks[i]->state = TASK_READY;
	sched_run(s);
}

enum err_code
sched_stop_reason(const struct sched *s, const char **ret_message)
{
	*ret_message = s->stop_message;
	return s->stopped ? s->stop_code : ERR_NONE;
}

/* ---- join ---- */

/* The first failed child; *ret_running is how many still run. */
static int
failed_child(struct sched *s, uint32_t parent, int *ret_running)
{
	int failed = -1;

	*ret_running = 0;
	for (int i = 0; i < SCHED_MAX_TASKS; i++) {
		struct task *t = s->tasks[i];

		if (t == NULL || t->parent != parent)
			continue;
		if (t->state != TASK_FAILED)
			(*ret_running)++;
		else if (failed < 0)
			failed = i;
	}
	return failed;
}

static void
drop_children(struct sched *s, uint32_t parent)
{
	for (int i = 0; i < SCHED_MAX_TASKS; i++) {
		struct task *t = s->tasks[i];
		uint32_t id;

		if (t == NULL || t->parent != parent)
			continue;
		id = t->id;
		task_drop(s, i);
		drop_children(s, id);
	}
}

static int
join_more(lua_State *L, void *arg)
{
	struct sched *s = arg;
	struct task *t = s->current;
	int running, failed;

	t->joining = false;
	failed = failed_child(s, t->id, &running);
	if (failed >= 0) {
		luaL_checkstack(L, 1, NULL);
		lua_xmove(s->tasks[failed]->L, L, 1);
		drop_children(s, t->id);
		return lua_error(L);
	}
	if (running == 0)
		return 0;
	t->joining = true;
	t->arg = s;
	return sched_wait(s, L, sched_op(s), join_more);
}

int
sched_join(struct sched *s, lua_State *L)
{
	sched_check(s, L);
	return join_more(L, s);
}
